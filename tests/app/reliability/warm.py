"""Imported by the process that forks servers: kernels are compiled before the fork."""

from core import compile_all

compile_all()
