"""Variance with selectable precision: upper bounds of the exact one, which posteriors give."""

from core.variance.bounds import BoundName, VarianceBounds

__all__ = ["BoundName", "VarianceBounds"]
