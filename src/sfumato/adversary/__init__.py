"""What a release gives away: one kind of knowledge per file."""
