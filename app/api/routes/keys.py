"""Keys."""

from typing import Any

from fastapi import status

from app.api import schemas
from app.api.context import AnyAdmin, AnyCaller, router
from app.api.routes.projects import Cursor, Limit
from app.services.problems import Forbidden

routes = router("keys")


@routes.get("/me", response_model=schemas.Me)
async def get_me(caller: AnyCaller) -> Any:
    """Who you are by your key."""
    who = caller.principal
    return {"name": who.name, "role": who.role, "project": who.project_id}


@routes.post("/keys", status_code=status.HTTP_201_CREATED, response_model=schemas.KeyCreated)
async def create_key(caller: AnyAdmin, body: schemas.NewKey) -> Any:
    """Make a key; the answer is the only place where it is shown."""
    if not caller.principal.sees(body.project or ""):
        raise Forbidden("this key belongs to one project and can make keys for that one only")
    return await caller.in_thread(caller.service.access.create, body.name, body.role, body.project)


@routes.get("/keys", response_model=schemas.KeyPage)
async def list_keys(caller: AnyAdmin, cursor: Cursor = "", limit: Limit = 100) -> Any:
    """Keys without their secrets."""
    found = await caller.in_thread(caller.service.access.page, cursor, limit, caller.principal.project_id)
    return {"keys": found, "next": found[-1]["id"] if len(found) == limit else None}


@routes.delete("/keys/{key}", status_code=status.HTTP_204_NO_CONTENT)
async def revoke_key(caller: AnyAdmin, key: str) -> None:
    """Make a key useless at once."""
    await caller.in_thread(caller.service.access.revoke, key, caller.principal)
