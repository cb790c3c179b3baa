"""ART: groups against worst-case background knowledge."""
