"""Random calls of attention and of fused operators by name, against their formulas in NumPy."""
