import numba
from hypothesis import settings

settings.register_profile("compiled", deadline=None, max_examples=60)
settings.register_profile("interpreted", deadline=None, max_examples=15)
settings.load_profile("interpreted" if numba.config.DISABLE_JIT else "compiled")
