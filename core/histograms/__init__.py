"""Level tables, level-coded rows, quantisation (core/DESIGN.md, section 2)."""

from core.histograms.chunked import Chunked, Engine, blocks_of, pairwise_reduced, reduced
from core.histograms.coded import Allocate, CodedRows
from core.histograms.complement import Complement, split_signs
from core.histograms.histograms import Histograms, code_rows
from core.histograms.level_table import LevelTable, Room
from core.histograms.quantise import FEW_LEVELS, Distinct, LevelRule, distinct_values, levels_of, merged
from core.histograms.raw import RawRows, raw_rows

__all__ = [
    "FEW_LEVELS",
    "Allocate",
    "Chunked",
    "CodedRows",
    "Complement",
    "Distinct",
    "Engine",
    "Histograms",
    "LevelRule",
    "LevelTable",
    "RawRows",
    "Room",
    "blocks_of",
    "code_rows",
    "distinct_values",
    "levels_of",
    "merged",
    "pairwise_reduced",
    "raw_rows",
    "reduced",
    "split_signs",
]
