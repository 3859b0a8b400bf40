import subprocess
import sys

import pytest

pytestmark = pytest.mark.jit

USE = """
import numpy as np
from core import GPHIKClassifier, GPHIKForestClassifier, _jit, share_cores
share_cores()
ready = _jit.compile_all()
rng = np.random.default_rng(0)
for shape, levels in (((40, 5), "auto"), ((300, 250), None)):  # narrow and wide codes
    x = rng.random(shape) * (rng.random(shape) < 0.9)
    y = rng.integers(0, 3, len(x))
    for posterior in ("dual", "levels", "iterative") if levels else ("dual", "iterative"):
        for classes in (y, np.zeros_like(y)):
            model = GPHIKClassifier(posterior=posterior, levels=levels).fit(x, classes)
            model.partial_fit(x[:1] * 0.9, classes[:1]).forget([2]).relabel([0], classes[1:2])
            model.predict_proba(x[:3]), model.predict_proba(model.code(x[:3])), model.means(x, quantised=True)
    tuned = GPHIKClassifier(levels=levels, tune="loo", transform="power").fit(x[:60], y[:60])
    tuned.predict_variance(x, method="qrapu")
    if levels:
        GPHIKClassifier(posterior="levels", weights=np.ones(5), tune="loo", tune_weights=True).fit(x, y)
GPHIKForestClassifier(leaf_size=20).fit(x, y).predict(x[:3])
print(ready, _jit.compiled_signatures())
"""


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_compiles_nothing():
    assert run("import core; from core import _jit; print(_jit.compiled_signatures())") == ["0"]


def test_compile_all_is_the_whole_kernel_set():
    """No call needs a signature that was not declared: a container built with compile_all compiles nothing later."""
    ready, used = run(USE)
    assert int(ready) > 20
    assert used == ready
