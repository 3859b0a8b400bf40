"""Names that the server makes."""

import secrets
import time


def new_id() -> str:
    """32 hexadecimal digits that sort by the time they were made."""
    return f"{time.time_ns():016x}{secrets.token_hex(8)}"
