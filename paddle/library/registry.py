"""The table of registered operators, which ``paddle.ops`` shows by namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import paddle.ops as spaces
from paddle._public import constants

if TYPE_CHECKING:
    from paddle.library.custom_op import CustomOpDef


class PythonOpRegistry:
    """Registered operators by name, ``namespace::operator``."""

    def __init__(self) -> None:
        self._operators: dict[str, CustomOpDef] = {}

    def register(self, name: str, op: CustomOpDef) -> None:
        """Enter an operator, which becomes an attribute of ``paddle.ops``."""
        if name in self._operators:
            raise ValueError(f"[custom_op] requires a name that is free, got {name!r}, which is registered already")
        self._operators[name] = op
        namespace, _, own = name.partition("::")
        space = vars(spaces).get(namespace)
        if space is None:
            space = spaces.Namespace(f"paddle.ops.{namespace}")
            setattr(spaces, namespace, space)
        setattr(space, own, op)

    def has_operator(self, name: str) -> bool:
        """Return whether an operator of this name is registered."""
        return name in self._operators

    def get_operator(self, name: str) -> CustomOpDef:
        """The operator of this name."""
        if name not in self._operators:
            known = ", ".join(sorted(self._operators)) or "none"
            raise KeyError(f"no operator {name!r} is registered; there are {known}")
        return self._operators[name]

    def remove(self, name: str) -> CustomOpDef:
        """Take an operator out, and out of ``paddle.ops``."""
        op = self.get_operator(name)
        del self._operators[name]
        namespace, _, own = name.partition("::")
        delattr(vars(spaces)[namespace], own)
        return op


PYTHON_OP_REGISTRY = PythonOpRegistry()
constants("paddle.library", __name__, {"PYTHON_OP_REGISTRY": PYTHON_OP_REGISTRY})


def _operator(op: Any, function: str) -> CustomOpDef:
    """The operator that a user names, or gives."""
    if not isinstance(op, str):
        if type(op).__name__ == "CustomOpDef":
            return op
        raise TypeError(f"[{function}] requires the name of an operator, or the operator, got {type(op).__name__}")
    if not PYTHON_OP_REGISTRY.has_operator(op):
        known = ", ".join(sorted(PYTHON_OP_REGISTRY._operators)) or "none"
        raise ValueError(f"[{function}] requires the name of a registered operator, got {op!r}. There are: {known}")
    return PYTHON_OP_REGISTRY.get_operator(op)
