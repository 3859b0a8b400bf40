"""Keys."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.api.schemas.common import Body, Name, Page, Time
from app.services.plain import check_plain


class NewKey(Body):
    """A key for a person or a program."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "ann", "role": "annotator"}]})

    name: Name
    role: Literal["admin", "annotator", "reader"]
    project: Annotated[str, Field(max_length=64), AfterValidator(check_plain)] | None = Field(
        None, description="the only project that the key gives access to; null for all"
    )


class KeyAnswer(BaseModel):
    """A key without its secret."""

    id: str
    name: str
    role: Literal["admin", "annotator", "reader"]
    project: str | None
    created_at: Time
    revoked_at: Time | None


class KeyCreated(KeyAnswer):
    """A key with its secret, which is shown this once."""

    key: str


class KeyPage(Page):
    """Some keys."""

    keys: list[KeyAnswer]


class Me(BaseModel):
    """Who you are."""

    name: str
    role: Literal["admin", "annotator", "reader"]
    project: str | None
