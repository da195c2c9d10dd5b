"""Our ops in the operators of PaddlePaddle, by subject: docs/design/saved_models.md."""
