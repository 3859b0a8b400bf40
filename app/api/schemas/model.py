"""The model."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.api.schemas.common import Body, Features, Key, RawRow, RawText


class PredictRows(Body):
    """Rows of features, keys of items, or what an encoder makes features of."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"features": [[0.1, 0.0, 0.9]]}, {"keys": ["a.png"]}, {"texts": ["is this spam?"]}]
        }
    )

    features: Annotated[list[Features], Field(min_length=1, max_length=10_000, fail_fast=True)] | None = None
    keys: Annotated[list[Key], Field(min_length=1, max_length=10_000, fail_fast=True)] | None = None
    texts: Annotated[list[RawText], Field(min_length=1, max_length=10_000, fail_fast=True)] | None = Field(
        None, description="where the project encodes texts"
    )
    rows: Annotated[list[RawRow], Field(min_length=1, max_length=10_000, fail_fast=True)] | None = Field(
        None, description="where the project encodes tables"
    )

    @model_validator(mode="after")
    def _one(self) -> "PredictRows":
        if sum(part is not None for part in (self.features, self.keys, self.texts, self.rows)) != 1:
            raise ValueError("give one of features, keys, texts and rows")
        return self


class Prediction(BaseModel):
    """What the model thinks of a row."""

    label: str = Field(description="the most probable class")
    decision: str = Field(description="the class with the least expected distance in the tree of classes")
    probabilities: dict[str, float] = Field(description="of each class that is no parent; they sum to 1")
    nodes: dict[str, float] = Field(description="of each parent: the sum of what is under it")
    mean: dict[str, float]
    variance: float


class Predictions(BaseModel):
    """One prediction for each row."""

    model_version: int
    degraded: bool
    predictions: list[Prediction]


class PredictOne(Body):
    """One text, or one row of features."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "is this spam?"}, {"features": [0.1, 0.0, 0.9]}]}
    )

    text: RawText | None = Field(None, description="where the project encodes texts")
    features: Features | None = None

    @model_validator(mode="after")
    def _one(self) -> "PredictOne":
        if (self.text is None) == (self.features is None):
            raise ValueError("give one of text and features")
        return self


class OnePrediction(BaseModel):
    """The likeliest class, and how likely it is."""

    label: str
    score: float


class Train(Body):
    """How to train."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"tune": True}]})

    tune: bool = Field(
        True, description="find hyperparameters, and the kernel and the model if they are left to the service"
    )


class Accuracy(BaseModel):
    """Of the items without a label, the share that the model classes right; figures are null where it is too early."""

    target: float = Field(description="the share that is enough, by the settings")
    drawn: int = Field(
        description="items drawn at random that are counted: the last ones, at most 50. The model predicted each "
        "before it was labelled"
    )
    right: int = Field(description="of these, as the model predicted them")
    value: float | None = Field(
        description="the share that was right; where items came later, those that had less chance of being drawn weigh "
        "more"
    )
    low: float | None = Field(
        description="at least, with 95 % confidence however often one looks, if the model has not become worse since"
    )
    expected: float | None = Field(description="the best guess for today, by all draws and the model's own doubts")
    expected_more: float | None = Field(description="the best guess after so many more labels as `more` says")
    more: int
    sure: float | None = Field(description="the probability that the target is met")
    stop: bool = Field(
        description="whether the target is met with a probability of 97 % or more, and no late draws speak against it"
    )
    sentence: str = Field(description="what was seen, in words")
    advice: str = Field(description="whether to keep labelling, in words")


class Estimate(BaseModel):
    """Something else that can be said of how good the model is; no guarantee, and no reason to stop."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    meaning: str


class ModelAnswer(BaseModel):
    """The model as it is."""

    version: int
    degraded: str | None = Field(description="what is wrong, if something is")
    likelihood: str | None = Field(
        description="gaussian or softmax, and how it was chosen if that was left to the service, or how far it is"
    )
    model: str | None = Field(
        description="gp or forest, and how it was chosen if that was left to the service, or how far it is"
    )
    solver: str | None
    kernel: str | None = Field(description="its name, and how it was chosen if that was left to the service")
    hyperparameters: dict[str, float]
    warnings: list[str] = Field(
        description="parameters whose search ended at a bound: there may be better values beyond it"
    )
    items: int
    labelled: int
    classes: dict[str, int] = Field(description="labels of each class")
    training: str | None = Field(description="the training job that is running")
    sequence: int = Field(description="the last label event that the model knows")
    accuracy: Accuracy | None = Field(
        description="null before there is a model, and for projects that are to find all of a class (see search)"
    )
    estimates: list[Estimate] = Field(description="leave-one-out accuracy is among them for administrators alone")
