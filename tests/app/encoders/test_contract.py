import numpy as np
import pytest

from app.encoders import ENCODERS, fit, restore
from core import OnlineLearner, Settings
from tests.app.encoders.pictures import digit_files

RNG = np.random.default_rng(0)
POOLS = {
    "text": [" ".join(RNG.choice(["one", "two", "red", "blue", "fish"], 4)) for _ in range(20)],
    "table": [{"size": str(RNG.integers(9)), "colour": str(RNG.choice(["red", "blue"]))} for _ in range(20)],
    "vectors": list(RNG.normal(size=(20, 3))),
    "sets": [RNG.normal(size=(RNG.integers(1, 6), 2)) for _ in range(20)],
}


@pytest.fixture(params=list(ENCODERS))
def kind(request):
    return request.param


@pytest.fixture
def pool(kind, tmp_path):
    return POOLS[kind] if kind in POOLS else digit_files(tmp_path, 20)[0]


def test_every_encoder_serves_the_learner_with_its_own_settings(kind, pool):
    encoder = fit(kind, pool)
    encoded = encoder.encode(pool)
    assert encoded.good == list(range(20))
    learner = OnlineLearner(Settings(**{"kernel": "auto"} | encoder.settings()), classes=["a", "b"])
    learner.add_items(encoded.table)
    for item in range(6):
        learner.label(item, "ab"[item % 2])
    learner.tune()
    assert np.isfinite(learner.mean).all()
    assert (learner.variance > 0.0).all()


def test_every_encoder_is_the_same_for_the_same_seed_and_after_restoring(kind, pool):
    encoder, same = (fit(kind, pool, seed=5) for _ in range(2))
    again = restore(encoder.state())
    assert encoder.state() == same.state() == again.state()
    assert again.kind == encoder.kind == kind
    assert again.describe() == encoder.describe()
    assert again.describe()["columns"] == encoder.encode(pool).table.shape[1]
    one, two = (np.asarray(e.encode(pool[:7]).table.sum(axis=1)).ravel() for e in (encoder, again))
    assert np.array_equal(one, two)


def test_rows_do_not_depend_on_what_is_encoded_with_them(kind, pool):
    encoder = fit(kind, pool)
    together, alone = encoder.encode(pool).table, encoder.encode(pool[3:4]).table
    difference = together[3:4] - alone
    assert not difference.any() if isinstance(difference, np.ndarray) else difference.nnz == 0
    assert encoder.encode([]).table.shape == (0, together.shape[1])
