"""Benchmarks, run by ``make bench``; every figure is a ratio measured in one run."""

import os

# As the commands set it: after a large product, a thread of BLAS spins for .1 s, on the core of what is measured next.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
