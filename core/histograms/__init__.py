"""Level tables, level-coded rows, quantisation (design, section 2)."""

from core.histograms.chunked import Chunked, blocks_of, pairwise_reduced
from core.histograms.complement import Complement, split_signs
from core.histograms.histograms import Histograms, code_rows
from core.histograms.levels import LevelTable, Room
from core.histograms.quantise import Distinct, LevelRule, distinct_values, levels_of, merged
from core.histograms.raw import RawRows, raw_rows
from core.histograms.rows import Allocate, CodedRows

__all__ = [
    "Allocate",
    "Chunked",
    "CodedRows",
    "Complement",
    "Distinct",
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
    "split_signs",
]
