"""Which item to ask about next: scores, and one picker for all of them."""

from core.queries.parts import FirstLook, Near
from core.queries.picking import Ask, Candidates, Pick, choose, pick
from core.queries.scores import STRATEGIES
from core.queries.softmax import SoftmaxPool
from core.queries.state import PoolState

__all__ = [
    "STRATEGIES",
    "Ask",
    "Candidates",
    "FirstLook",
    "Near",
    "Pick",
    "PoolState",
    "SoftmaxPool",
    "choose",
    "pick",
]
