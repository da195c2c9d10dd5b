"""``Library``: operators that are defined by schemas, and get their functions one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paddle._public import public
from paddle.library.custom_op import CustomOpDef, Tag
from paddle.library.registry import PYTHON_OP_REGISTRY, _operator
from umiak.ops.custom_op import take_out
from umiak.ops.schema import checked_name, parse

# Keys of functions, and the types of devices that they are for; None: for those that have none of their own.
_KEYS: dict[str, str | None] = {
    "CPU": "cpu", "CUDA": "gpu", "GPU": "gpu", "XPU": "xpu", "": None, "CompositeExplicitAutograd": None,
    "CompositeImplicitAutograd": None,
}  # fmt: skip


@public("paddle.library")
class Library:
    """Operators of a namespace: defined by schemas, and given functions for types of devices.

    Args:
        ns: the namespace.
        kind: ``"DEF"`` or ``"FRAGMENT"`` for operators that are defined here, ``"IMPL"`` for functions of those that
            others define.
        dispatch_key: what functions are for where :meth:`impl` does not say it.

    Raises:
        ValueError: a namespace that is no identifier, another kind or key.

    Example:
        >>> import paddle
        >>> lib = paddle.library.Library("example", "FRAGMENT")
        >>> lib.define("thrice(Tensor x) -> Tensor")
        'example::thrice'
        >>> lib.impl("thrice", lambda x: x * 3, "CPU")
        >>> lib.impl("thrice", lambda x: paddle.empty_like(x), "Meta")
        >>> paddle.ops.example.thrice(paddle.ones([1])).tolist()
        [3.0]
        >>> lib.close()
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if not isinstance(ns, str) or not ns.isidentifier():
            raise ValueError(f"[Library] requires an identifier as a namespace, got {ns!r}")
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"[Library] requires 'DEF', 'FRAGMENT' or 'IMPL' as kind, got {kind!r}")
        self.ns = ns
        self.kind = kind
        self.dispatch_key = _key(dispatch_key, "Library")
        self._defined: list[str] = []

    def define(self, schema: str, alias_analysis: str = "", *, tags: Tag | Sequence[Tag] = ()) -> str:
        """Define an operator.

        Args:
            schema: ``"name(Tensor x, float s=1.0) -> Tensor"``.
            alias_analysis: accepted: the schema says what is written to.
            tags: kept.

        Returns:
            Its name, ``namespace::name``.

        Raises:
            ValueError: a library of kind ``"IMPL"``, a schema that cannot be read, a name that is taken.
        """
        if self.kind == "IMPL":
            raise ValueError("[Library.define] requires a library of kind 'DEF' or 'FRAGMENT', got one of kind 'IMPL'")
        own, parenthesis, _ = schema.partition("(")
        own = own.strip().rpartition("::")[2]
        name = checked_name(f"{self.ns}::{own}", "Library.define")
        made = CustomOpDef.__new__(CustomOpDef)
        made._enter(parse(schema, name), None, None, [tags] if isinstance(tags, Tag) else tags)
        self._defined.append(name)
        return name

    def impl(self, op_name: str, fn: Callable[..., Any], dispatch_key: str = "") -> None:
        """Give an operator a function.

        Args:
            op_name: its name, with or without the namespace.
            fn: the function of its arguments.
            dispatch_key: ``"CPU"``, ``"CUDA"`` or ``"XPU"`` for tensors of these devices, ``"Meta"`` for shapes and
                dtypes of results (:meth:`CustomOpDef.register_fake`), ``"CompositeExplicitAutograd"`` or
                ``"CompositeImplicitAutograd"`` for all devices; ``""``: the library's.

        Raises:
            ValueError: no such operator, or another key.
        """
        name = op_name if "::" in op_name else f"{self.ns}::{op_name}"
        operator = _operator(name, "Library.impl")
        key = _key(dispatch_key, "Library.impl") or self.dispatch_key
        if key == "Meta":
            operator.register_fake(fn)
        else:
            operator.register_kernel(_KEYS[key], fn)

    def close(self) -> None:
        """Take the operators that were defined here out of the registry, so that others may have their names."""
        for name in self._defined:
            take_out(PYTHON_OP_REGISTRY.remove(name).definition)
        self._defined.clear()


def _key(key: str, function: str) -> str:
    if key not in _KEYS and key != "Meta":
        hint = " Use register_autograd for gradients." if "Autograd" in str(key) else ""
        known = ", ".join(sorted(k for k in _KEYS if k))
        raise ValueError(f"[{function}] requires one of {known} and Meta as dispatch_key, got {key!r}.{hint}")
    return key
