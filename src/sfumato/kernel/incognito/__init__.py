"""Counting on the nodes of a lattice of levels."""
