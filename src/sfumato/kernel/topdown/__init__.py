"""Top-down refinement: its state, scores and steps, with exact logarithms."""
