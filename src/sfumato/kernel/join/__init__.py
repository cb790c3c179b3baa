"""Groups of a join, counted from the partitions of its sides; and a refinement that is judged by them."""
