"""Every numba kernel, and nothing else: contiguous arrays in, caller-allocated arrays out, no validation."""

from core._jit import coding, counting, factor, moments, products, routing, scores
from core._jit.compile import compile_all, compiled_signatures

__all__ = [
    "coding",
    "compile_all",
    "compiled_signatures",
    "counting",
    "factor",
    "moments",
    "products",
    "routing",
    "scores",
]
