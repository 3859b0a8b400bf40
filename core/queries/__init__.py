"""Which item to ask about next: scores, and one picker for all of them."""

from core.models.state import PoolState
from core.queries.looks import Looks
from core.queries.parts import FirstLook, Near
from core.queries.picking import Ask, Candidates, Pick, choose, pick
from core.queries.plugins import every_strategy
from core.queries.start import predict_each_other
from core.queries.strategies import STRATEGIES, Strategy

__all__ = [
    "STRATEGIES",
    "Ask",
    "Candidates",
    "FirstLook",
    "Looks",
    "Near",
    "Pick",
    "PoolState",
    "Strategy",
    "choose",
    "every_strategy",
    "pick",
    "predict_each_other",
]
