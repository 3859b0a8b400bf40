"""What wrong decisions cost, for strategies that lower what is expected to be lost."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from core._types import Floats
from core.checks import check_number
from core.classes import Nodes
from core.classes.tree import Loss as TreeLoss

LossName = Literal["log", TreeLoss]
LossRule = LossName | Mapping[Any, Mapping[Any, float]]
"""The log loss; being wrong, a wrong parent, half the path in the tree; or a table {true: {decided: cost}}."""

LOSSES: tuple[str, ...] = get_args(LossName)


def cost_table(loss: LossRule, nodes: Nodes) -> Floats | None:
    """The cost of a decision (column) for each true class (row), M x M; None for the log loss, which decides nothing.

    In a table that is given, a class that is not named for another costs 1, and being right costs nothing.

    >>> nodes = Nodes(("ham", "spam"))
    >>> cost_table("class", nodes).tolist(), cost_table({"ham": {"spam": 9}}, nodes).tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [[0.0, 9.0], [1.0, 0.0]])
    """
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, or a table of costs; got {loss!r}")
        return None if loss == "log" else _named(loss, nodes)
    if not isinstance(loss, Mapping):
        raise ValueError(f"loss must be a name or a table {{true: {{decided: cost}}}}; got {loss!r}")
    table = 1.0 - np.eye(len(nodes.classes))
    for true, costs in loss.items():
        if not isinstance(costs, Mapping):
            raise ValueError(f"the costs of class {true!r} must be a table {{decided: cost}}; got {costs!r}")
        for decided, cost in costs.items():
            table[_class(true, nodes), _class(decided, nodes)] = check_number(
                f"the cost of {decided!r} for {true!r}", cost, positive=False
            )
    return table


def _named(loss: str, nodes: Nodes) -> Floats:
    tree, n = nodes.tree, len(nodes.classes)
    true, decided = np.divmod(np.arange(n * n), n)
    if loss == "class":
        found = true != decided
    elif loss == "parent":
        found = tree.parents[true] != tree.parents[decided]
    else:
        found = tree.distance(true, decided)
    return np.asarray(found, dtype=np.float64).reshape(n, n)


def _class(name: Any, nodes: Nodes) -> int:
    if name not in nodes.classes:
        raise ValueError(f"costs are between classes, which are {', '.join(map(repr, nodes.classes))}; got {name!r}")
    return nodes.classes.index(name)
