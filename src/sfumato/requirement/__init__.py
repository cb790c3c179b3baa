"""What must hold of a release: one privacy model a file. They judge counts, never frames."""
