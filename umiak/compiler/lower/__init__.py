"""Lowering of operations on tensors to nests: see builder.py."""
