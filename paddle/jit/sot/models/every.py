"""Every model: what is imported here has registered its own."""

from paddle.jit.sot.models import (
    attributes,
    containers,
    debugging,
    items,
    kinds,
    language,
    layers,
    modes,
    numpy_numbers,
    operators,
    scalars,
    texts,
    truth,
)

EVERY = (
    attributes, containers, debugging, items, kinds, language, layers, modes, numpy_numbers, operators, scalars,
    texts, truth,
)  # fmt: skip
