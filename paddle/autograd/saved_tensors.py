"""``saved_tensors_hooks``: what is kept for the backward run is up to the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle._public import public
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.autograd")
class saved_tensors_hooks:
    """Inside the ``with`` block, keep ``pack_hook(tensor)`` in place of each tensor that a gradient needs.

    When the gradient is computed, ``unpack_hook`` gets what ``pack_hook`` returned and gives back a tensor of the same
    values: offloading to the host, compression and storage in files are written this way. Neither may change the
    tensor it gets in place. Of nested blocks the inner one counts.

    Args:
        pack_hook: gets a tensor, may return any object.
        unpack_hook: gets that object, returns a tensor of the same shape, dtype and place.

    Raises:
        TypeError: a hook that cannot be called; in the backward pass, an ``unpack_hook`` that returns something else
            than a tensor.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> with paddle.autograd.saved_tensors_hooks(lambda t: t.numpy().copy(), paddle.to_tensor):
        ...     y = x * x
        >>> y.sum().backward()
        >>> x.grad.tolist()
        [2.0, 4.0]
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        for arg_name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise op_error(TypeError, "saved_tensors_hooks", f"a function for {arg_name}", type(hook).__name__)
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._before: list[tuple | None] = []

    def __enter__(self) -> None:
        context = current()
        self._before.append(context.saved_hooks)
        context.saved_hooks = (self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc: object) -> None:
        current().saved_hooks = self._before.pop()


def _registered() -> list[saved_tensors_hooks]:
    return current().state.values.setdefault("autograd.registered_hooks", [])


def register_saved_tensors_hooks(pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
    """Begin what ``saved_tensors_hooks`` does in a ``with`` block."""
    hooks = saved_tensors_hooks(pack_hook, unpack_hook)
    hooks.__enter__()
    _registered().append(hooks)


def reset_saved_tensors_hooks() -> None:
    """End the hooks that were registered last; without any, nothing is done."""
    if _registered():
        _registered().pop().__exit__()
