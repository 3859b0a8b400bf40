"""Work that ends its process; a module of its own, since each process imports it."""

import os


def double_or_die(items):
    if any(item < 0 for item in items):
        os._exit(1)
    return [2 * item for item in items]
