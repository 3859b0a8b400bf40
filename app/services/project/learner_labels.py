"""The labels of a learner: what differs from those it should have, and how it learns that."""

from collections.abc import Collection, Mapping

from core import OnlineLearner

Labels = dict[int, tuple[str, float]]
"""Class and noise factor (what multiplies the noise of the label) of items."""

Changes = Mapping[int, tuple[str, float] | None]
"""The same, and None for items that have no label any more."""


def label_changes(learner: OnlineLearner, expected: Labels) -> Changes:
    """The changes after which a learner has these labels."""
    known = learner.labelling()
    have = {item: (name, known.noise_factors[item]) for item, name in known.labels.items()}
    gone: Changes = dict.fromkeys(have.keys() - expected.keys())
    return {**gone, **{i: label for i, label in expected.items() if i < len(learner) and have.get(i) != label}}


def apply_changes(learner: OnlineLearner, changes: Changes, drawn: Collection[int] = ()) -> None:
    """First labels all at once, other changes item by item; items it does not have come with the next training."""
    has_label = learner.labels >= 0
    names: dict[int, str] = {}
    noise_factors: dict[int, float] = {}
    for item, label in changes.items():
        if item >= len(learner):
            continue
        if label is not None and not has_label[item]:
            names[item], noise_factors[item] = label
        elif label is not None and label != learner.label_of(item):
            learner.label(item, label[0], noise_factor=label[1])
        elif label is None and has_label[item]:
            learner.retract(item)
    learner.label_many(names, noise_factors, drawn=drawn)
