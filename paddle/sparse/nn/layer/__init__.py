"""Layers over sparse tensors, by family."""
