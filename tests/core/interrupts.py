"""Operations that are cut off: by an interrupt at any line of core, or by memory that is refused."""

import os
import signal
import sys
import threading
import traceback
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np

import core

TORTURE = os.environ.get("ASKNEXT_TORTURE") == "1"
MOST = 300  # steps that a run is cut off at in torture
EARLY = 4_000  # steps that are reached sooner than a process is copied
DEEP = 2  # calls, from the innermost, that tell ways to a step apart
CORE = str(Path(core.__file__).parent)
# What makes arrays: numpy's own functions, as core, scipy and scikit-learn call them.
ALLOCATING = (
    *("array", "asarray", "ascontiguousarray", "empty", "empty_like", "zeros", "zeros_like", "ones", "full", "arange"),
    *("concatenate", "stack", "vstack", "column_stack", "append", "delete", "where", "unique", "einsum"),
)


@contextmanager
def at_lines(steps, act):
    """Call `act` before the lines of core with these numbers, in the order they are run; yields a counter."""
    told, due = [0], iter(steps)
    awaited = next(due, 0)

    def trace(frame, event, _):
        nonlocal awaited
        if not frame.f_code.co_filename.startswith(CORE):
            return None
        if event == "line":
            told[0] += 1
            if told[0] == awaited:
                awaited = next(due, 0)
                act()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield told
    finally:
        sys.settrace(before)


@contextmanager
def at_arrays(steps, act):
    """Call `act` before the calls with these numbers of functions that make arrays; yields a counter.

    Only calls of this thread count: servers that other tests share with this process make arrays, too.
    """
    told, due = [0], iter(steps)
    awaited = next(due, 0)
    known, here = {name: getattr(np, name) for name in ALLOCATING}, threading.get_ident()

    def watched(function):
        def call(*args, **kwargs):
            nonlocal awaited
            if threading.get_ident() == here:
                told[0] += 1
                if told[0] == awaited:
                    awaited = next(due, 0)
                    act()
            return function(*args, **kwargs)

        return call

    try:
        for name, function in known.items():
            setattr(np, name, watched(function))
        yield told
    finally:
        for name, function in known.items():
            setattr(np, name, function)


def raising(error):
    def act():
        raise error

    return act


def is_from(found, error):
    """Whether it is such an error, or was raised because of one: scipy calls an index that got no memory invalid."""
    while found is not None and not isinstance(found, error):
        found = found.__cause__
    return found is not None


def counted(run):
    """How many lines of core are run, and how many arrays are made."""
    with at_lines((), None) as lines, at_arrays((), None) as arrays:
        run()
    return lines[0], arrays[0]


def cut_off_in_copies(at, steps, error, run, check):
    """Cut off a run at each of these steps, each time in a copy of this process, which then checks what is left.

    The run itself goes on to its end, and is made once: a copy costs some 20 ms, however long the run has been.
    """
    here, reached, failed, found = os.getpid(), [], [], None

    def copy():
        if os.getpid() != here:  # a copy is cut off once, not again while it puts things back
            return
        child = os.fork()
        if child == 0:
            signal.alarm(120)  # whatever hangs
            raise error
        reached.append(told[0])
        if os.waitpid(child, 0)[1] != 0:
            failed.append(told[0])

    try:
        with at(steps, copy) as told:
            run()
    except BaseException as raised:
        found = raised
    if os.getpid() != here:
        _end_copy(check if is_from(found, error) else raising(found or AssertionError("the error was swallowed")))
    if found is not None:
        raise found
    assert reached == steps
    assert not failed, f"at the steps {failed}: stderr tells what"


def _end_copy(check):
    """Nothing behind it is run, and this process takes nothing away from the one it is a copy of."""
    status = 1
    try:
        check()
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def places(total, few):
    """The numbers of the steps to be cut off at: first, last and some between."""
    if total <= few:
        return list(range(1, total + 1))
    between = np.random.default_rng(0).choice(np.arange(2, total), few - 2, replace=False)
    return sorted({1, total, *between.tolist()})


def ways(at, run, total):
    """Steps of a run that stand for all: the first and the last time that each way is gone, or a sample of these.

    A way is the line, and the line that called its function. Searches go the same ways hundreds of times. Runs of
    other lengths have other samples, so that few ways are in none.
    """
    first, last, told = {}, {}, count(1)

    def look():
        frame, way, step = sys._getframe(2), [], next(told)
        while frame is not None and len(way) < 2 * DEEP:
            way += (frame.f_code, frame.f_lineno)
            frame = frame.f_back
        last[tuple(way)] = step
        first.setdefault(tuple(way), step)

    with at(count(1), look):
        run()
    steps = sorted({*first.values(), *last.values()})
    return sorted(np.random.default_rng(total).permutation(steps)[:MOST].tolist())
