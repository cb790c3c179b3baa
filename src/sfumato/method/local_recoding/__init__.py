"""Local recoding: each group shows one node of the taxonomy per attribute."""
