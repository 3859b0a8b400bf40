"""What both estimators share with scikit-learn's."""

import warnings
from collections.abc import Iterable
from functools import reduce
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from core._types import Table
from core.drafts import Drafted
from core.linalg import AtBound, KernelError, Operator, SumOperator, kernel_error
from core.settings import KernelRule
from core.tables import AnyReader, ChannelReader, Reader


class HiddenParameters(Drafted, BaseEstimator):  # type: ignore[misc]
    """An estimator whose arguments `transform` and `tune` are kept under other names.

    The attribute `tune` is a method, and scikit-learn takes whatever has an attribute `transform` for a transformer.
    """

    kernel: KernelRule
    complement: bool
    split: bool

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The constructor's arguments."""
        return {name: getattr(self, _attribute(name)) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments; they take effect at the next fit."""
        unknown = set(params) - set(self._get_param_names())
        if unknown:
            raise ValueError(f"unknown parameters {sorted(unknown)}; there are {self._get_param_names()}")
        self.__dict__.update({_attribute(name): value for name, value in params.items()})
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.kernel == "hik" and not (self.complement or self.split)
        return tags

    def _warn(self, at_bounds: Iterable[AtBound]) -> None:
        """Of searches that ended at a bound."""
        for one in at_bounds:
            warnings.warn(f"{one}; beyond it there may be a better one", ConvergenceWarning, stacklevel=4)


def _attribute(parameter: str) -> str:
    return f"_{parameter}" if parameter in ("transform", "tune") else parameter


def read_error(reader: AnyReader, x: Table, operator: Operator) -> KernelError:
    """What quantisation did to the kernel of a table; the worst of the channels of a sum."""
    if isinstance(reader, ChannelReader) and isinstance(operator, SumOperator):
        parts = zip(reader.columns, reader.readers, operator.channels, strict=True)
        found = [read_error(own, columns.of(x), channel) for columns, own, channel in parts]
        return reduce(KernelError.worse, found)
    assert isinstance(reader, Reader)
    return kernel_error(reader.coded(x), operator)
