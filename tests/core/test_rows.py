"""Every form of rows answers the same questions in the same way."""

import numpy as np
import pytest
import scipy.sparse as sp

from core.histograms import Histograms, raw_rows
from core.kernels import IntersectionKernel, LinearKernel, RBFKernel
from core.linalg import DenseOperator, HistogramOperator, LinearOperator
from core.rows import Size, coded_rows, concatenate, histogram_rows, n_rows, vectors

X = np.array([[0.0, 0.5, 2.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.5, 2.0]])
HISTOGRAMS = Histograms.of(X)
GROUPS = np.zeros(3, dtype=int)
FORMS = {
    "coded": (HISTOGRAMS.rows, HistogramOperator(HISTOGRAMS, IntersectionKernel(np.ones(1), GROUPS, 0.5))),
    "raw": (raw_rows(X), HistogramOperator(HISTOGRAMS, IntersectionKernel(np.ones(1), GROUPS, 0.5))),
    "dense": (X, DenseOperator(X, RBFKernel(np.ones(1), GROUPS, 0.5))),
    "sparse": (sp.csr_array(X), LinearOperator(sp.csr_array(X), LinearKernel(np.ones(1), GROUPS, 0.5))),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_indexed_as_arrays_are(form):
    rows, operator = FORMS[form]
    kernel = operator.cross(rows)  # a column for each row: what is left of the rows shows in the columns
    assert n_rows(rows) == Size.of(rows).rows == len(X)
    for indices in ([3, 0, 0], [2], []):
        some = rows[np.array(indices, dtype=np.int64)]
        assert n_rows(some) == len(indices)
        assert np.allclose(operator.cross(some), kernel[:, indices])
    for first, last in ((0, 4), (1, 3), (2, 2), (3, 1), (-2, 9)):
        assert np.allclose(operator.cross(rows[first:last]), kernel[:, first:last])
    assert np.allclose(operator.cross(rows[::-2]), kernel[:, ::-2])


@pytest.mark.parametrize("form", ["coded", "dense"])
def test_rows_that_are_joined_leave_the_first_as_they_are(form):
    rows, operator = FORMS[form]
    first, second = rows[:1], rows[1:]
    together = concatenate(first, [second, first])
    assert np.allclose(operator.cross(together), operator.cross(rows)[:, [0, 1, 2, 3, 0]])
    assert (n_rows(first), n_rows(second)) == (1, 3)


def test_only_coded_rows_have_a_size_in_codes():
    assert Size.of(HISTOGRAMS.rows) == Size(4, HISTOGRAMS.rows.nnz, coded=True)
    assert Size.of(raw_rows(X)) == Size.of(X) == Size.of(sp.csr_array(X)) == Size(4, 0, coded=False)


def test_rows_of_another_form_are_refused_by_name():
    with pytest.raises(TypeError, match="histogram kernels compare raw or coded rows; got ndarray"):
        histogram_rows(X)
    with pytest.raises(TypeError, match="expected coded rows; got RawRows"):
        coded_rows(raw_rows(X))
    with pytest.raises(TypeError, match="expected dense vectors; got CodedRows"):
        vectors(HISTOGRAMS.rows)
