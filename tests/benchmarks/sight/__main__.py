"""Prints the parts that are named, or all."""

import argparse
import warnings
from functools import partial
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from tests.benchmarks import sight
from tests.benchmarks.sight.channels import channels
from tests.benchmarks.sight.histograms import histograms
from tests.benchmarks.sight.pictures import pictures
from tests.benchmarks.sight.scale import scale
from tests.benchmarks.sight.speed import speed
from tests.benchmarks.sight.stated import stated
from tests.benchmarks.sight.tables import tables, whole_tables
from tests.benchmarks.sight.texts import texts

PARTS = {
    "texts": texts,
    "tables": tables,
    "pictures": pictures,
    "channels": channels,
    "histograms": histograms,
    "scale": scale,
    "speed": speed,
}
LONG = {"stated": stated, "tables-whole": whole_tables}  # only if they are named


def main() -> None:
    """All parts, or those that are named."""
    parser = argparse.ArgumentParser(description=sight.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, *LONG, []], default=[])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", help="the one data set of a part that is to be measured")
    parser.add_argument("--keep", type=Path, help="a file for the runs of long parts: those in it are not run again")
    arguments = parser.parse_args()
    long = {name: partial(part, keep=arguments.keep) for name, part in LONG.items()}
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", "The number of unique classes")
    for part in arguments.parts or PARTS:
        (PARTS | long)[part](arguments.folder, arguments.seeds, arguments.only)


if __name__ == "__main__":
    main()
