"""L5: many threads that score at once get what one gets."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np

from core import OnlineLearner, Settings
from tests.app.live import in_thread
from tests.app.reliability.people import Site, done
from tests.app.reliability.servers import scaled

THREADS = 16
TIMES = scaled(3, 1000)
REQUESTS = THREADS * scaled(3, 100)


def test_projects_score_side_by_side(sqlite_url, tmp_path):
    """Each project has a writer of its own, so that kernels run at the same time."""
    with in_thread(sqlite_url, tmp_path / "data") as (address, _), ExitStack() as stack:
        sites = [stack.enter_context(Site(address, 200, 1, retrain="off", kernel=kernel)) for kernel in ("hik", "rbf")]
        sites += [stack.enter_context(Site(address, 200, 1, retrain="off", kernel="linear"))]
        for site in sites:
            for n in range(30):
                done(site.post(site.people[0], f"{n}", site.keys[n], site.label_of(site.keys[n])))

        def score(site):
            return done(site.admin.post(f"{site.path}/predict", json={"features": site.features[:50].tolist()}))

        serial = [score(site) for site in sites]
        with ThreadPoolExecutor(THREADS) as threads:
            work = [n % len(sites) for n in range(REQUESTS)]
            answers = list(threads.map(lambda n: score(sites[n]), work))
        assert all(answer == serial[n] for n, answer in zip(work, answers, strict=True))


def test_one_model_in_many_threads():
    """Large enough for kernels that use all cores."""
    rng = np.random.default_rng(3)
    x = rng.dirichlet(np.ones(30), 1500)
    learner = OnlineLearner(Settings(kernel="hik", noise=0.1), ["a", "b"])
    learner.add_items(x[:1000])
    learner.label_many({item: "ab"[int(x[item, 0] > x[item, 1])] for item in range(100)})
    mean, variance = learner.moments(x)
    with ThreadPoolExecutor(THREADS) as threads:
        for other in threads.map(lambda _: learner.moments(x), range(THREADS * TIMES)):
            assert np.array_equal(other[0], mean)
            assert np.array_equal(other[1], variance)
