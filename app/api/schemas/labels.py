"""Questions and answers."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from app.api.schemas.common import Body, Key, Name, Scalar, Time
from app.services.plain import check_plain
from app.services.project.strategies import Strategy, VarianceName


def _few(fields: Any) -> Any:
    """The length is otherwise checked last, after a million mistakes were described."""
    if isinstance(fields, dict) and len(fields) > 20:
        raise ValueError("at most 20 fields")
    return fields


class Ask(Body):
    """What to ask for; what is left out is as the project is set."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"count": 1}, {"count": 5, "strategy": "unc+"}]})

    count: Annotated[int, Field(strict=True, ge=1, le=1000)] = 1
    strategy: Strategy | None = None
    variance: VarianceName | None = Field(
        None, description="that strategies variance, unc and unc+ go by: exact, or an upper bound"
    )
    explore: Annotated[float, Field(ge=0, le=1)] | None = Field(None, description="share of items drawn at random")
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] | None = Field(
        None, description="decides between equal scores and draws at random"
    )
    resume: bool = Field(False, description="start with the items that are already reserved for you")
    filter: Annotated[dict[Name, Scalar], Field(max_length=20), BeforeValidator(_few)] = Field(
        default_factory=dict, description="only items whose data has these values"
    )
    skipped_until: Annotated[int, Field(strict=True, ge=0, lt=2**63)] = Field(
        0, description="also ask about items that you skipped, up to the event with this sequence number"
    )


class LeaseAnswer(BaseModel):
    """The item is yours until then; a heartbeat moves the end."""

    id: str
    expires_at: Time


class Question(BaseModel):
    """An item to label, and why."""

    key: str
    data: dict[str, Any] | None
    score: float = Field(description="of the query strategy; the item with the lowest score is asked first")
    strategy: str = Field(
        description="why it was chosen: the query strategy; or overlap (others have begun it), resumed (you hold it "
        "already), again (you undid your answer)"
    )
    explored: bool = Field(description="drawn at random, for a fair estimate of the accuracy")
    mean: dict[str, float] = Field(
        description="of each class, +1 for yes and -1 for no; with likelihood softmax logits, which sum to 0"
    )
    variance: float | None
    novelty: float | None = Field(
        None, description="how unlike everything labelled it is, from 0 to 1, as in predictions"
    )
    unlike: bool | None = Field(None, description="whether it is unlike anything so far, as in predictions")
    lease: LeaseAnswer


class SkippedItems(BaseModel):
    """Items that you skipped and may be asked about again: by a query with this `until` as its `skipped_until`."""

    items: int
    until: int


class Questions(BaseModel):
    """Items to label."""

    model_version: int
    degraded: bool = Field(description="true while there is no model to choose by, and items are drawn at random")
    items: list[Question]
    skipped: SkippedItems | None = Field(None, description="what you skipped, if a query finds nothing else")


class LabelEntry(Body):
    """An answer on an item: a label, or an action."""

    key: Key
    label: Name | None = None
    action: Literal["label", "skip", "unsure", "retract", "comment"] = "label"
    note: Annotated[str, Field(max_length=10_000), AfterValidator(check_plain)] | None = None
    lease: Annotated[str, Field(max_length=64)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> "LabelEntry":
        if (self.label is not None) != (self.action == "label"):
            raise ValueError('give a label, or an action other than "label"')
        if self.action == "comment" and not self.note:
            raise ValueError("a comment needs a note")
        return self


class NewLabels(Body):
    """Answers, and what to ask next."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"labels": [{"key": "a.png", "label": "cat"}], "next": {"count": 1}},
                {"labels": [{"key": "b.png", "action": "skip"}]},
            ]
        }
    )

    labels: Annotated[list[LabelEntry], Field(min_length=1, max_length=1000, fail_fast=True)]
    next: Ask | None = None
    idempotency_key: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_plain)] | None = Field(
        None, description="instead of the header of that name"
    )


class LabelsAnswer(Questions):
    """What became of the answers, and the next items."""

    accepted: int
    late: list[str] = Field(description="keys whose lease had ended; their answers are stored all the same")


class Retracted(BaseModel):
    """How many labels went."""

    retracted: int
    model_version: int


class Agreement(BaseModel):
    """How much people agree on items that several of them labelled."""

    items: int
    agreement: float | None = Field(description="share of equal pairs of labels")
    alpha: float | None = Field(description="Krippendorff's alpha: 1 is perfect, 0 is chance")
