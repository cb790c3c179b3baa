"""The documentation, and what builds and tests it."""
