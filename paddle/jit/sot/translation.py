"""The choice between functions that are simulated and those that are called as they are."""

from __future__ import annotations

import sys
from typing import Any

from paddle.jit.ignored import is_ignored
from paddle.jit.marker import CONTROL_FLOW, DYNAMIC, UNIFIED
from paddle.jit.sot.switches import captures_control_flow

_OWN = ("paddle", "umiak")
# Parts of the library that compute with layers and Python state, and are simulated like the user's code.
_INTERPRETED = (
    "paddle.nn.layer", "paddle.nn.utils", "paddle.vision.models", "paddle.audio.features", "paddle.incubate.nn.layer",
    "paddle.amp.grad_scaler", "paddle.distributed.data_parallel",
)  # fmt: skip
# Of the standard library, what is written in Python and has no effect outside.
_STANDARD = frozenset(
    (
        "contextlib",
        "functools",
        "dataclasses",
        "collections",
        "collections.abc",
        "enum",
        "abc",
        "typing",
        "numbers",
        "operator",
        "types",
        "_collections_abc",
    )
)


# Packages whose functions launch kernels of their own: what they do is seen by no graph.
KERNELS = frozenset(("triton", "tvm_ffi"))


def advice(module: object) -> str:
    """Return what to do about a call of a module's function that no graph has; empty where there is no advice."""
    if package(module) not in KERNELS:
        return ""
    return ". Let an operator launch it (paddle.library.custom_op), whose register_fake says what the results are like"


def package(module: object) -> str:
    """Return the package of a ``__module__``: empty where this is a descriptor, as a class may have for its objects."""
    return module.partition(".")[0] if isinstance(module, str) else ""


def is_library(module: object) -> bool:
    """Return whether a module is a part of the library."""
    return package(module) in _OWN


def is_interpreted(module: str) -> bool:
    """Return whether functions of a module are simulated."""
    top = module.partition(".")[0]
    if top in _OWN:
        return module.startswith(_INTERPRETED)
    if is_ignored(module):
        return False
    if top in ("numpy", "scipy", "torch", "logging") or top in KERNELS:
        return False
    return top not in sys.stdlib_module_names or module in _STANDARD or module == "__main__"


def is_marked(f: Any) -> bool:
    """Return whether a function is marked as one that runs outside of graphs."""
    return bool(getattr(f, DYNAMIC, False))


def is_unified(f: Any) -> bool:
    """Return whether a function is marked as one that is traced as it is."""
    return bool(getattr(f, UNIFIED, (False, False))[0])


def has_captured_branches(f: Any) -> bool:
    """Return whether a function is marked as one whose branches and loops on tensors are captured."""
    return bool(getattr(f, CONTROL_FLOW, False)) and captures_control_flow()
