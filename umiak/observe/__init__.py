"""Observation of a run: profiles of ops, kernels and ranges, tables and traces of them, counts of work."""
