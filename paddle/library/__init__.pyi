"""Made by ``tools/public_stubs.py``."""

from paddle.library.custom_op import CustomOpDef as CustomOpDef
from paddle.library.custom_op import Tag as Tag
from paddle.library.custom_op import custom_op as custom_op
from paddle.library.libraries import Library as Library
from paddle.library.registration import register_autograd as register_autograd
from paddle.library.registration import register_fake as register_fake
from paddle.library.registration import register_kernel as register_kernel
from paddle.library.registry import PYTHON_OP_REGISTRY as PYTHON_OP_REGISTRY

__all__ = [
    "PYTHON_OP_REGISTRY",
    "CustomOpDef",
    "Library",
    "Tag",
    "custom_op",
    "register_autograd",
    "register_fake",
    "register_kernel",
]
