"""Who may do what: keys with roles, shown once, stored as digests."""

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address, ip_network
from math import ceil
from typing import Any, Literal

from app.db import keys, projects
from app.db.database import Database
from app.services.problems import Forbidden, NotFound, TooMany, Unauthorised
from app.services.runtime.clock import now
from app.services.runtime.ids import new_id

Role = Literal["reader", "annotator", "admin"]
RANK: dict[str, int] = {"reader": 0, "annotator": 1, "admin": 2}
PREFIX = "ask_"
REMEMBERED = 2.0  # seconds for which a key is not looked up again: so long another process's revocation takes
BAD_PER_MINUTE = 20
MAX_KNOWN_KEYS = 10_000


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
        self._proved: OrderedDict[bytes, None] = OrderedDict()  # keys that were good once in this process
        self._bad: OrderedDict[str, deque[float]] = OrderedDict()

    def authenticate(self, secret: str, address: str) -> Principal:
        """The holder of a key. An address that keeps guessing is told to wait, and its guesses are not looked at.

        Keys that were good before are: whoever shares the address of somebody who guesses goes on.
        """
        digest = digest_of(secret)
        if digest not in self._proved:
            self._check_guesses(address)
        found = self.remembered(secret) or self._look_up(digest)
        if found is None:
            self.note_guess(address)
            raise Unauthorised("this key is unknown or was revoked: ask for a new one")
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
        self._prove(digest_of(secret))
        return _describe(row) | {"key": secret}

    def page(self, after: str, limit: int, project_id: str | None) -> list[dict[str, Any]]:
        """Keys without their secrets."""
        with self._database.read() as connection:
            return [_describe(row._mapping) for row in keys.page(connection, after, limit, project_id)]

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
            self._proved.pop(bytes(row.digest), None)

    def first_key(self, secret: str | None) -> str | None:
        """An administrator's key if there is none yet, or the given one; None if nothing had to be made."""
        with self._database.read() as connection:
            known = keys.by_digest(connection, digest_of(secret), revoked=True) if secret is not None else None
            if known is not None and known.revoked_at is not None:
                raise Forbidden("the key in ASKNEXT_ADMIN_KEY was revoked: set another one")
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
        self._prove(digest)
        with self._lock:
            self._known[digest] = time.monotonic(), principal
            _trim(self._known)
        return principal

    def _prove(self, digest: bytes) -> None:
        with self._lock:
            self._proved[digest] = None
            _trim(self._proved)

    def note_guess(self, address: str) -> None:
        """A wrong secret came from this address; one that keeps guessing is told to wait."""
        self._check_guesses(address)
        with self._lock:
            network = network_of(address)
            self._bad.setdefault(network, deque(maxlen=BAD_PER_MINUTE)).append(time.monotonic())
            self._bad.move_to_end(network)
            _trim(self._bad)

    def _check_guesses(self, address: str) -> None:
        with self._lock:
            times: deque[float] = self._bad.get(network_of(address), deque())
            left = times[0] + 60.0 - time.monotonic() if len(times) == BAD_PER_MINUTE else 0.0
        if left > 0:
            raise TooMany("too many wrong keys from this address: try again in a minute", retry_after=ceil(left))


def _trim(known: OrderedDict[Any, Any]) -> None:
    """Forget what is oldest, so that nobody fills the memory."""
    while len(known) > MAX_KNOWN_KEYS:
        known.popitem(last=False)


def network_of(address: str) -> str:
    """Whose address it is: with IPv6 everybody has a whole network, but for IPv4 addresses that are written so.

    >>> network_of("10.0.0.7"), network_of("2001:db8::1") == network_of("2001:db8::2")
    ('10.0.0.7', True)
    >>> network_of("::ffff:10.0.0.7")
    '10.0.0.7'
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv4Address):
        return address
    return str(parsed.ipv4_mapped or ip_network((parsed, 64), strict=False))


def digest_of(secret: str) -> bytes:
    """What is stored of a key: 256 random bits need no salt."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _describe(row: Any) -> dict[str, Any]:
    return {
        "id": row["id"],
        "name": row["name"],
        "role": row["role"],
        "project": row["project_id"],
        "created_at": row["created_at"],
        "revoked_at": row.get("revoked_at"),
    }
