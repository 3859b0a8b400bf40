"""Media: the pictures that items show."""

from typing import Any

from fastapi import Response

from app.api.context import Reader, router
from app.services.items.media import TYPES

routes = router("media")

PICTURE: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
FOR_EVER = "private, max-age=31536000, immutable"  # a name stands for its content


@routes.get(
    "/projects/{project}/media/{medium}",
    response_class=Response,
    responses={200: {"content": dict.fromkeys(TYPES.values(), PICTURE)}},
)
async def get_medium(at: Reader, medium: str) -> Response:
    """A picture by the name that items have for it."""
    found = await at.in_thread(at.service.media.get, at.project.id, medium)
    headers = {"Cache-Control": FOR_EVER, "Content-Disposition": f'inline; filename="{found.name}"'}
    return Response(found.content, media_type=found.content_type, headers=headers)
