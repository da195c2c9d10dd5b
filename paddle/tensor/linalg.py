"""The functions of the module that has this name in the reference framework; their homes are those below."""
# ruff: noqa: F403

from paddle.tensor.factorisations import *
from paddle.tensor.low_rank import *
from paddle.tensor.norms import *
from paddle.tensor.products import *
from paddle.tensor.solvers import *
