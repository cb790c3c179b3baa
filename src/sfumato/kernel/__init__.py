"""Numba on arrays: group, judge, partition, summarize. Knows no word of the domain."""
