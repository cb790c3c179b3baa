"""The join of several releases, counted by partitions of equal labels and never row by row."""
