"""Methods of :class:`~paddle.nn.Layer` that move its parameters and buffers to a device or cast them, in place."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from paddle.framework.place import XPUPlace
from umiak.core.context import no_grad_guard
from umiak.core.dtype import DType, convert
from umiak.core.tensor import Tensor
from umiak.util.arguments import several
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from paddle.nn.layer.layers import Layer


def to(
    self: Layer, device: Any = None, dtype: Any = None, blocking: bool | None = None, non_blocking: bool | None = None
) -> Layer:
    """Move parameters and buffers to ``device`` and cast the floating ones to ``dtype``, in place.

    Args:
        device: a place or its name; by default they stay where they are.
        dtype: a floating or complex dtype; by default they keep theirs.
        blocking, non_blocking: have no effect.

    Returns:
        The layer itself.

    Example:
        >>> import paddle
        >>> paddle.nn.Linear(2, 3).to(dtype="float64").weight.dtype
        paddle.float64
    """
    return _to_impl(self, device, dtype)


def _to_impl(
    self: Layer,
    device: Any = None,
    dtype: Any = None,
    blocking: bool | None = None,
    non_blocking: bool | None = None,
    include_sublayers: bool = True,
    floating_only: bool = False,
) -> Layer:
    """Do what :func:`to` does; ``include_sublayers``: for layers inside, too. ``floating_only`` is so in any case."""

    def transform(t: Tensor, device: Any, dtype: Any, blocking: bool | None) -> Tensor:
        casts = t.dtype.is_floating or t.dtype.is_complex
        return self._transform(t, device, dtype if casts else None, blocking)

    self._apply(transform, device, None if dtype is None else convert(dtype), blocking, include_sublayers)
    return self


def _apply(
    self: Layer,
    func: Callable[[Tensor, Any, Any, bool | None], Tensor],
    device: Any,
    dtype: Any,
    blocking: bool | None,
    include_sublayers: bool = True,
) -> None:
    """Call ``func(tensor, device, dtype, blocking)`` with each parameter, its gradient, and each buffer, which becomes
    the result; first by ``_apply`` of the layers inside. :func:`to` calls it: a class may have one of its own."""
    if include_sublayers:
        for layer in self.children():
            layer._apply(func, device, dtype, blocking, include_sublayers)
    with no_grad_guard():
        for p in self._parameters.values():
            if p is not None:
                func(p, device, dtype, blocking)
                if p.grad is not None:
                    func(p.grad, device, dtype, blocking)
        for name, b in list(self._buffers.items()):
            if b is not None and (made := func(b, device, dtype, blocking)) is not b:
                self._buffers[name] = made
    if dtype is not None:
        self._dtype = convert(dtype).name


def _transform(self: Layer, t: Tensor, device: Any, dtype: Any, blocking: bool | None) -> Tensor:
    """Cast ``t`` to ``dtype`` and move it to ``device``, None: as it is, in place; return it."""
    _replace(t, device, None if dtype is None else convert(dtype))
    return t


def _convert(self: Layer, device: Any, dtype: DType | None, excluded: tuple) -> None:
    for layer in self.sublayers(include_self=True):
        if not (excluded and isinstance(layer, excluded)):
            convert_own(layer, dtype, device)


def convert_own(self: Layer, dtype: DType | None, device: Any = None) -> None:
    """Cast and move this layer's own parameters and buffers. A shared one is converted by the first that comes."""
    if dtype is not None:
        self._dtype = dtype.name
    for t in (*self._parameters.values(), *self._buffers.values()):
        if t is not None:
            _convert_tensor(t, device, dtype)


def astype(self: Layer, dtype: Any = None) -> Layer:
    """Cast floating parameters and buffers. Raises ValueError for a dtype that is not floating or complex."""
    target = convert(dtype)
    if not (target.is_floating or target.is_complex):
        raise ValueError(f"[Layer.astype] requires a floating or complex dtype, got {target.name}")
    return self.to(dtype=target)


def type(self: Layer, dst_type: Any) -> Layer:
    """The same as :meth:`astype`."""
    return self.astype(dst_type)


def _cast(self: Layer, dtype: str, excluded: tuple = ()) -> Layer:
    _convert(self, None, convert(dtype), excluded)
    return self


def _classes(method: str, excluded_layers: Any) -> tuple:
    given = [excluded_layers] if isinstance(excluded_layers, builtins.type) else excluded_layers or ()
    required = "a class of layers, or a list of them, as excluded_layers"
    return tuple(several(f"Layer.{method}", required, given, builtins.type))


def float(self: Layer, excluded_layers: Any = None) -> Layer:
    """Cast floating parameters and buffers to float32, but not those of ``excluded_layers`` (a class or a list)."""
    return _cast(self, "float32", _classes("float", excluded_layers))


def float16(self: Layer, excluded_layers: Any = None) -> Layer:
    """Cast floating parameters and buffers to float16, but not those of ``excluded_layers``."""
    return _cast(self, "float16", _classes("float16", excluded_layers))


def bfloat16(self: Layer, excluded_layers: Any = None) -> Layer:
    """Cast floating parameters and buffers to bfloat16, but not those of ``excluded_layers``."""
    return _cast(self, "bfloat16", _classes("bfloat16", excluded_layers))


def half(self: Layer) -> Layer:
    """Cast floating parameters and buffers to float16."""
    return _cast(self, "float16")


def double(self: Layer) -> Layer:
    """Cast floating parameters and buffers to float64."""
    return _cast(self, "float64")


def cpu(self: Layer) -> Layer:
    """Move parameters and buffers to the host."""
    return self.to(device="cpu")


def cuda(self: Layer, device: Any = None) -> Layer:
    """Move parameters and buffers to a CUDA device: the first one, or that of a number or place."""
    return self.to(device=f"gpu:{device or 0}" if device is None or isinstance(device, int) else device)


def xpu(self: Layer, device: Any = None) -> Layer:
    """Move parameters and buffers to an XPU: the first one, or that of a number or place.

    Raises:
        TypeError: ``device`` is neither a number nor a place of an XPU.
        ValueError: there is no XPU.
    """
    if device is not None and not isinstance(device, (int, XPUPlace)):
        raise op_error(TypeError, "xpu", "a number, an XPUPlace or None", repr(device))
    place = device if isinstance(device, XPUPlace) else XPUPlace(device or 0)
    return self.to(device=place)


def _convert_tensor(t: Any, device: Any, dtype: DType | None) -> None:
    cast = t.dtype.is_floating or t.dtype.is_complex
    for holder in (t, t.grad):
        if holder is not None:
            _replace(holder, device, dtype if cast else None)


def _replace(t: Any, device: Any, dtype: DType | None) -> None:
    """Cast and move a tensor; it keeps its memory where nothing changes."""
    new: Any = t.detach()
    if dtype is not None and t.dtype is not dtype:
        new = new.astype(dtype)
    if device is not None:
        new = new.to(device)
    if new.dtype is not t.dtype or new.place is not t.place:
        t._share(new)
