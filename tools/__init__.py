"""What builds the project: the wheel with compiled kernels."""
