"""Who may do what: keys with roles, shown once, stored as digests."""

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any, Literal

from app.db import keys, projects
from app.db.database import Database
from app.services.clock import now
from app.services.ids import new_id
from app.services.problems import Forbidden, NotFound, TooMany, Unauthorised

Role = Literal["reader", "annotator", "admin"]
RANK: dict[str, int] = {"reader": 0, "annotator": 1, "admin": 2}
PREFIX = "ask_"
REMEMBERED = 2.0  # seconds for which a key is not looked up again: so long another process's revocation takes
BAD_PER_MINUTE = 20


@dataclass(frozen=True)
class Principal:
    """Whoever holds a key."""

    key_id: str
    name: str
    role: Role
    project_id: str | None  # None: all projects

    def may(self, role: Role) -> bool:
        """Whether the key is good for what this role does."""
        return RANK[self.role] >= RANK[role]

    def sees(self, project_id: str) -> bool:
        """Whether the key belongs to this project."""
        return self.project_id in (None, project_id)


class Access:
    """Keys of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, tuple[float, Principal]] = OrderedDict()
        self._bad: dict[str, deque[float]] = {}

    def authenticate(self, secret: str, address: str) -> Principal:
        """The holder of a key; an address that keeps guessing is told to wait."""
        found = self.remembered(secret) or self._look_up(digest_of(secret))
        if found is None:
            self.note_guess(address)
            raise Unauthorised("the key is not known or was revoked")
        return found

    def remembered(self, secret: str) -> Principal | None:
        """The holder of a key that was looked up a moment ago."""
        with self._lock:
            known = self._known.get(digest_of(secret))
        return known[1] if known is not None and time.monotonic() - known[0] < REMEMBERED else None

    def create(self, name: str, role: Role, project_id: str | None = None, secret: str | None = None) -> dict[str, Any]:
        """A new key; the secret is in the answer and nowhere else."""
        secret = secret or PREFIX + secrets.token_urlsafe(32)
        row = {
            "id": new_id(),
            "name": name,
            "role": role,
            "project_id": project_id,
            "digest": digest_of(secret),
            "created_at": now(),
        }
        with self._database.write() as connection:
            if project_id is not None and projects.get(connection, project_id) is None:
                raise NotFound("there is no such project")
            keys.add(connection, row)
        return _shown(row) | {"key": secret}

    def page(self, after: str, limit: int, project_id: str | None) -> list[dict[str, Any]]:
        """Keys without their secrets."""
        with self._database.read() as connection:
            return [_shown(row._mapping) for row in keys.page(connection, after, limit, project_id)]

    def revoke(self, key_id: str, by: Principal | None = None) -> None:
        """Make a key useless, at once in this process."""
        with self._database.write() as connection:
            row = keys.get(connection, key_id)
            if row is None or (by is not None and not by.sees(row.project_id or "")):
                raise NotFound("there is no such key")
            if by is not None and row.id == by.key_id:
                raise Forbidden("a key cannot revoke itself: use another one")
            keys.revoke(connection, key_id, now())
        with self._lock:
            self._known.clear()

    def first_key(self, secret: str | None) -> str | None:
        """An administrator's key if there is none yet, or the given one; None if nothing had to be made."""
        with self._database.read() as connection:
            known = keys.by_digest(connection, digest_of(secret), revoked=True) if secret is not None else None
            if known is not None and known.revoked_at is not None:
                raise Forbidden("ASKNEXT_ADMIN_KEY is a key that was revoked: set another one")
            if known is not None:
                return None
            if secret is None and keys.count_admins(connection):
                return None
        return str(self.create("admin", "admin", secret=secret)["key"])

    def _look_up(self, digest: bytes) -> Principal | None:
        with self._database.read() as connection:
            row = keys.by_digest(connection, digest)
        if row is None or not hmac.compare_digest(bytes(row.digest), digest):
            return None
        principal = Principal(row.id, row.name, row.role, row.project_id)
        with self._lock:
            self._known[digest] = time.monotonic(), principal
            while len(self._known) > 10_000:
                self._known.popitem(last=False)
        return principal

    def note_guess(self, address: str) -> None:
        """A wrong secret came from this address; one that keeps guessing is told to wait."""
        oldest = time.monotonic() - 60.0
        with self._lock:
            self._bad = {who: times for who, times in self._bad.items() if times[-1] > oldest}
            times = self._bad.setdefault(address, deque(maxlen=BAD_PER_MINUTE))
            blocked = len(times) == BAD_PER_MINUTE and times[0] > oldest
            times.append(time.monotonic())
        if blocked:
            raise TooMany("too many wrong keys from this address", retry_after=60)


def network_of(address: str) -> str:
    """Whose address it is: with IPv6 everybody has a whole network.

    >>> network_of("10.0.0.7"), network_of("2001:db8::1") == network_of("2001:db8::2")
    ('10.0.0.7', True)
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return address if parsed.version == 4 else str(ip_network((parsed, 64), strict=False))


def digest_of(secret: str) -> bytes:
    """What is stored of a key: 256 random bits need no salt."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _shown(row: Any) -> dict[str, Any]:
    return {
        "id": row["id"],
        "name": row["name"],
        "role": row["role"],
        "project": row["project_id"],
        "created_at": row["created_at"],
        "revoked_at": row.get("revoked_at"),
    }
