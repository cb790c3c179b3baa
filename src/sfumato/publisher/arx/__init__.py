"""Projects of ARX: read safely, and as a policy."""
