"""How much an upload may hold: looked at while it is read, before memory is taken for it."""

from dataclasses import dataclass

from app.services.problems import Invalid
from app.settings import ServiceSettings


@dataclass(frozen=True)
class Budgets:
    """What the settings of the service allow."""

    columns: int = ServiceSettings.model_fields["max_columns"].default
    items: int = ServiceSettings.model_fields["max_items"].default
    line: int = ServiceSettings.model_fields["max_line"].default
    entries: int = ServiceSettings.model_fields["max_entries"].default
    expanded: int = ServiceSettings.model_fields["max_expanded"].default
    ratio: int = ServiceSettings.model_fields["max_ratio"].default
    pixels: int = ServiceSettings.model_fields["max_pixels"].default

    @classmethod
    def of(cls, settings: ServiceSettings) -> "Budgets":
        """The budgets in the settings of a service."""
        return cls(
            settings.max_columns,
            settings.max_items,
            settings.max_line,
            settings.max_entries,
            settings.max_expanded,
            settings.max_ratio,
            settings.max_pixels,
        )

    def check_columns(self, columns: int) -> None:
        """Refuse more than there may be, however they were declared.

        >>> Budgets(columns=10).check_columns(11)
        Traceback (most recent call last):
        app.services.problems.Invalid: items may have at most 10 columns, not 11; ASKNEXT_MAX_COLUMNS raises the limit
        """
        if columns > self.columns:
            raise Invalid(
                f"items may have at most {self.columns} columns, not {columns}; ASKNEXT_MAX_COLUMNS raises the limit"
            )

    def check_items(self, items: int) -> None:
        """Refuse more items than a project may have."""
        if items > self.items:
            raise Invalid(
                f"a project may have at most {self.items} items, not {items}; ASKNEXT_MAX_ITEMS raises the limit"
            )

    def check_expanded(self, expanded: int, packed: int) -> None:
        """Refuse a small file that expands to a lot; what was not compressed is never refused."""
        most = max(self.expanded, self.ratio * packed)
        if expanded > most:
            raise Invalid(
                f"a file of {packed} bytes may unpack to at most {most} bytes, not {expanded}: save it without "
                "compression (ASKNEXT_MAX_EXPANDED, ASKNEXT_MAX_RATIO)"
            )
