"""Level tables, level-coded rows, quantisation (design, section 2)."""

from core.histograms.complement import Complement, split_signs
from core.histograms.histograms import Histograms, code_rows
from core.histograms.levels import LevelTable, Room
from core.histograms.quantise import LevelRule
from core.histograms.raw import RawRows, raw_rows
from core.histograms.rows import CodedRows

__all__ = [
    "CodedRows",
    "Complement",
    "Histograms",
    "LevelRule",
    "LevelTable",
    "RawRows",
    "Room",
    "code_rows",
    "raw_rows",
    "split_signs",
]
