"""Full-domain generalization, optimal over the lattice of levels."""
