"""Disjoint boxes of PG, how much of one lies in another, and trees learned from its releases."""
