"""Benchmarks: run by themselves with ``make bench``; every figure is a ratio taken in one run."""
