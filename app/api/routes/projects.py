"""Projects and their classes."""

from typing import Annotated, Any

from fastapi import Header, Query, Request, Response, status

from app.api.context import Admin, AnyCaller, Reader, ServiceAdmin, links_of, router
from app.api.schemas import (
    ClassChange,
    ClassesAnswer,
    MergeInto,
    NewClass,
    NewProject,
    ProjectAnswer,
    ProjectChange,
    ProjectPage,
)
from app.services.problems import Forbidden, Invalid
from app.services.project import catalogue
from app.services.project.classes import AddClass, ChangeClass, MergeClass

routes = router("projects")

Cursor = Annotated[str, Query(max_length=64, description="where the last page ended")]
Limit = Annotated[int, Query(ge=1, le=1000)]


@routes.post("/projects", status_code=status.HTTP_201_CREATED, response_model=ProjectAnswer)
async def create_project(caller: ServiceAdmin, body: NewProject, response: Response) -> Any:
    """Make a project."""
    database = caller.service.database
    project = await caller.in_thread(catalogue.create, database, body.name, body.parents, body.settings)
    return _with_etag(response, project)


@routes.get("/projects", response_model=ProjectPage)
async def list_projects(caller: AnyCaller, cursor: Cursor = "", limit: Limit = 100) -> Any:
    """The projects that your key is good for."""

    def read() -> Any:
        found = catalogue.page(caller.service.database, cursor, limit, caller.principal.project_id)
        return {"projects": found, "next": found[-1]["id"] if len(found) == limit else None}

    return await caller.as_json(ProjectPage, read)


@routes.get("/projects/{project}", response_model=ProjectAnswer)
async def get_project(at: Reader, response: Response) -> Any:
    """A project; its ETag guards a change against others."""
    return _with_etag(response, await at.in_thread(catalogue.get, at.service.database, at.project.id))


@routes.patch("/projects/{project}", response_model=ProjectAnswer)
async def change_project(
    at: Admin,
    body: ProjectChange,
    response: Response,
    if_match: Annotated[str | None, Header(max_length=64, description="the ETag that you saw")] = None,
) -> Any:
    """Change its name or settings; other settings of the model train it anew."""
    options = body.settings.get("encoder_options")
    if at.principal.project_id is not None and isinstance(options, dict) and options.get("model"):
        raise Forbidden("this key belongs to one project: only an administrator of the service may name a model")
    task = catalogue.ChangeProject(at.project, body.name, body.settings, _revision(if_match))
    answer = await at.do(task)
    if task.model_changed:
        await at.in_thread(at.service.start_training, at.running, tune=True)
    return _with_etag(response, answer)


@routes.delete("/projects/{project}", status_code=status.HTTP_204_NO_CONTENT)
async def delete_project(at: Admin, request: Request) -> None:
    """Delete it; its labels stay in the database and nowhere else."""
    await at.in_thread(links_of(request).end, at.project.id)
    await at.in_thread(catalogue.delete, at.service.database, at.project.id)
    await at.in_thread(at.service.forget, at.project.id)


@routes.post("/projects/{project}/classes", status_code=status.HTTP_201_CREATED, response_model=ClassesAnswer)
async def add_class(at: Admin, body: NewClass) -> Any:
    """Add a class, at any time; with likelihood softmax perhaps as a kind of another."""
    return await at.do(AddClass(at.project, body.name, body.parent))


@routes.patch("/projects/{project}/classes/{name:path}", response_model=ClassesAnswer)
async def change_class(at: Admin, name: str, body: ClassChange) -> Any:
    """Rename a class, or move it in the tree; its labels stay."""
    move = "parent" in body.model_fields_set
    return await at.do(ChangeClass(at.project, name, body.name, body.parent, move=move))


@routes.post("/projects/{project}/classes/{name:path}/merge", response_model=ClassesAnswer)
async def merge_class(at: Admin, name: str, body: MergeInto) -> Any:
    """Make the labels of a class those of another; what is a kind of it moves along."""
    return await at.do(MergeClass(at.project, name, body.into))


def number_of(cursor: str) -> int | None:
    """The number that a cursor of a numbered list stands for; None at its beginning."""
    if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise Invalid("cursor must be the value of next in an earlier answer")
    return int(cursor) if cursor else None


def _with_etag(response: Response, project: dict[str, Any]) -> dict[str, Any]:
    response.headers["ETag"] = f'"{project["revision"]}"'
    return project


def _revision(if_match: str | None) -> int | None:
    if if_match is None or if_match == "*":
        return None
    text = if_match.removeprefix("W/").strip('"')
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Invalid("If-Match must be the ETag of this project")
    return int(text)
