"""Algorithms that turn microdata and a requirement into a release: one per file."""
