"""Items and jobs."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.api.schemas.common import Body, Data, Features, Key, Page, RawRow, RawText, Time


class Item(Body):
    """An item: a key of your own, features or what an encoder makes them of, and data for people to look at."""

    key: Key
    features: Features | None = None
    text: RawText | None = Field(None, description="instead of features, where the project encodes texts")
    row: RawRow | None = Field(None, description="instead of features, where the project encodes tables")
    data: Data | None = Field(None, description="by default the text or row")

    @model_validator(mode="after")
    def _one(self) -> "Item":
        if sum(part is not None for part in (self.features, self.text, self.row)) != 1:
            raise ValueError("give one of features, text and row")
        return self

    @property
    def given(self) -> Any:
        """What the features are, or are made of."""
        return next(part for part in (self.text, self.row, self.features) if part is not None)

    @property
    def shown(self) -> dict[str, Any] | None:
        """What people look at."""
        raw = self.row if self.text is None else {"text": self.text}
        return self.data if self.data is not None else raw


class NewItems(Body):
    """Items to add."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "items": [
                        {"key": "a.png", "features": [0.1, 0.0, 0.9], "data": {"text": "a"}},
                        {"key": "b.png", "features": {"indices": [0, 2], "values": [0.4, 0.6]}},
                    ]
                },
                {"items": [{"key": "c", "text": "where the project encodes texts"}]},
            ]
        }
    )

    items: Annotated[list[Item], Field(min_length=1, max_length=10_000, fail_fast=True)]


class ItemsAnswer(BaseModel):
    """What became of the items."""

    added: int
    unchanged: int


class Vote(BaseModel):
    """Somebody's label."""

    annotator: str
    label: str


class ItemAnswer(BaseModel):
    """An item and what people said of it."""

    key: str
    data: dict[str, Any] | None
    label: str | None = Field(description="what the model learns, from all votes")
    votes: list[Vote]
    unsure: bool


class EventAnswer(BaseModel):
    """One thing that was said of an item."""

    kind: str
    annotator: str
    label: str | None
    predicted: str | None = Field(description="what the model thought before")
    note: str | None
    undoes: int | None
    sequence: int
    created_at: Time


class OwnAnswer(BaseModel):
    """What your own answer on an item is now."""

    kind: Literal["label", "skip", "unsure"]
    label: str | None


class ItemHistory(ItemAnswer):
    """An item with everything that was said of it."""

    own: OwnAnswer | None = Field(description="your own answer, whatever others say")
    history: list[EventAnswer]


class ItemFeatures(BaseModel):
    """Features of an item: the entries that are not zero."""

    columns: int = Field(description="of the project")
    indices: list[int]
    values: list[float]


class ItemPage(Page):
    """Some items."""

    items: list[ItemAnswer]


class JobStarted(BaseModel):
    """Work in the background."""

    job: str


class JobAnswer(BaseModel):
    """How far a job is."""

    id: str
    kind: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    done: int
    total: int | None
    message: str | None
    result: dict[str, Any] | None
    created_at: Time
    finished_at: Time | None


class JobPage(Page):
    """Some jobs."""

    jobs: list[JobAnswer]
