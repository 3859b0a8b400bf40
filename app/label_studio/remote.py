"""Label Studio's REST interface: calls to one address and to no other, with limits of size and time."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from app.label_studio.protocol import ExportedTask, RemoteProject, UserSent
from app.services.problems import Invalid

CONNECT, ANSWER = 3.0, 30.0  # seconds for a connection, and between two pieces of an answer
MAX_JSON_BYTES = 2**29  # bytes of an export
MAX_PICTURE_BYTES = 50 * 2**20
PICTURE_SECONDS = 30.0
FILES = ("/data/", "/tasks/")  # where pictures of tasks are
ELSEWHERE = "pictures are fetched from Label Studio's own address only: upload them there"
RENEW = 240.0  # seconds; what a personal token is exchanged for lasts five minutes
PORTS = {"http": 80, "https": 443}
ORIGIN = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.IGNORECASE | re.ASCII)
WRONG_ADDRESS = (
    "the address of Label Studio must look like http://host:8080: a scheme, a host and perhaps a port, without a user, "
    "a path, a query or a fragment"
)
KINDS = {
    400: "did not take what was sent",
    401: "does not take the token: legacy tokens are off by default, so use a personal access token, or turn them on "
    "under Organization > API Tokens",
    403: "does not allow that",
    404: "has no such thing: is the address right, and the number of the project?",
    429: "is asked too often",
}


class RemoteError(Exception):
    """Label Studio did not do what it was asked; the message is for people: it holds no token, and nothing it said."""

    def __init__(self, message: str, status: int | None = None, reason: str = "") -> None:
        super().__init__(message)
        self.status = status  # None: no answer came
        self.reason = reason  # what Label Studio gave as a reason, for whoever asked with a token of their own


def checked_address(address: str) -> str:
    """An origin: scheme, host and perhaps a port, and nothing that could lead elsewhere.

    >>> checked_address("http://labels.example:8080/")
    'http://labels.example:8080'
    """
    given = address.strip().removesuffix("/")
    try:
        origin_of(given)
    except ValueError as error:
        raise Invalid(WRONG_ADDRESS) from error
    if ORIGIN.fullmatch(given) is None:
        raise Invalid(WRONG_ADDRESS)
    return given


def origin_of(address: str) -> tuple[str, str, int]:
    """Scheme, host and port; a ValueError if there is none.

    >>> origin_of("https://Labels.example/x") == origin_of("https://labels.example:443")
    True
    """
    parts = urlsplit(address)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or PORTS.get(parts.scheme, 0)


class Remote:
    """One Label Studio, by its address and somebody's token: a legacy one, or a personal one (a JWT)."""

    def __init__(self, address: str, token: str) -> None:
        self._address, self._token = checked_address(address), token.strip()
        self._bearer, self._renew_at = "", 0.0
        limits = httpx.Timeout(ANSWER, connect=CONNECT)
        # Neither proxies nor netrc of the environment, and no redirects: only this address gets the token.
        self._http = httpx.Client(timeout=limits, follow_redirects=False, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def project(self, number: int) -> RemoteProject:
        """A project, with its label config."""
        try:
            return RemoteProject.model_validate(self.call("GET", f"api/projects/{number}/"))
        except ValidationError as error:
            raise RemoteError("the project of Label Studio could not be read: is the address right?") from error

    def export(self, number: int) -> list[ExportedTask]:
        """All tasks, also those that nobody has labelled, with their annotations."""
        content = self._read("GET", f"api/projects/{number}/export?exportType=JSON&download_all_tasks=true")
        try:
            return TypeAdapter(list[ExportedTask]).validate_json(content)
        except ValidationError as error:
            raise RemoteError("the export of Label Studio could not be read") from error

    def users(self) -> dict[int, str]:
        """Names of people, by id."""
        found = self.call("GET", "api/users/")
        entries = found.get("results", []) if isinstance(found, dict) else found
        try:
            people = TypeAdapter(list[UserSent]).validate_python(entries)
        except ValidationError:
            return {}
        return {person.id: person.email for person in people if person.email}

    def push(self, number: int, predictions: Sequence[dict[str, Any]], version: str) -> None:
        """Make these the predictions of the version that chooses the next task."""
        self.call("POST", f"api/projects/{number}/import/predictions", list(predictions))
        self.call("PATCH", f"api/projects/{number}/", {"model_version": version})

    def versions(self, number: int) -> list[str]:
        """Versions that predictions of a project have."""
        found = self.call("GET", f"api/projects/{number}/model-versions/")
        return list(found) if isinstance(found, dict) else []

    def forget(self, number: int, version: str) -> None:
        """Predictions of a version that nobody needs any more."""
        self.call("DELETE", f"api/projects/{number}/model-versions/", {"model_version": version})

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """A call with the token, and what it answers."""
        content = self._read(method, path, body)
        try:
            return from_json(content) if content.strip() else None
        except ValueError as error:
            raise RemoteError("Label Studio answered with something that is not JSON: is the address right?") from error

    def download(self, location: str, target: Path) -> None:
        """A file of a task, into `target`; a ValueError says why not."""
        url = self._file_url(location)
        end = time.monotonic() + PICTURE_SECONDS
        size = 0
        with self._stream("GET", url) as response, target.open("wb") as file:
            if response.status_code != 200:
                raise ValueError(f"Label Studio answered {response.status_code} for this file")
            for chunk in response.iter_bytes():
                size += len(chunk)
                if size > MAX_PICTURE_BYTES:
                    raise ValueError(f"larger than {MAX_PICTURE_BYTES} bytes")
                if time.monotonic() > end:
                    raise ValueError(f"Label Studio took more than {PICTURE_SECONDS:.0f} seconds for this file")
                file.write(chunk)

    def _file_url(self, location: str) -> str:
        """Only files of tasks, at this address."""
        try:
            parts = urlsplit(location)
            if parts.netloc and ("@" in parts.netloc or origin_of(location) != origin_of(self._address)):
                raise ValueError(ELSEWHERE)
        except ValueError as error:
            raise ValueError(ELSEWHERE) from error
        path = unquote(parts.path)
        if not path.startswith(FILES) or ".." in path or "\\" in path or bool(parts.scheme) != bool(parts.netloc):
            raise ValueError(ELSEWHERE)
        return self._address + parts.path + (f"?{parts.query}" if parts.query else "")

    def _read(self, method: str, path: str, body: Any = None) -> bytes:
        with self._stream(method, f"{self._address}/{path}", body) as response:
            content = _whole(response)
        if not response.is_success:
            raise RemoteError(_kind(response.status_code), response.status_code, _reason(content))
        return content

    @contextmanager
    def _stream(self, method: str, url: str, body: Any = None) -> Iterator[httpx.Response]:
        headers = {"Authorization": self._authorization()}
        try:
            with self._http.stream(method, url, json=body, headers=headers) as response:
                yield response
        except httpx.HTTPError as error:
            raise RemoteError(f"Label Studio does not answer ({type(error).__name__})") from error
        except RuntimeError as error:  # of a client that was closed
            raise RemoteError("the link was ended") from error

    def _authorization(self) -> str:
        if self._token.count(".") != 2:
            return f"Token {self._token}"
        if time.monotonic() >= self._renew_at:
            try:
                url = f"{self._address}/api/token/refresh/"
                with self._http.stream("POST", url, json={"refresh": self._token}) as answer:
                    found = from_json(_whole(answer)) if answer.is_success else {}
            except httpx.HTTPError as error:
                raise RemoteError(f"Label Studio does not answer ({type(error).__name__})") from error
            except ValueError:
                found = {}
            if not isinstance(found, dict) or not isinstance(found.get("access"), str):
                raise RemoteError("Label Studio does not take this personal access token", answer.status_code)
            self._bearer, self._renew_at = found["access"], time.monotonic() + RENEW
        return f"Bearer {self._bearer}"


def _whole(response: httpx.Response) -> bytes:
    """An answer up to a limit."""
    pieces, size = [], 0
    for piece in response.iter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > MAX_JSON_BYTES:
            raise RemoteError(f"Label Studio answered with more than {MAX_JSON_BYTES} bytes")
    return b"".join(pieces)


def _kind(status: int) -> str:
    """What people can do about a refusal."""
    if 300 <= status < 400:
        return f"Label Studio sent us elsewhere ({status}): give the address that it redirects to"
    return f"Label Studio {KINDS.get(status, 'could not answer')} ({status})"


def _reason(content: bytes) -> str:
    """What Label Studio gives as a reason, if that is short."""
    try:
        found = from_json(content)
    except ValueError:
        return ""
    detail = (found.get("validation_errors") or found.get("detail")) if isinstance(found, dict) else None
    return str(detail)[:500] if detail else ""
