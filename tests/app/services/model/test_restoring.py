import numpy as np
import pytest

from app.services.model.restoring import ReadAgain, parameters_of, stored_parameters
from app.services.model.training import is_due, train
from app.services.project.catalogue import ChangeProject
from app.services.runtime.jobs import Progress
from core import OnlineLearner, Settings
from core.learner.record import Labelling
from core.models.parameters import Parameters
from tests.app.services.projects import answers, open_project, service_in


@pytest.mark.parametrize(("kernel", "model"), [("hik-exp", {}), (None, {"transform": "exp"})])
def test_trainings_from_before_values_had_a_unit(kernel, model):
    """Their parameters are eta, bias, weight and noise."""
    stored = {"model": model, "kernel": kernel, "kernel_chosen_at": 4, "theta": [2.0, 0.5, 3.0, 0.1]}
    parameters = parameters_of(stored)
    x = np.random.default_rng(0).random((8, 3))
    settings = Settings(kernel="auto" if kernel else "hik", **model)
    learner = OnlineLearner.build(settings, x, Labelling((), parameters=parameters))
    expected = {"eta": 2.0, "unit": 1.0, "bias": 0.5, "weight[0]": 3.0, "noise": 0.1}
    assert learner._model.hyperparameters == expected


def test_parameters_come_back_from_the_table_of_trainings():
    found = Parameters("rbf", 20, (0.1, 1.0), likelihood="softmax", likelihood_chosen_at=60, sharpness=0.9)
    assert parameters_of(stored_parameters({}, found)) == found
    before = {"model": {}, "kernel": None, "decided_at": 4, "theta": [0.1]}
    assert parameters_of(before) == Parameters(None, 4, (0.1,))


def test_parameters_were_stored_under_other_names_before():
    found = Parameters(kernel_chosen_at=20, model="forest", model_chosen_at=40, likelihood_chosen_at=60)
    stored = stored_parameters({}, found)
    stored["decided_at"], stored["weighed_at"] = stored.pop("kernel_chosen_at"), stored.pop("likelihood_chosen_at")
    stored["forest"]["compared_at"] = stored["forest"].pop("model_chosen_at")
    assert parameters_of(stored) == found


def test_a_training_of_another_model_counts_for_nothing(tmp_path):
    with service_in(tmp_path) as service:
        running = open_project(service)
        project, writer = running.project, running.writer
        writer.do(answers(running, "ann", **{f"i{i}": "abc"[i % 3] for i in range(12)}))
        train(project, writer, Progress(service.database, "none"), tune=False)
        for noise, trained in ((0.5, 0), (0.1, 12)):
            writer.do(ChangeProject(project, None, {"noise": noise}, None))
            writer.do(ReadAgain(project, tmp_path / "nowhere"))
            assert (project.trained_labels, is_due(project)) == (trained, trained == 0)
