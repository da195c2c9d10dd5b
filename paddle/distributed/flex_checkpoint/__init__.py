"""Checkpoints that survive any change of layout. See docs/guide/checkpoints.md."""
