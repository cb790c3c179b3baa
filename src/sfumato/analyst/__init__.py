"""Who uses a release: one kind of use a file."""
