"""Every numba kernel, and nothing else: contiguous arrays in, caller-allocated arrays out.

What stands in the arrays is not validated, but no kernel reads or writes outside of them, whatever it is given: it
raises an IndexError. Measured, a gather of one column is faster with its checks, one of ten columns some 5 % slower,
and a scatter of two columns some 10 %.
"""

from core._jit import ahead, coding, counting, factor, moments, products, routing, scores, vectors
from core._jit.compile import compile_all, compiled_signatures

__all__ = [
    "ahead",
    "coding",
    "compile_all",
    "compiled_signatures",
    "counting",
    "factor",
    "moments",
    "products",
    "routing",
    "scores",
    "vectors",
]
