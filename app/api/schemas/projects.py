"""Projects and classes."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.api.schemas.common import Body, Name, Page, Time
from app.services.project.settings import ProjectSettings


class NewClass(Body):
    """A class, perhaps a kind of another one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "cat"}, {"name": "robin", "parent": "bird"}]})

    name: Name
    parent: Name | None = Field(None, description="what it is a kind of; only with likelihood softmax")


class NewProject(Body):
    """A project; everything but the name can come later."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"name": "digits", "classes": ["zero", "one"], "settings": {"overlap": 1}},
                {
                    "name": "birds",
                    "classes": ["bird", {"name": "robin", "parent": "bird"}, {"name": "tit", "parent": "bird"}, "bat"],
                    "settings": {"likelihood": "softmax"},
                },
            ]
        }
    )

    name: Name
    classes: Annotated[list[Name | NewClass], Field(max_length=10_000, fail_fast=True)] = Field(
        default_factory=list, description="names, or names with parents, in any order"
    )
    settings: ProjectSettings = ProjectSettings()

    @model_validator(mode="after")
    def _different(self) -> "NewProject":
        if len(self.parents) < len(self.classes):
            raise ValueError("classes must have different names")
        return self

    @property
    def parents(self) -> dict[str, str | None]:
        """Of each class what it is a kind of."""
        named = (one if isinstance(one, NewClass) else NewClass(name=one) for one in self.classes)
        return {one.name: one.parent for one in named}


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
    parents: dict[str, str] = Field(description="what some classes are a kind of")
    settings: ProjectSettings
    encoder: EncoderAnswer | None = Field(description="null until raw items were imported")
    created_at: Time


class ProjectPage(Page):
    """Some projects."""

    projects: list[ProjectAnswer]


class ClassChange(Body):
    """What is to change of a class; only what is named does."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "cat"}, {"parent": "bird"}]})

    name: Name | None = None
    parent: Name | None = Field(None, description="what it is a kind of; null moves it to the top level")

    @model_validator(mode="after")
    def _something(self) -> "ClassChange":
        if self.name is None and "parent" not in self.model_fields_set:
            raise ValueError("give a name, a parent or both")
        return self


class MergeInto(Body):
    """Where the labels of a class go."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"into": "cat"}]})

    into: Name


class ClassesAnswer(BaseModel):
    """The classes of a project, in their order."""

    classes: list[str]
    parents: dict[str, str] = Field(description="what some classes are a kind of")
