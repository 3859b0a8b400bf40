"""Errors that a caller is told of: raised where they are known, shaped by the API in one place."""

from app.cluster.errors import ClusterLost
from app.db.database import DatabaseUnavailable, OwnershipLost

__all__ = [
    "ClusterLost",
    "Conflict",
    "DatabaseUnavailable",
    "Forbidden",
    "Invalid",
    "NotFound",
    "OwnershipLost",
    "PreconditionFailed",
    "Problem",
    "TooLarge",
    "TooMany",
    "TooSlow",
    "Unauthorised",
    "Unavailable",
    "WrongType",
    "without_database",
]


class Problem(Exception):  # noqa: N818 - the word of RFC 9457
    """What went wrong, for the caller: an HTTP status, a title that is the same each time, and what was expected."""

    status = 400
    title = "Bad request"

    def __init__(self, detail: str, *, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after = retry_after


class Unauthorised(Problem):
    """No key, or none that is known."""

    status = 401
    title = "A valid key is needed"


class Forbidden(Problem):
    """The key may not do this."""

    status = 403
    title = "This key may not do that"


class NotFound(Problem):
    """There is no such thing, or none that this key may see."""

    status = 404
    title = "Not found"


class Conflict(Problem):
    """It is there already, and different."""

    status = 409
    title = "In conflict with what is there"


class PreconditionFailed(Problem):
    """It was changed by somebody else in between."""

    status = 412
    title = "Changed in the meantime"


class TooLarge(Problem):
    """More bytes than are taken."""

    status = 413
    title = "Too large"


class TooSlow(Problem):
    """The body did not come in time."""

    status = 408
    title = "Too slow"


class WrongType(Problem):
    """Another Content-Type is needed."""

    status = 415
    title = "Unsupported content type"


class Invalid(Problem):
    """Understood, but it cannot be."""

    status = 422
    title = "Invalid input"


class TooMany(Problem):
    """Try again later."""

    status = 429
    title = "Too many requests"


class Unavailable(Problem):
    """Not now: starting, stopping, overloaded, or without a database."""

    status = 503
    title = "Not available now"


def without_database(error: DatabaseUnavailable) -> Unavailable:
    """What a caller is told while the database does not answer, or is not ours to write to."""
    if isinstance(error, OwnershipLost):
        return Unavailable(
            "another server may be writing to the database; this one takes over when it can", retry_after=2
        )
    return Unavailable("the database does not answer", retry_after=5)
