"""Attention of few queries on the CPU: see attention_rows.pyx."""

FORWARD: int  # the addresses of ways, for ``Attention``
GRADIENT: int
