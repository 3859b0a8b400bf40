"""Projects and classes."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.api.schemas.common import Body, Name, Page
from app.services.project_settings import ProjectSettings


class NewProject(Body):
    """A project; everything but the name can come later."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "digits", "classes": ["zero", "one"], "settings": {"overlap": 1}}]}
    )

    name: Name
    classes: Annotated[list[Name], Field(max_length=10_000, fail_fast=True)] = Field(default_factory=list)
    settings: ProjectSettings = ProjectSettings()

    @model_validator(mode="after")
    def _different(self) -> "NewProject":
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("classes must have different names")
        return self


class ProjectChange(Body):
    """Only what is named changes; settings are merged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"settings": {"strategy": "bald"}}]})

    name: Name | None = None
    settings: dict[str, Any] = Field(default_factory=dict, description="settings to change, by name")


class ChannelAnswer(BaseModel):
    """Feature columns that share a weight."""

    name: str
    columns: int


class EncoderAnswer(BaseModel):
    """What makes features of a project's raw items."""

    kind: Literal["text", "image", "table", "vectors", "sets"]
    why: str = Field(description="why this kind")
    channels: list[ChannelAnswer]
    description: dict[str, Any] = Field(description="its options and sizes")


class ProjectAnswer(BaseModel):
    """A project."""

    id: str
    name: str
    classes: list[str]
    settings: ProjectSettings
    encoder: EncoderAnswer | None = Field(description="null until raw items were imported")
    created_at: float


class ProjectPage(Page):
    """Some projects."""

    projects: list[ProjectAnswer]


class ClassName(Body):
    """A class by its name."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "cat"}]})

    name: Name


class MergeInto(Body):
    """Where the labels of a class go."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"into": "cat"}]})

    into: Name


class ClassesAnswer(BaseModel):
    """The classes of a project, in their order."""

    classes: list[str]
