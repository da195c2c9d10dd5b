"""Made by ``tools/public_stubs.py``."""

from paddle.library.custom_op import CustomOpDef as CustomOpDef
from paddle.library.custom_op import Tag as Tag
from paddle.library.custom_op import custom_op as custom_op
from paddle.library.libraries import Library as Library
from paddle.library.registration import FakeImplCtx as FakeImplCtx
from paddle.library.registration import get_ctx as get_ctx
from paddle.library.registration import register_autograd as register_autograd
from paddle.library.registration import register_fake as register_fake
from paddle.library.registration import register_kernel as register_kernel
from paddle.library.registry import PYTHON_OP_REGISTRY as PYTHON_OP_REGISTRY

__all__ = [
    "PYTHON_OP_REGISTRY",
    "CustomOpDef",
    "FakeImplCtx",
    "Library",
    "Tag",
    "custom_op",
    "get_ctx",
    "register_autograd",
    "register_fake",
    "register_kernel",
]
