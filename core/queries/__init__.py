"""Which item to ask about next: scores, and one picker for all of them."""

from core.queries.picking import Pick, pick
from core.queries.scores import STRATEGIES
from core.queries.softmax import SoftmaxPool
from core.queries.state import PoolState

__all__ = ["STRATEGIES", "Pick", "PoolState", "SoftmaxPool", "pick"]
