import numpy as np
import pytest

from app.services.model.restoring import parameters_of, stored_parameters
from core import OnlineLearner, Settings
from core.learner.record import Labelling
from core.models.parameters import Parameters


@pytest.mark.parametrize(("kernel", "model"), [("hik-exp", {}), (None, {"transform": "exp"})])
def test_trainings_from_before_values_had_a_unit(kernel, model):
    """Their parameters are eta, bias, weight and noise."""
    stored = {"model": model, "kernel": kernel, "decided_at": 4, "theta": [2.0, 0.5, 3.0, 0.1]}
    parameters = parameters_of(stored)
    x = np.random.default_rng(0).random((8, 3))
    settings = Settings(kernel="auto" if kernel else "hik", **model)
    learner = OnlineLearner.build(settings, x, Labelling((), parameters=parameters))
    expected = {"eta": 2.0, "unit": 1.0, "bias": 0.5, "weight[0]": 3.0, "noise": 0.1}
    assert learner._model.hyperparameters == expected


def test_parameters_come_back_from_the_table_of_trainings():
    found = Parameters("rbf", 20, (0.1, 1.0), likelihood="softmax", weighed_at=60, sharpness=0.9)
    assert parameters_of(stored_parameters({}, found)) == found
    before = {"model": {}, "kernel": None, "decided_at": 4, "theta": [0.1]}
    assert (parameters_of(before).likelihood, parameters_of(before).weighed_at) == (None, 0)
