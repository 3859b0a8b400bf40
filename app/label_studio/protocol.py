"""What Label Studio sends, as seen on the wire: only what is used here, all else is passed over."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.label_studio.label_config import LabelConfig
from app.services.plain import check_plain

Id = Annotated[int, Field(ge=0, lt=2**63)]
Data = Annotated[dict[str, Any], AfterValidator(check_plain)]
Kind = Literal["label", "skip", "nothing", "gone"]


class Wire(BaseModel):
    """Part of a message."""

    model_config = ConfigDict(extra="ignore")


class TaskSent(Wire):
    """A task; some messages name only its id."""

    id: Id
    data: Data | None = None


class Named(Wire):
    """Something that is gone: only its id is given."""

    id: Id


class UserSent(Wire):
    """A person, where more than an id is given."""

    id: Id
    email: Annotated[str, AfterValidator(check_plain)] = ""


class AnnotationSent(Wire):
    """What somebody said of a task."""

    id: Id
    task: Id | None = None
    completed_by: Id | UserSent | None = None
    result: Annotated[list[Any], Field(max_length=10_000)] | None = None
    was_cancelled: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def user(self) -> int:
        """The id of whoever annotated; 0 where nobody is named."""
        who = self.completed_by
        return who.id if isinstance(who, UserSent) else who or 0

    @property
    def changed_at(self) -> float:
        """When it was last changed, by the clock of Label Studio."""
        time = self.updated_at or self.created_at
        return time.timestamp() if time is not None else 0.0

    def answer(self, config: LabelConfig) -> tuple[Kind, str | None]:
        """A class, a skip, or nothing: an accepted empty result is no label, nor are several classes at once."""
        if self.was_cancelled:
            return "skip", None
        label = config.choice(self.result)
        return ("nothing", None) if label is None else ("label", label)


class ExportedTask(TaskSent):
    """A task of an export, with all that was said of it."""

    annotations: list[AnnotationSent] = []


class RemoteProject(Wire):
    """A project of Label Studio."""

    id: Id
    title: str = ""
    label_config: str | None = None
    model_version: str | None = None


def project_number(key: str) -> int | None:
    """The project's id in the key that /setup and /predict bring.

    >>> project_number("12.1794786784"), project_number("")
    (12, None)
    """
    number = key.partition(".")[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 18 else None
