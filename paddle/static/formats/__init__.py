"""Files of programs in the formats of PaddlePaddle: docs/design/saved_models.md."""
