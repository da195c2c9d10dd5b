"""Models of built-in functions, operators and types: what each does with simulated values."""
