"""MASK, MASK+ and MASK++."""
