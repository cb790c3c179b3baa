"""Numba on arrays: group, judge, partition, summarize. Domain-free: it knows nothing about privacy."""
