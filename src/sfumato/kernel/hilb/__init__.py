"""Orders and groups along the Hilbert curve, and Anatomy."""
