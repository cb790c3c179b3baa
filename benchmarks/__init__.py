"""Benchmarks, run by ``make bench``; every figure is a ratio measured in one run."""
