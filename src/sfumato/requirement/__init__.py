"""What must hold of a release: one privacy model per file. They judge counts, never frames."""
