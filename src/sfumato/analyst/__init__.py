"""What a release is used for: one kind of use per file."""
