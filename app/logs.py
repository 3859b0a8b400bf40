"""Logs: one JSON object a line, with the id of the request."""

import logging
import sys
from contextvars import ContextVar

from pythonjsonlogger.json import JsonFormatter

request_id: ContextVar[str] = ContextVar("request_id", default="-")


class _WithRequest(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request = request_id.get()
        return True


def set_up(level: str) -> None:
    """Everything to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter("{asctime}{levelname}{name}{message}{request}", style="{"))
    handler.addFilter(_WithRequest())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(True)  # of NumPy, for instance: every line is JSON
    for quiet in ("alembic", "httpx"):
        logging.getLogger(quiet).setLevel(logging.WARNING)
