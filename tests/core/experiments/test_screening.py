"""Simulated searches, and what is measured of them."""

import numpy as np
import pytest

from core import Settings
from core.experiments.screening import loss, recall_at, screen, work_saved
from core.insight.finding import StopRule

rng = np.random.default_rng(0)
WANTED = np.arange(120) % 8 == 0
X = np.where(WANTED[:, None], [4, 4, 0, 0, 1], [0, 0, 4, 4, 1]) + rng.random((120, 5)) * 2
GIVEN = np.array([0, 1])


def test_measures_by_their_definition():
    flags = rng.random(50) < 0.3
    n, r = len(flags), flags.sum()
    best = np.minimum(np.arange(1, n + 1), r)
    worst = np.maximum(np.arange(1, n + 1) - (n - r), 0)
    area = (best - np.cumsum(flags)).sum() / (best - worst).sum()
    assert loss(flags) == pytest.approx(area)
    assert recall_at(flags, 0.2) == flags[:10].sum() / r
    needed = next(k for k in range(1, n + 1) if flags[:k].sum() >= 0.95 * r)
    assert work_saved(flags) == pytest.approx(0.95 - needed / n)


@pytest.mark.parametrize("batch", [0.0, 0.1])
def test_a_search_ends_when_all_is_found(batch):
    played = screen(X, WANTED, GIVEN, settings=Settings(), batch=batch)
    assert played.recall == 1.0
    assert loss(played.flags) < 0.05
    assert len(played.flags) == 118
    assert played.flags.sum() == WANTED.sum() - 1
    assert not played.search.drawn.any()


def test_a_rule_stops_it_and_draws_only_when_it_has_run_dry():
    played = screen(X, WANTED, GIVEN, settings=Settings(), rule=StopRule(target=0.8, risk=0.2, patience=5))
    search = played.search
    assert played.recall >= 0.8
    assert search.risk(0.8) < 0.2
    assert played.labelled < 1.0
    first = int(np.argmax(search.drawn))
    assert not search.wanted[first - 5 : first].any()


def test_steps_end_where_the_patience_does():
    played = screen(X, WANTED, GIVEN, settings=Settings(), rule=StopRule(0.8, 0.2, patience=5), batch=1.0)
    first = int(np.argmax(played.search.drawn))
    assert played.search.wanted[first - 6 : first].tolist() == [True, False, False, False, False, False]


def test_a_stopped_search_counts_what_it_missed_as_last():
    played = screen(X, WANTED, GIVEN, settings=Settings(), rule=StopRule(target=0.2, risk=0.9, patience=1))
    missed = round((1 - played.recall) * WANTED.sum())
    assert played.flags[len(played.flags) - missed :].all()
    assert len(played.flags) == 118
