"""Random objects through ``paddle.save`` and ``paddle.load``: ``python -m tests.fuzz.objects 0 300`` saves those of 300
seeds.

A seed gives lines that make objects of earlier ones, so that parts are shared: containers, tensors and arrays of many
dtypes, plain objects of the standard library, states of layers and optimizers. They are saved in each protocol, to
files and streams, in static mode, in the background while tensors go on, and read as tensors or arrays. The judge is a
walk over both, which compares types, values, names, order, and which objects are one.
"""

from __future__ import annotations

from tests.fuzz.objects.check import WAYS, check, reduced
from tests.fuzz.seeds import run_seeds

run_seeds(__doc__, WAYS, check, reduced)
