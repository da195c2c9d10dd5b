"""The functions of the module that has this name in the reference framework; their homes are those below."""
# ruff: noqa: F401, F403

from paddle.framework.parameter import create_parameter
from paddle.tensor.array import create_tensor
from paddle.tensor.buffers import MmapStorage
from paddle.tensor.complex_numbers import complex, polar
from paddle.tensor.diagonals import diag, diag_embed, diagflat
from paddle.tensor.filled import *
from paddle.tensor.from_data import *
from paddle.tensor.grids import *
from paddle.tensor.inplace import resize_, set_
from paddle.tensor.random import cauchy_, geometric_
from paddle.tensor.ranges import *
from paddle.tensor.splitting import split_with_sizes
from paddle.tensor.triangles import *
from paddle.tensor.typed_tensors import *
