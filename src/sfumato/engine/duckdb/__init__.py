"""Tables of any size on one machine, counted by DuckDB."""
