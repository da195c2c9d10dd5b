"""The meaning of loop IR: runs a kernel on NumPy buffers.

Serial axes run one index after the other. Lane axes run all at once, as arrays, so a kernel whose lanes are not
independent fails here. Everything is evaluated where it stands, also under a condition that does not hold: what may be
out of bounds must say so itself (loads with a condition). Reading and writing out of bounds is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from umiak.compiler.loop.evaluate import NUMPY, apply
from umiak.compiler.loop.node import Node, replace, var, walk
from umiak.compiler.loop.tree import (
    GLOBAL,
    IN,
    LANE,
    OUT,
    Atomic,
    Axis,
    Barrier,
    Fail,
    If,
    Kernel,
    Loop,
    Reduce,
    Scan,
    Statement,
    Store,
)
