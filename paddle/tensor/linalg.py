"""The functions of the module that has this name in the reference framework; their homes are those below."""
# ruff: noqa: F401, F403

from paddle.tensor.axes import matrix_transpose, permute, t, t_, transpose, transpose_
from paddle.tensor.factorisations import *
from paddle.tensor.low_rank import *
from paddle.tensor.norms import *
from paddle.tensor.products import *
from paddle.tensor.solvers import *
from paddle.tensor.stat import bincount, cdist, corrcoef, cov, dist, histogram, histogram_bin_edges, histogramdd
