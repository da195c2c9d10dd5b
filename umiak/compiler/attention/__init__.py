"""Attention as kernels of the loop IR, for devices of many threads: tiles that a mask leaves, listed and walked."""
