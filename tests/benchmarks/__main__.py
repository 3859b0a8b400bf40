"""`make bench`: every section in a process of its own, one table.

Speeds are shown as ratios of two things measured in the same run, since the machine may be shared and noisy. The times
of the original C++ implementation are reference points from this kind of machine.
"""

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple
from functools import partial

from tests.benchmarks import (
    cluster,
    compilation,
    encoders,
    forest,
    learning,
    others,
    page,
    prediction,
    service,
    softmax,
    training,
    updates,
)
from tests.benchmarks.rows import Row, measure

SECTIONS: dict[str, list[Callable[[], Iterator[Row]]]] = {
    "compilation": [compilation.kernels],
    "training": [*(partial(training.words, n) for n in training.CPP_SECONDS), training.growth],
    "prediction": [prediction.batch],
    "updates": [
        partial(updates.one_label, 1_500, "dual", "5 ms"),
        partial(updates.one_label, 50_000, "levels", "200 ms"),
        updates.kinds_of_pools,
    ],
    "learning": [learning.variance, learning.tuning, learning.pool, learning.gp_loop],
    "encoders": [encoders.digits, encoders.scenes, encoders.messages],
    "forest": [*(partial(forest.accuracy, name) for name in forest.SETS), forest.behind_a_pool],
    "millions": [forest.millions, forest.streamed, forest.large_pool, service.million],
    "softmax": [softmax.words, softmax.many_classes],
    "cluster": [cluster.large_pool],
    "service": [service.large_pool, service.throughput, service.restart],
    "page": [page.labelling],
    "others": [others.gaussian_process, others.support_vectors],
}
WIDTHS = (66, 34, 42, 22, 16)


def print_row(row: Row) -> None:
    print(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(astuple(row), WIDTHS, strict=True)) + " |",
        flush=True,
    )


def main() -> None:
    chosen = sys.argv[1:] or list(SECTIONS)
    unknown = set(chosen) - set(SECTIONS)
    if unknown:
        sys.exit(f"no section {sorted(unknown)}; there are {list(SECTIONS)}")
    print_row(Row("what", "measured", "compared with", "ratio", "aim"))
    print_row(Row(*("-" * width for width in WIDTHS)))
    for name in chosen:
        for section in SECTIONS[name]:
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(1, mp_context=context) as executor:
                for row in executor.submit(measure, section).result():
                    print_row(row)


if __name__ == "__main__":
    main()
