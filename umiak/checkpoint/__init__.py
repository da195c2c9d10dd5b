"""Saved tensors: formats, plans and recovery."""
