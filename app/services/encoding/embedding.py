"""Pretrained models in the service: which are taken by themselves, and the process that keeps one for requests."""

import threading
import time
from collections.abc import Sequence

from app.encoders import Encoded, Kind, Raw
from app.encoders.pretrained import AUTO, check_installed
from app.services.encoding.process import EncodingFailed, EncodingProcess, joined

IDLE = 600.0  # seconds after which the process is ended: a model takes some hundred megabytes
PORTION = 64  # items, after which others have their turn


class PretrainedModels:
    """One process for the requests of all projects: the service itself never loads a model, nor what it needs."""

    def __init__(self, text: str | None = None, image: str | None = None, *, downloads: bool = False) -> None:
        for model in (text, image):
            if model is not None:
                check_installed(model)
        self._own: dict[Kind, str | None] = {"text": text, "image": image}
        self.downloads = downloads
        self._process: EncodingProcess | None = None
        self._state = b""
        self._used_at = 0.0
        self._lock = threading.Lock()

    def default(self, kind: Kind) -> str:
        """The model of a project that names none."""
        return self._own.get(kind) or AUTO

    def encode(self, state: bytes, raws: Sequence[Raw]) -> Encoded:
        """Rows of a few raw items by the encoder whose state this is; a ValueError where its model is not there."""
        encoded = self._encode(state, raws[:PORTION])
        for first in range(PORTION, len(raws), PORTION):
            encoded = joined(encoded, self._encode(state, raws[first : first + PORTION]), first)
        return encoded

    def _encode(self, state: bytes, raws: Sequence[Raw]) -> Encoded:
        with self._lock:
            try:
                if self._process is not None and not self._process.is_alive:
                    self._end()
                if self._process is None:
                    self._process = EncodingProcess("text", downloads=self.downloads, daemon=True)
                if self._state != state:
                    self._process.load(state)
                    self._state = state
                return self._process.encode(raws, lambda _: None)
            except EncodingFailed:
                self._end()
                raise
            finally:
                self._used_at = time.monotonic()

    def end_idle(self) -> None:
        """End the process if nobody has needed it for long."""
        if time.monotonic() > self._used_at + IDLE and self._lock.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._lock.release()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.close()
        self._process, self._state = None, b""
