import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from core import GPHIKClassifier, GPHIKForestClassifier

pytestmark = pytest.mark.jit

NEGATIVE = {"check_decision_proba_consistency": "feeds negative values whatever the positive_only tag says"}
VARIANCE = {"check_decision_proba_consistency": "probabilities depend on the variance too, so they rank differently"}


def checks():
    for settings, expected in [
        ({}, NEGATIVE),
        ({"posterior": "levels"}, NEGATIVE),
        ({"posterior": "iterative"}, NEGATIVE),
        ({"complement": True}, VARIANCE),
        ({"split": True}, VARIANCE),
        ({"kernel": "rbf"}, VARIANCE),
        ({"kernel": "linear"}, {}),
        ({"likelihood": "softmax"}, NEGATIVE),
        ({"likelihood": "softmax", "kernel": "linear"}, {}),
        ({"likelihood": "softmax", "kernel": "rbf"}, {}),
    ]:
        yield from estimator_checks_generator(GPHIKClassifier(**settings), expected_failed_checks=expected, mark="skip")
    for settings in ({}, {"leaf_size": 5}, {"kernel": "hik"}):
        yield from estimator_checks_generator(GPHIKForestClassifier(n_trees=2, **settings), mark="skip")


@pytest.mark.filterwarnings("ignore")  # the checks themselves warn
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_check_estimator(estimator, check):
    check(estimator)


def test_it_is_no_transformer():
    assert not hasattr(GPHIKClassifier(transform="power"), "transform")
