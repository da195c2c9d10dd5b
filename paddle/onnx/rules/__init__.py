"""Rules by subject; :mod:`paddle.onnx.table` collects them."""
