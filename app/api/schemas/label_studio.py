"""Label Studio: links to it, and what it sends and gets as an ML backend's client."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.api.schemas.common import Body, Time
from app.label_studio.protocol import AnnotationSent, Id, Named, TaskSent, Wire
from app.services.plain import check_plain

CONFIG = (
    '<View><Text name="text" value="$text"/><Choices name="label" toName="text">'
    '<Choice value="Positive"/><Choice value="Negative"/></Choices></View>'
)
Text = Annotated[str, AfterValidator(check_plain)]
ConfigText = Annotated[str, Field(max_length=2**20), AfterValidator(check_plain)]
ProjectKey = Annotated[str, Field(max_length=64)]


class NewLink(Body):
    """A link to a project of Label Studio; with its address and a token AskNext also chooses the next task there."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"address": "http://labels.example:8080", "token": "...", "remote_project": 12}]
        }
    )

    address: Annotated[Text, Field(min_length=1, max_length=500)] | None = Field(
        None, description="where Label Studio is: scheme, host and port; AskNext sends requests to no other address"
    )
    token: Annotated[Text, Field(min_length=1, max_length=2000)] | None = Field(
        None, description="a personal access token or a legacy token of Label Studio; it is never shown again"
    )
    remote_project: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(
        None, description="the number of the project there; by default the one that calls first"
    )
    top: Annotated[int, Field(ge=1, le=1000)] = Field(20, description="tasks that are put in order after each label")


class BrokenTask(BaseModel):
    """A task that has no item."""

    task: int
    reason: str


class LinkAnswer(BaseModel):
    """A link as it is, without its secrets."""

    address: str | None
    remote_project: int | None = Field(description="the number of the project in Label Studio")
    pushes: bool = Field(description="whether AskNext puts tasks in order there")
    top: int
    classes: list[str] | None = Field(description="choices of the label config, once it is known")
    pushed_version: str | None = Field(description="the version of the model that chooses the next task there")
    pushed_at: Time | None
    synced_at: Time | None
    problem: str | None = Field(description="the last problem, until it is solved")
    tasks: int
    waiting_tasks: int = Field(description="that have not become items yet")
    broken_tasks: int = Field(description="that could not be read")
    broken: list[BrokenTask] = Field(description="some of them")
    annotations: int
    waiting_annotations: int = Field(description="that have not become labels yet")
    refused_annotations: int = Field(description="whose choice is not a class of this project")
    created_at: Time


class Linked(BaseModel):
    """The link of a project, if it has one."""

    link: LinkAnswer | None


class LinkCreated(LinkAnswer):
    """A link with its secret, which is shown this once."""

    path: str = Field(description="of the address to paste into Label Studio, behind that of AskNext")


class SetUp(Wire):
    """The label config, which Label Studio sends often."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"project": "12.1794786784", "schema": CONFIG}]})

    project: ProjectKey = ""
    label_config: ConfigText = Field(alias="schema")


class SetUpAnswer(BaseModel):
    """The model that answers."""

    model_version: str


class PredictTasks(Wire):
    """Tasks to predict."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "tasks": [{"id": 31, "data": {"text": "great film"}}],
                    "project": "12.1794786784",
                    "label_config": CONFIG,
                    "params": {"context": None},
                }
            ]
        }
    )

    tasks: Annotated[list[TaskSent], Field(max_length=100_000)]
    project: ProjectKey = ""
    label_config: ConfigText | None = None


class TaskPrediction(BaseModel):
    """What the model thinks of a task, as Label Studio stores it."""

    result: list[dict[str, Any]]
    score: float = Field(description="how likely the class is; tasks with low scores are asked first")
    model_version: str


class TaskPredictions(BaseModel):
    """One for each task, in their order."""

    results: list[TaskPrediction]


class ProjectSent(Wire):
    """The project that an event is about."""

    id: Id
    label_config: ConfigText | None = None


class Webhook(Wire):
    """Something that happened in Label Studio; actions that are not known are passed over."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "action": "ANNOTATION_CREATED",
                    "annotation": {
                        "id": 5,
                        "task": 31,
                        "completed_by": 1,
                        "was_cancelled": False,
                        "result": [
                            {
                                "from_name": "label",
                                "to_name": "text",
                                "type": "choices",
                                "value": {"choices": ["Positive"]},
                            }
                        ],
                    },
                    "task": {"id": 31, "data": {"text": "great film"}},
                    "project": {"id": 12, "label_config": CONFIG},
                }
            ]
        }
    )

    action: Annotated[str, Field(max_length=100)]
    annotation: AnnotationSent | Annotated[list[AnnotationSent], Field(max_length=100_000)] | None = None
    task: TaskSent | Annotated[list[TaskSent], Field(max_length=100_000)] | None = None
    annotations: Annotated[list[Named], Field(max_length=1_000_000)] = Field(default_factory=list)
    tasks: Annotated[list[TaskSent], Field(max_length=1_000_000)] = Field(default_factory=list)
    project: ProjectSent | None = None


class WebhookAnswer(BaseModel):
    """What became of it."""

    status: str
    job: str | None = None


class Versions(BaseModel):
    """Versions of the model that Label Studio may have predictions of."""

    versions: list[str]


class BackendHealth(BaseModel):
    """That AskNext is there."""

    status: str = "UP"
    model_class: str = "AskNext"
