"""Made by ``tools/public_stubs.py``."""

from paddle.nn.initializer.initializers import Assign as Assign
from paddle.nn.initializer.initializers import Bilinear as Bilinear
from paddle.nn.initializer.initializers import Constant as Constant
from paddle.nn.initializer.initializers import Dirac as Dirac
from paddle.nn.initializer.initializers import Initializer as Initializer
from paddle.nn.initializer.initializers import KaimingNormal as KaimingNormal
from paddle.nn.initializer.initializers import KaimingUniform as KaimingUniform
from paddle.nn.initializer.initializers import Normal as Normal
from paddle.nn.initializer.initializers import Orthogonal as Orthogonal
from paddle.nn.initializer.initializers import TruncatedNormal as TruncatedNormal
from paddle.nn.initializer.initializers import Uniform as Uniform
from paddle.nn.initializer.initializers import XavierNormal as XavierNormal
from paddle.nn.initializer.initializers import XavierUniform as XavierUniform
from paddle.nn.initializer.initializers import calculate_gain as calculate_gain
from paddle.nn.initializer.initializers import set_global_initializer as set_global_initializer
from paddle.nn.initializer.older_names import ConstantInitializer as ConstantInitializer
from paddle.nn.initializer.older_names import MSRAInitializer as MSRAInitializer
from paddle.nn.initializer.older_names import NormalInitializer as NormalInitializer
from paddle.nn.initializer.older_names import NumpyArrayInitializer as NumpyArrayInitializer
from paddle.nn.initializer.older_names import TruncatedNormalInitializer as TruncatedNormalInitializer
from paddle.nn.initializer.older_names import UniformInitializer as UniformInitializer
from paddle.nn.initializer.older_names import XavierInitializer as XavierInitializer

__all__ = [
    "Assign",
    "Bilinear",
    "Constant",
    "ConstantInitializer",
    "Dirac",
    "Initializer",
    "KaimingNormal",
    "KaimingUniform",
    "MSRAInitializer",
    "Normal",
    "NormalInitializer",
    "NumpyArrayInitializer",
    "Orthogonal",
    "TruncatedNormal",
    "TruncatedNormalInitializer",
    "Uniform",
    "UniformInitializer",
    "XavierInitializer",
    "XavierNormal",
    "XavierUniform",
    "calculate_gain",
    "set_global_initializer",
]
