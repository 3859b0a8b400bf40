"""What all requests and answers share."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, PlainSerializer, WithJsonSchema

from app.services.plain import check_plain
from app.services.project.settings import StrictModel
from app.services.runtime.clock import rfc3339

Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_plain)]


Key = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(check_plain)]


Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


Index = Annotated[int, Field(strict=True, ge=0, lt=10_000_000)]


Data = Annotated[dict[str, Any], AfterValidator(check_plain)]


Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]  # as databases have them; larger ones count as floats


Scalar = Annotated[str | bool | Whole | float, AfterValidator(check_plain)]


# Unix seconds inside, RFC 3339 in answers.
Time = Annotated[
    datetime,
    PlainSerializer(lambda time: rfc3339(time.timestamp())),
    WithJsonSchema({"type": "string", "format": "date-time", "description": "RFC 3339, in UTC"}),
]


class Body(StrictModel):
    """A request body: nothing that is not known."""


class SparseFeatures(Body):
    """Only the entries that are not zero, in any order."""

    indices: Annotated[list[Index], Field(max_length=1_000_000, fail_fast=True)]
    values: Annotated[list[Number], Field(max_length=1_000_000, fail_fast=True)]


Features = Annotated[list[Number], Field(min_length=1, max_length=1_000_000, fail_fast=True)] | SparseFeatures


RawText = Annotated[str, Field(max_length=2**20), AfterValidator(check_plain)]


RawRow = Annotated[dict[str, Scalar | None], Field(min_length=1, max_length=100_000), AfterValidator(check_plain)]


class Page(BaseModel):
    """A page of a list; `next` is the cursor of the page after it, null on the last."""

    next: str | None = None


class ProblemAnswer(BaseModel):
    """An error (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    id: str = Field(description="of the request; it is also in the log of the service")
