"""Variance with selectable precision: upper bounds of the exact one, which posteriors give."""

from core.variance.bounds import (
    BoundName,
    LastBounds,
    PriorVariance,
    VarianceBounds,
    VarianceName,
    variance_by,
    variances_of,
)

__all__ = ["BoundName", "LastBounds", "PriorVariance", "VarianceBounds", "VarianceName", "variance_by", "variances_of"]
