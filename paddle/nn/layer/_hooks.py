"""Hooks of a layer: what runs before and after ``forward``."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from paddle.nn.layer._registry import CHANGES

if TYPE_CHECKING:
    from paddle.nn.layer.layers import Layer


class HookRemoveHelper:
    """Handle of a registered hook: ``remove()`` takes the hook away."""

    next_hook_id: int = 0

    def __init__(self, hooks: dict[int, Any], *flags: dict[int, bool]) -> None:
        self._tables = [weakref.ref(t) for t in (hooks, *flags)]
        self._hook_id = HookRemoveHelper.next_hook_id
        HookRemoveHelper.next_hook_id += 1

    def remove(self) -> None:
        """Take the hook away. A second call does nothing."""
        for table in self._tables:
            hooks = table()
            if hooks is not None:
                hooks.pop(self._hook_id, None)


class HookTable(dict):
    """Hooks by number, as a dict that a handle can refer to weakly. ``order`` is a tuple of those there are now."""

    __slots__ = ("__weakref__", "order")

    def __init__(self) -> None:
        super().__init__()
        self.order: tuple = ()

    def put(self, key: int, value: Any, first: bool = False) -> None:
        former = list(self.items()) if first else ()
        if first:
            self.clear()
        self[key] = value
        self.update(former)


def _ordered(change: Callable) -> Callable:
    def changed(self: HookTable, *args: Any, **kwargs: Any) -> Any:
        result = change(self, *args, **kwargs)
        CHANGES[0] += 1
        self.order = tuple(self.values())
        return result

    return changed


# A loop over a tuple needs no copy of the hooks: a hook that adds or removes others leaves the tuple as it is.
for _name in ("__setitem__", "__delitem__", "pop", "popitem", "clear", "update", "setdefault", "__ior__"):
    setattr(HookTable, _name, _ordered(getattr(dict, _name)))


def call_with_hooks(
    self: Layer,
    inputs: tuple,
    kwargs: dict[str, Any],
    forward: Callable[..., Any] | None = None,
    run: Callable[[Any], Callable[..., Any]] = lambda hook: hook,
) -> Any:
    """A call with hooks of any kind and any inputs; ``forward``: what runs in place of the layer's own, ``run``: gives
    what runs in place of a hook."""
    flags = self._hook_flags
    called = set()
    outputs = None
    try:
        for key, hook in list(self._forward_pre_hooks.items()):
            if flags[key]["with_kwargs"]:
                result = run(hook)(self, inputs, kwargs)
                if result is not None:
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(
                            f"[{type(self).__name__}] requires a forward pre-hook to return None or "
                            f"(inputs, kwargs), got {result!r}"
                        )
                    inputs, kwargs = result
            else:
                result = run(hook)(self, inputs)
                if result is not None:
                    inputs = result
            if not isinstance(inputs, tuple):
                inputs = (inputs,)
        outputs = (forward or self.forward)(*inputs, **kwargs)
        for key, hook in list(self._forward_post_hooks.items()):
            called.add(key)
            outputs = _after(self, run(hook), flags[key], inputs, kwargs, outputs)
        return outputs
    except Exception:
        # Hooks with always_call have not run yet where something before them failed.
        for key, hook in list(self._forward_post_hooks.items()):
            if flags[key]["always_call"] and key not in called:
                try:
                    outputs = _after(self, hook, flags[key], inputs, kwargs, outputs)
                except Exception as inner:
                    warnings.warn(
                        f"a forward hook with always_call failed while another error was raised: {inner}",
                        stacklevel=3,
                    )
        raise


def call_built(self: Layer, /, *inputs: Any, **kwargs: Any) -> Any:
    """A call of a layer that has something to do before its first ``forward``."""

    def forward(*inputs: Any, **kwargs: Any) -> Any:
        if not self._built:
            self._build_once(*inputs, **kwargs)
            self._built = True
        return self.forward(*inputs, **kwargs)

    return call_with_hooks(self, inputs, kwargs, forward)


def _after(self: Layer, hook: Callable, flags: dict[str, bool], inputs: tuple, kwargs: dict, outputs: Any) -> Any:
    result = hook(self, inputs, kwargs, outputs) if flags["with_kwargs"] else hook(self, inputs, outputs)
    return outputs if result is None else result
