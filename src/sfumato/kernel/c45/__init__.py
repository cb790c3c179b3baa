"""C4.5: trees grown and pruned."""
