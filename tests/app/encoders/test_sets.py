import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from app.encoders import fit, restore
from core import GPHIKClassifier


def intersection(a, b):
    """Row by row, by the definition."""
    a, b = a.toarray(), b.toarray()
    return np.array([[np.minimum(x, y).sum() for y in b] for x in a])


def counts(bins):
    return {key: bins.count(key) for key in set(bins)}


def pyramid_match(levels, bins_of, weight_of, a, b):
    """Kapoor2010, section 5, as it is written: new matches at each level, finest first, times the weight of the bin.

    `bins_of(points)` lists for each level, finest first, the bin of each point.
    """
    total = 0.0
    fine_a, fine_b = bins_of(a), bins_of(b)
    for level in range(levels):
        here = counts(fine_a[level]), counts(fine_b[level])
        for key in here[0].keys() & here[1].keys():
            matched = min(here[0][key], here[1][key])
            if level:
                inside = {fine_a[level - 1][i] for i in range(len(a)) if fine_a[level][i] == key}
                finer = counts(fine_a[level - 1]), counts(fine_b[level - 1])
                matched -= sum(min(finer[0][part], finer[1].get(part, 0)) for part in inside)
            total += weight_of(level, key) * matched
    return total


def grid_bins(low, high, levels):
    """Cells of side 1/2^(levels - 1), then of twice the side at each level."""

    def bins_of(points):
        shares = (points - low) / np.where(high > low, high - low, 1.0)
        return [
            [tuple(min(int(s * 2 ** (levels - 1 - i)), 2 ** (levels - 1 - i) - 1) for s in p) for p in shares]
            for i in range(levels)
        ]

    return bins_of


SETS = st.integers(1, 3).flatmap(
    lambda d: st.lists(
        hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.just(d)), elements=st.integers(-8, 8).map(float)),
        min_size=1,
        max_size=5,
    )
)


@settings(max_examples=60, deadline=None)
@given(SETS, st.integers(1, 5))
def test_intersection_of_grids_is_the_pyramid_match_kernel(sets, levels):
    encoder = fit("sets", sets, {"pyramid": "uniform", "levels": levels})
    table = encoder.encode(sets).table
    points = np.concatenate(sets)
    bins_of = grid_bins(points.min(axis=0), points.max(axis=0), levels)
    direct = [[pyramid_match(levels, bins_of, lambda i, _: 0.5**i, a, b) for b in sets] for a in sets]
    assert intersection(table, table) == pytest.approx(np.array(direct))
    assert np.asarray(table.sum(axis=1)).ravel() == pytest.approx([len(s) for s in sets])  # all match themselves


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 4), st.integers(2, 4))
def test_intersection_of_vocabularies_is_the_pyramid_match_kernel(seed, levels, branches):
    rng = np.random.default_rng(seed)
    sets = [rng.normal(size=(rng.integers(1, 7), 5)) for _ in range(5)]
    encoder = fit("sets", sets, {"pyramid": "vocabulary", "levels": levels, "branches": branches})
    pyramid = encoder.pyramid

    def bins_of(points):  # a node that stays at deeper levels is another bin there
        return [[(level, int(b)) for b in bins[:, 0]] for level, bins in enumerate(pyramid.bins(points))][::-1]

    table = encoder.encode(sets).table
    direct = [[pyramid_match(levels, bins_of, lambda _, b: pyramid.weight[b[1]], a, b) for b in sets] for a in sets]
    assert intersection(table, table) == pytest.approx(np.array(direct))
    assert encoder.weights.min() > 0.0


def test_new_sets_match_those_of_the_pool_exactly():
    rng = np.random.default_rng(0)
    pool, new = [[rng.random((8, 2)) for _ in range(6)] for _ in range(2)]
    encoder = fit("sets", pool, {"levels": 6})
    points = np.concatenate(pool)
    low, high = points.min(axis=0), points.max(axis=0)
    bins_of = grid_bins(low, high, 6)
    clipped = [np.clip(s, low, high) for s in new]
    direct = [[pyramid_match(6, bins_of, lambda i, _: 0.5**i, a, b) for b in pool] for a in clipped]
    assert intersection(encoder.encode(new).table, encoder.encode(pool).table) == pytest.approx(np.array(direct))


@pytest.mark.parametrize("pyramid", ["uniform", "vocabulary"])
def test_the_model_learns_with_exactly_this_kernel(pyramid):
    rng = np.random.default_rng(1)
    labels = np.arange(40) % 2
    sets = [rng.normal(label, 1.0, size=(rng.integers(3, 12), 2)) for label in labels]
    encoder = fit("sets", sets, {"pyramid": pyramid})
    table = encoder.encode(sets).table
    model = GPHIKClassifier(noise=0.5, bias=0.0, levels=None, **encoder.settings()).fit(table[:30], labels[:30])
    kernel = intersection(table, table[:30])
    targets = 2.0 * labels[:30] - 1.0
    means = kernel[30:] @ np.linalg.solve(kernel[:30] + 0.5 * np.eye(30), targets)
    assert model.means(table[30:])[:, 1] == pytest.approx(means, abs=1e-8)
    assert model.score(table[30:], labels[30:]) >= 0.8


@pytest.mark.parametrize("pyramid", ["uniform", "vocabulary"])
def test_a_restored_pyramid_gives_the_same_rows(pyramid):
    sets = [np.random.default_rng(i).normal(size=(4, 3)) for i in range(8)]
    encoder, same = (fit("sets", sets, {"pyramid": pyramid}, seed=2) for _ in range(2))
    again = restore(encoder.state())
    assert again.state() == encoder.state() == same.state()
    assert (again.encode(sets).table != encoder.encode(sets).table).nnz == 0
    assert again.describe()["pyramid"] == pyramid


def test_normalised_sets_match_themselves_with_one():
    sets = [np.ones((n, 2)) * n for n in (1, 5)]
    table = fit("sets", sets, {"normalise": True}).encode(sets).table
    assert np.asarray(table.sum(axis=1)).ravel() == pytest.approx([1.0, 1.0])


def test_what_is_no_set_is_broken():
    encoder = fit("sets", [np.eye(2), "text"])
    encoded = encoder.encode(
        [np.eye(3), np.eye(2), np.ones(2), np.full((1, 2), np.nan), np.empty((0, 2)), [[1], [1, 2]]]
    )
    assert encoded.good == [1]
    assert encoded.broken[0] == "expected vectors of 2 numbers, got 3"
    assert encoded.broken[3] == "every number must be finite"
    assert {encoded.broken[place] for place in (2, 4, 5)} == {"expected a list of vectors of the same length"}
    with pytest.raises(ValueError, match="none of the 1 items is a set"):
        fit("sets", [np.ones(3)])
