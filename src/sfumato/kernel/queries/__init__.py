"""Count queries answered by bitmaps and running sums."""
