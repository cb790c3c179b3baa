"""Top-down refinement (TDR) and confidence bounding (TDD)."""
