"""What a run does, made visible: recordings of ops, kernels and ranges, tables and traces of them, counts of work."""
