"""Lists of the ops that run in low precision, and of those that do not."""

from __future__ import annotations

from paddle._public import public
from umiak import ops  # noqa: F401  (registers the ops)
from umiak.ir.registry import REGISTRY


def _lists(kind: str) -> dict[str, dict[str, set[str]]]:
    names = {name for name, op in REGISTRY.items() if getattr(op, "amp", "promote") == kind}
    return {dtype: {level: set(names) for level in ("OD", "O1", "O2")} for dtype in ("float16", "bfloat16")}


@public("paddle.amp")
def white_list() -> dict[str, dict[str, set[str]]]:
    """Ops that ``auto_cast`` runs in low precision.

    Returns:
        Sets of names of ops, by dtype (``"float16"``, ``"bfloat16"``) and level (``"OD"``, ``"O1"``, ``"O2"``).

    Example:
        >>> import paddle
        >>> "matmul" in paddle.amp.white_list()["bfloat16"]["O1"]
        True
    """
    return _lists("allow")


@public("paddle.amp")
def black_list() -> dict[str, dict[str, set[str]]]:
    """Ops that ``auto_cast`` runs in float32.

    Returns:
        Sets of names of ops, by dtype (``"float16"``, ``"bfloat16"``) and level (``"OD"``, ``"O1"``, ``"O2"``).

    Example:
        >>> import paddle
        >>> "exp" in paddle.amp.black_list()["float16"]["O1"]
        True
    """
    return _lists("deny")
