import numpy as np

from core.queries.draws import EXPLORED, RANDOM, TIES, drawn


def test_numbers_are_uniform_and_belong_to_seed_purpose_and_item():
    items = np.arange(20_000)
    found = drawn(7, TIES, items)
    assert found.min() >= 0.0
    assert found.max() < 1.0
    counts = np.bincount((10 * found).astype(int), minlength=10)
    assert np.abs(counts - 2_000).max() < 250  # six deviations
    assert len(np.unique(found)) == len(items)
    assert np.array_equal(drawn(7, TIES, items[::-1]), found[::-1])
    for other in (drawn(8, TIES, items), drawn(7, RANDOM, items), drawn(7, EXPLORED, items)):
        assert abs(np.corrcoef(found, other)[0, 1]) < 0.05
