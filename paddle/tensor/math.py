"""The functions of the module that has this name in the reference framework; their homes are those below."""
# ruff: noqa: F401, F403

from paddle.tensor.arithmetic import *
from paddle.tensor.complex_numbers import *
from paddle.tensor.exponents import *
from paddle.tensor.extrema import *
from paddle.tensor.gathering import multiplex, take
from paddle.tensor.grids import cartesian_prod, combinations, vander
from paddle.tensor.integers import *
from paddle.tensor.logic import isin
from paddle.tensor.norms import *
from paddle.tensor.predicates import *
from paddle.tensor.products import *
from paddle.tensor.reductions import *
from paddle.tensor.rounding import *
from paddle.tensor.scans import *
from paddle.tensor.sequences import *
from paddle.tensor.solvers import inverse
from paddle.tensor.special import *
from paddle.tensor.trigonometry import *
