"""How people are shown: one class per scheme."""
