"""Products of a few rows by a matrix that is read once; for other modules in Cython."""
