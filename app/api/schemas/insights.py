"""What can be seen of the learning: curves, maps, rankings, events, the model card, explanations."""

from typing import Any

from pydantic import BaseModel, Field

from app.api.schemas.common import Page, Time
from app.api.schemas.items import EventAnswer, Vote
from app.api.schemas.labels import Agreement
from app.api.schemas.model import Accuracy, Estimate
from app.api.schemas.projects import ProjectAnswer


class CurvePoint(BaseModel):
    """How good the model was on items drawn at random, when so many labels had been given."""

    labels: int
    accuracy: float = Field(description="share of these items that the model predicted right")
    low: float = Field(description="lower bound; 95 % confidence at this point alone, not over all of the curve")
    high: float
    judged: int = Field(
        description="the number of items that this is measured on: the last ones drawn at random, at most 50"
    )


class ClassCounts(BaseModel):
    """Items of a class."""

    labelled: int
    predicted: int = Field(description="of the items without a label")


class Histogram(BaseModel):
    """One count for each pair of neighbouring edges; both are empty until two classes have labels."""

    edges: list[float]
    counts: list[int]


class Insights(BaseModel):
    """How the learning goes."""

    version: int
    accuracy: Accuracy | None = Field(
        description="null before there is a model, and for projects that are to find all of a class (see search)"
    )
    curve: list[CurvePoint]
    classes: dict[str, ClassCounts]
    uncertainty: Histogram = Field(
        description="items without a label, by the probability that their predicted class is wrong"
    )
    estimates: list[Estimate] = Field(description="leave-one-out accuracy is among them for administrators alone")


class Point(BaseModel):
    """An item on the map."""

    key: str
    x: float
    y: float
    label: str | None
    predicted: str | None
    uncertainty: float = Field(description="probability that the predicted class is wrong")


class PoolMapAnswer(BaseModel):
    """Items in the plane, by the two main directions in which the kernel tells them apart."""

    version: int
    items: int = Field(description="of the whole pool, of which the points are some")
    points: list[Point]


class RankedItem(BaseModel):
    """An item worth a look."""

    key: str
    data: dict[str, Any] | None
    label: str | None
    predicted: str | None = Field(description="of surprising items by all other labels")
    probability: float | None = Field(description="of the predicted class")
    score: float = Field(
        description="probability that the predicted class (uncertain) or the label (surprising) is wrong, "
        "or that two votes differ (disagreed); or how unlike everything labelled it is, from 0 to 1 (unlike)"
    )
    votes: list[Vote]


class RankedItems(BaseModel):
    """Items, the most remarkable first."""

    items: list[RankedItem]


class PoolEvent(EventAnswer):
    """One thing that was said of an item, and of which."""

    key: str


class EventPage(Page):
    """Some events, the newest first."""

    events: list[PoolEvent]


class Note(BaseModel):
    """The likelihood, model or kernel in use, and why it is used."""

    name: str
    why: str


class Channel(BaseModel):
    """The weight that a group of columns has in the kernel."""

    name: str
    weight: float


class Figures(BaseModel):
    """How good the model is."""

    accuracy: Accuracy | None
    estimates: list[Estimate] = Field(description="leave-one-out accuracy is among them for administrators alone")
    confusion: dict[str, dict[str, int]] = Field(
        description="confusion matrix: for each label the classes that the other labels predict, with counts; empty "
        "but for administrators"
    )


class CardAnnotator(BaseModel):
    """Somebody who gave answers."""

    name: str
    items: int = Field(description="that they labelled")
    last_at: Time


class CardTraining(BaseModel):
    """The last training."""

    created_at: Time
    labels: int
    items: int


class ModelCard(BaseModel):
    """What a reader needs to know to trust the model, or not to."""

    project: ProjectAnswer
    version: int
    items: int
    labelled: int
    classes: dict[str, ClassCounts]
    encoder: dict[str, Any] | None = Field(description="how raw items become features; null where they come as numbers")
    likelihood: Note | None
    model: Note | None
    kernel: Note | None
    solver: str | None
    hyperparameters: dict[str, float]
    channels: list[Channel]
    figures: Figures
    annotators: list[CardAnnotator]
    agreement: Agreement
    training: CardTraining | None
    cautions: list[str]
    made_with: dict[str, str] = Field(description="versions of the software")


class Part(BaseModel):
    """What one column adds to the lead of the predicted class."""

    name: str
    weight: float = Field(description="above zero it speaks for the class, below against it")
    column: int


class Why(BaseModel):
    """Why an item is taken for this class; lead = parts + rest + constant."""

    label: str | None = Field(description="the predicted class; null until two classes have labels")
    against: str | None = Field(description="the next best class")
    lead: float | None = Field(description="by how much its mean is above that of the next best class")
    constant: float | None
    rest: float | None = Field(description="of all columns that are not shown")
    parts: list[Part] = Field(description="the heaviest first; empty where the kernel is no sum over columns")


class FoundPoint(BaseModel):
    """How many wanted items had been found after so many labels."""

    labels: int
    found: int


class StopRule(BaseModel):
    """When it is safe to stop, as the project's settings say."""

    target: float
    risk: float
    patience: int


class SearchProgress(BaseModel):
    """How far the search for all items of a class has come."""

    wanted: str
    found: int = Field(description="wanted items with a label")
    labelled: int
    left: int = Field(description="items without a label")
    drawn: int = Field(description="items of the random sample that count")
    idle: int = Field(description="labels that were asked for since the last wanted item, up to the patience")
    expected_left: float | None = Field(
        description="wanted items among those without a label, as the model thinks; null before it can tell. It "
        "guarantees nothing"
    )
    lowest_recall: float = Field(
        description="at least this share of all wanted items has been found, wrong with the risk of the settings at "
        "most, however often one looks"
    )
    draws_needed: int | None = Field(
        description="so many more items drawn at random, none of them wanted, are enough; null if it is safe to stop"
    )
    sampling: bool = Field(description="whether items are drawn at random now")
    stop: bool = Field(description="whether enough has been found")
    sentence: str = Field(description="the same in words")
    curve: list[FoundPoint]
    rule: StopRule
