"""A model over HTTP: ``python -m paddle.inference.serve MODEL``."""
