"""Compare methods on one table: privacy, utility and run time of each, side by side."""
