"""Meanings of the operators of PaddlePaddle's programs, by subject, as calls of the public API (``table.TABLE``)."""

# They enter their operators.
from paddle.static.formats.operators import (
    activations,
    attention,
    buffers,
    convolution,
    creation,
    detection,
    elementwise,
    labels,
    losses,
    manipulation,
    norms,
    older_detection,
    older_layers,
    products,
    quantisation,
    randomness,
    recurrent,
    reductions,
    search,
    sequence_cells,
    sequences,
    serving,
    signals,
)
