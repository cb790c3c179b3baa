"""ART: nearest neighbours and growing groups."""
