"""The steward's private report: what was published, what it gives away and what was lost."""
