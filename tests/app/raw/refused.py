"""Reads files as imports do; prints what was said of each, and by how many kB the process has grown by then."""

import json
import resource
import sys
import tempfile
from pathlib import Path

import sklearn.datasets  # noqa: F401 - what it takes is not the files'

from app.services.budgets import Budgets
from app.services.imports.archives import Archive
from app.services.imports.feature_files import read_portions
from app.services.imports.raw_items import form_of
from app.services.imports.tables import Lines
from app.services.imports.vectors import Sets, Vectors, holds_sets
from app.services.problems import Invalid


def read(path, raw):
    form = form_of(path)
    if not raw and form != "zip":
        source = read_portions(path, form)
    elif form == "zip":
        source = Archive(path, Path(tempfile.mkdtemp(dir=path.parent)), None).portions()
    elif form in ("csv", "jsonl"):
        source = Lines(path, form, None, ()).portions()
    else:
        sets = form == "npz" and holds_sets(path)
        source = (Sets(path, None) if sets else Vectors(path, form, 1, None)).portions()
    items = 0
    for portion in source:
        items += len(portion.items if hasattr(portion, "items") else portion.rows)
        Budgets().check_items(items)


def said_of(path, raw):
    try:
        read(path, raw)
    except Invalid as problem:
        return problem.detail
    return "all of it was read"


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    before = peak()
    for name in sys.argv[1:]:
        said = [said_of(Path(name), raw) for raw in (False, True)]
        print(json.dumps([said, peak() - before]), flush=True)
