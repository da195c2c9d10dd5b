"""The fast path, in Cython: one module per concept, each with a typed stub beside it. Policy lives in Python above."""
