"""Versions of ONNX's operators that models are exported for."""

OLDEST, NEWEST = 11, 21
