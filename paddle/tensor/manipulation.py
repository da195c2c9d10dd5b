"""The functions of the module that has this name in the reference framework; their homes are those below."""
# ruff: noqa: F401, F403

from paddle.tensor.array import tensor_array_to_tensor
from paddle.tensor.axes import *
from paddle.tensor.casting import *
from paddle.tensor.diagonals import *
from paddle.tensor.gathering import *
from paddle.tensor.inplace import fill_, fill_diagonal_, fill_diagonal_tensor_, zero_
from paddle.tensor.joining import *
from paddle.tensor.masking import *
from paddle.tensor.products import tensordot
from paddle.tensor.reordering import *
from paddle.tensor.repeating import *
from paddle.tensor.scattering import *
from paddle.tensor.search import unique, unique_consecutive
from paddle.tensor.shapes import *
from paddle.tensor.slicing import *
from paddle.tensor.splitting import *
from paddle.tensor.to_python import tolist
from paddle.tensor.views import *
