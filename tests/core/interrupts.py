"""Operations that are cut off: by an interrupt at any line of core, or by memory that is refused."""

import os
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import core

TORTURE = os.environ.get("ASKNEXT_TORTURE") == "1"
CORE = str(Path(core.__file__).parent)
# What makes arrays: numpy's own functions, as core, scipy and scikit-learn call them.
ALLOCATING = (
    *("array", "asarray", "ascontiguousarray", "empty", "empty_like", "zeros", "zeros_like", "ones", "full", "arange"),
    *("concatenate", "stack", "vstack", "column_stack", "append", "delete", "where", "unique", "einsum"),
)


@contextmanager
def reaching(step, act):
    """Call `act` before the line of core with this number, in the order they are run; yields a counter."""
    told = [0]

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(CORE):
            return None
        if event == "line":
            told[0] += 1
            if told[0] == step:
                act()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield told
    finally:
        sys.settrace(before)


def interrupted_at(step):
    """KeyboardInterrupt before the line of core with this number; yields a counter."""

    def interrupt():
        raise KeyboardInterrupt

    return reaching(step, interrupt)


@contextmanager
def refused_at(step):
    """MemoryError from the call with this number of a function that makes arrays; yields a counter.

    Only calls of this thread count: servers that other tests share with this process make arrays, too.
    """
    told, known, here = [0], {name: getattr(np, name) for name in ALLOCATING}, threading.get_ident()

    def refusing(function):
        def call(*args, **kwargs):
            if threading.get_ident() == here:
                told[0] += 1
                if told[0] == step:
                    raise MemoryError(f"no room for {function.__name__}")
            return function(*args, **kwargs)

        return call

    try:
        for name, function in known.items():
            setattr(np, name, refusing(function))
        yield told
    finally:
        for name, function in known.items():
            setattr(np, name, function)


def places(total, few, seed=0):
    """The numbers of the steps to be cut off at: first and last, and some between; all of them in torture."""
    if TORTURE or total <= few:
        return list(range(1, total + 1))
    between = np.random.default_rng(seed).choice(np.arange(2, total), few - 2, replace=False)
    return sorted({1, total, *between.tolist()})
