"""Links to Label Studio, for administrators of a project."""

from typing import Any

from fastapi import Request, status

from app.api import schemas
from app.api.context import Admin, links_of, router
from app.services.problems import Forbidden

routes = router("label studio")


@routes.post(
    "/projects/{project}/label-studio", status_code=status.HTTP_201_CREATED, response_model=schemas.LinkCreated
)
async def link_label_studio(at: Admin, request: Request, body: schemas.NewLink) -> Any:
    """Link the project to one of Label Studio's; the answer is the only place where the secret path is shown.

    An older link of this project ends, and so does its path. With an address the service calls Label Studio, so that
    needs a key of the service, not one of a project.
    """
    if body.address is not None and at.principal.project_id is not None:
        raise Forbidden(
            "this key belongs to one project: only an administrator of the service may give the address of Label Studio"
        )
    links = links_of(request)
    return await at.in_thread(links.create, at.project.id, body.address, body.token, body.remote_project, body.top)


@routes.get("/projects/{project}/label-studio", response_model=schemas.Linked)
async def get_label_studio_link(at: Admin, request: Request) -> Any:
    """How the link to Label Studio goes."""
    return {"link": await at.in_thread(links_of(request).describe, at.project.id)}


@routes.delete("/projects/{project}/label-studio", status_code=status.HTTP_204_NO_CONTENT)
async def unlink_label_studio(at: Admin, request: Request) -> None:
    """End the link; items and labels stay."""
    await at.in_thread(links_of(request).remove, at.project.id)


@routes.post(
    "/projects/{project}/label-studio/sync", status_code=status.HTTP_202_ACCEPTED, response_model=schemas.JobStarted
)
async def sync_label_studio(at: Admin, request: Request) -> Any:
    """Bring all tasks and annotations of Label Studio that are not known yet, in the background."""
    return {"job": await at.in_thread(links_of(request).sync, at.project.id)}
