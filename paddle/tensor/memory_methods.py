"""Methods by which packages reach the memory and the gradient of a tensor; their names begin with an underscore."""

from __future__ import annotations

from hashlib import md5
from operator import index
from typing import Any

from paddle._public import constants, public
from paddle.framework.place import place_of
from umiak import ops as F
from umiak.core.array import host_values
from umiak.core.context import no_grad_guard
from umiak.core.leaf_gradients import Sink, add_gradient, sink_of
from umiak.core.storage import UNFILLED
from umiak.core.tensor import Tensor, unfilled
from umiak.util.errors import op_error


@public("Tensor")
def _slice(self: Tensor, begin_idx: int, end_idx: int) -> Tensor:
    """Rows of the tensor, in its memory and without its gradient.

    Args:
        begin_idx: the first row, 0 or more.
        end_idx: the row behind the last.

    Returns:
        Tensor of shape ``[end_idx - begin_idx, *self.shape[1:]]``; what is written to it is written to this tensor.

    Raises:
        IndexError: rows that are not there.

    Example:
        >>> import paddle
        >>> x = paddle.arange(6).reshape([3, 2])
        >>> _ = x._slice(1, 3).zero_()
        >>> x.tolist()
        [[0, 1], [0, 0], [0, 0]]
    """
    begin, end = index(begin_idx), index(end_idx)
    rows = self.shape[0] if self.ndim else 0
    if not 0 <= begin <= end <= rows:
        raise op_error(IndexError, "_slice", f"0 <= begin_idx <= end_idx <= {rows}, the rows", f"{begin} and {end}")
    return self.detach()[begin:end]


@public("Tensor")
def _copy_to(self: Tensor, place: Any, blocking: bool = True) -> Tensor:
    """Copy of the tensor at a place, without its gradient.

    Args:
        place: a place, or the name of a device.
        blocking: False: the call may return before the copy is done.

    Returns:
        Tensor with memory of its own, also where it is at the place already.

    Raises:
        ValueError: there is no such device.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> y = x._copy_to(paddle.CPUPlace(), True)
        >>> x._is_shared_buffer_with(y)
        False
    """
    where = place_of(place, "_copy_to")
    with no_grad_guard():
        given = self.detach()
        return F.copy(given) if given.place is where else given.to(where, blocking=blocking)


@public("Tensor")
def _to(self: Tensor, device: Any = None, dtype: Any = None, blocking: bool | None = None) -> Tensor:
    """Move the tensor to a place, convert it to a dtype, or both, as :meth:`to` does.

    Args:
        device: a place, the name of a device, or None for where it is.
        dtype: a dtype or its name; None: that which it has.
        blocking: as for :meth:`to`.

    Returns:
        Tensor of the same shape; the tensor itself where nothing changes.

    Raises:
        TypeError: ``dtype`` is not a dtype.
        ValueError: there is no such device.

    Example:
        >>> import paddle
        >>> paddle.ones([2])._to("cpu", "float64").dtype
        paddle.float64
    """
    given = {"device": device, "dtype": dtype, "blocking": blocking}
    return self.to(**{k: v for k, v in given.items() if v is not None})


@public("Tensor")
def _numel(self: Tensor) -> int:
    """Number of elements.

    Returns:
        An int, where :meth:`numel` returns a tensor.

    Example:
        >>> import paddle
        >>> paddle.ones([2, 3])._numel()
        6
    """
    return int(self.size)


@public("Tensor")
def _md5sum(self: Tensor) -> str:
    """MD5 digest of the elements, in the order of rows.

    Returns:
        32 hexadecimal digits.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([1.0, 2.0])._md5sum()
        '057a7f5ab69cb695657046b18832c330'
    """
    return md5(host_values(self.detach()).tobytes(), usedforsecurity=False).hexdigest()


@public("Tensor")
def _local_value(self: Tensor) -> Tensor | None:
    """Part of a tensor, spread over several processes, that this one holds.

    Returns:
        None, for every tensor of this class.

    Example:
        >>> import paddle
        >>> paddle.ones([2])._local_value() is None
        True
    """
    return None


# --- memory ----------------------------------------------------------------------------------------------------------


def _cleared(x: Tensor, shape: tuple[int, ...], op: str) -> None:
    why = f"tensor {x.name!r} requires elements to be read, got one that {op}() has cleared. Write a value to it first"
    x._share(unfilled(shape, x.dtype, x.place, why))


@public("Tensor")
def _clear_data(self: Tensor) -> None:
    """Let go of the memory; shape and dtype stay.

    Reading the tensor is an error until a value is written to it.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2, 3])
        >>> x._clear_data()
        >>> list(x.shape), x._is_initialized()
        ([2, 3], False)
    """
    _cleared(self, tuple(self.shape), "_clear_data")


@public("Tensor")
def _clear_to_zero_allocation(self: Tensor) -> None:
    """Let go of the memory; shape and dtype stay.

    Reading the tensor is an error until a value is written to it.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2, 3])
        >>> x._clear_to_zero_allocation()
        >>> x._is_initialized()
        False
    """
    _cleared(self, tuple(self.shape), "_clear_to_zero_allocation")


@public("Tensor")
def _clear(self: Tensor) -> None:
    """Let go of the memory and the shape.

    Reading the tensor is an error until a value is written to it.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2, 3])
        >>> x._clear()
        >>> x._is_initialized()
        False
    """
    _cleared(self, (0,), "_clear")


@public("Tensor")
def _clear_dataptr(self: Tensor) -> None:
    """Let go of the memory and the shape, as :meth:`_clear` does.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2, 3])
        >>> x._clear_dataptr()
        >>> x._is_initialized()
        False
    """
    _cleared(self, (0,), "_clear_dataptr")


@public("Tensor")
def _is_shared_buffer_with(self: Tensor, other: Tensor) -> bool:
    """Test for a tensor whose elements lie in the same memory.

    Args:
        other: the other tensor.

    Returns:
        True where both are of one piece of memory, though their parts of it may lie apart.

    Raises:
        TypeError: something else than a tensor.

    Example:
        >>> import paddle
        >>> x = paddle.ones([4])
        >>> x._is_shared_buffer_with(x[:2]), x._is_shared_buffer_with(x.clone())
        (True, False)
    """
    return self.storage is not None and self.storage is _need(other, "_is_shared_buffer_with").storage


@public("Tensor")
def _share_buffer_to(self: Tensor, dst_tensor: Tensor) -> None:
    """Give another tensor the memory and the dtype of this one; it keeps its shape.

    Args:
        dst_tensor: the other tensor, with at most as many elements.

    Raises:
        TypeError: something else than a tensor.
        ValueError: it has more elements, or this tensor's do not lie in the order of rows.

    Example:
        >>> import paddle
        >>> x, y = paddle.ones([2, 3]), paddle.zeros([6])
        >>> x._share_buffer_to(y)
        >>> _ = x.fill_(2.0)
        >>> y.tolist()
        [2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    """
    target = _need(dst_tensor, "_share_buffer_to")
    if target.size > self.size:
        raise op_error(ValueError, "_share_buffer_to", f"a tensor of at most {self.size} elements", target.size)
    if not self.is_contiguous():
        raise op_error(ValueError, "_share_buffer_to", "a contiguous tensor", f"strides {list(self.strides)}")
    shape = tuple(target.shape)
    with no_grad_guard():
        target._share(F.reshape(F.reshape(self.detach(), (self.size,))[: target.size], shape))


@public("Tensor")
def _share_underline_tensor_to(self: Tensor, dst_tensor: Tensor) -> None:
    """Give another tensor the memory, the dtype and the shape of this one.

    Args:
        dst_tensor: the other tensor.

    Raises:
        TypeError: something else than a tensor.

    Example:
        >>> import paddle
        >>> x, y = paddle.ones([2]), paddle.zeros([3, 3])
        >>> x._share_underline_tensor_to(y)
        >>> list(y.shape), x._is_shared_underline_tensor_with(y)
        ([2], True)
    """
    _need(dst_tensor, "_share_underline_tensor_to")._share(self.detach())


@public("Tensor")
def _is_shared_underline_tensor_with(self: Tensor, other: Tensor) -> bool:
    """Test for a tensor that is this one's memory, seen in the same shape.

    Args:
        other: the other tensor.

    Returns:
        A bool.

    Raises:
        TypeError: something else than a tensor.

    Example:
        >>> import paddle
        >>> x = paddle.ones([4])
        >>> x._is_shared_underline_tensor_with(x.detach()), x._is_shared_underline_tensor_with(x[:2])
        (True, False)
    """
    same = self._is_shared_buffer_with(other) and self.offset == other.offset and self.dtype is other.dtype
    return same and self.shape == other.shape and self.strides == other.strides


@public("Tensor")
def _new_shared_tensor(self: Tensor) -> Tensor:
    """Another tensor over the memory of this one, without its gradient.

    Returns:
        Tensor of the same shape and dtype.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> x._new_shared_tensor()._is_shared_buffer_with(x)
        True
    """
    return self.detach()


@public("Tensor")
def _is_dense_tensor_hold_allocation(self: Tensor) -> bool:
    """Test for a tensor that has memory.

    Returns:
        A bool; False where it was cleared, or made under ``paddle.LazyGuard`` and not initialized.

    Example:
        >>> import paddle
        >>> paddle.ones([2])._is_dense_tensor_hold_allocation()
        True
    """
    return self.storage is not None and self.storage.state != UNFILLED


@public("Tensor")
def _holder_size(self: Tensor) -> int:
    """Size of the piece of memory that the elements lie in.

    Returns:
        Number of bytes.

    Example:
        >>> import paddle
        >>> x = paddle.ones([4])
        >>> x._holder_size(), x[:2]._holder_size()
        (16, 16)
    """
    return self.storage.nbytes


@public("Tensor")
def _offset(self: Tensor) -> int:
    """Distance of the first element from the start of its piece of memory.

    Returns:
        Number of bytes.

    Example:
        >>> import paddle
        >>> paddle.ones([4])[1:]._offset()
        4
    """
    return self.offset


@public("Tensor")
def _inplace_version(self: Tensor) -> int:
    """Number of writes so far.

    Returns:
        The property ``inplace_version``.

    Example:
        >>> import paddle
        >>> paddle.zeros([2]).add_(paddle.ones([2]))._inplace_version()
        1
    """
    return self.inplace_version


@public("Tensor")
def _bump_inplace_version(self: Tensor) -> None:
    """Count a write that was not made through this package, so that a gradient that needs the old values is refused.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2])
        >>> x._bump_inplace_version()
        >>> x.inplace_version
        1
    """
    self._bump_version()


# --- the gradient ----------------------------------------------------------------------------------------------------


@public("Tensor")
def _grad_ivar(self: Tensor) -> Tensor | None:
    """Gradient of the tensor.

    Returns:
        The property ``grad``.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0], stop_gradient=False)
        >>> (x * 3.0).backward()
        >>> x._grad_ivar().tolist()
        [3.0]
    """
    return self.grad


@public("Tensor")
def _set_grad_ivar(self: Tensor, value: Tensor) -> None:
    """Set the gradient of the tensor.

    Args:
        value: the gradient, of the tensor's shape, or None.

    Raises:
        TypeError: something else.
        ValueError: a tensor of another shape.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0], stop_gradient=False)
        >>> x._set_grad_ivar(paddle.to_tensor([2.0]))
        >>> x.grad.tolist()
        [2.0]
    """
    self.grad = value


@public("Tensor")
def _copy_gradient_from(self: Tensor, value: Tensor) -> None:
    """Take a tensor as the gradient.

    Args:
        value: a tensor of the same shape and dtype, whose memory the gradient shares.

    Raises:
        TypeError: something else than a tensor.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0], stop_gradient=False)
        >>> x._copy_gradient_from(paddle.to_tensor([2.0]))
        >>> x.grad.tolist()
        [2.0]
    """
    self.grad = _need(value, "_copy_gradient_from").detach()


@public("Tensor")
def _zero_grads(self: Tensor) -> None:
    """Fill the gradient with zeros where there is one.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0], stop_gradient=False)
        >>> (x * 3.0).backward()
        >>> x._zero_grads()
        >>> x.grad.tolist()
        [0.0]
    """
    self.clear_gradient(True)


@public("Tensor")
def _register_grad_hook(self: Tensor, hook: Any) -> int:
    """Register a function of the gradient, as :meth:`register_hook` does.

    Args:
        hook: called with the gradient; a tensor that it returns takes its place.

    Returns:
        A number for :meth:`_remove_grad_hook`.

    Raises:
        RuntimeError: the tensor has ``stop_gradient=True``.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0], stop_gradient=False)
        >>> _ = x._register_grad_hook(lambda grad: grad * 2.0)
        >>> (x * 3.0).backward()
        >>> x.grad.tolist()
        [6.0]
    """
    handles = self.__dict__.setdefault("_numbered_hooks", {})
    number = len(handles)
    handles[number] = self.register_hook(hook)
    return number


@public("Tensor")
def _remove_grad_hook(self: Tensor, hook_id: int) -> bool:
    """Remove a function that :meth:`_register_grad_hook` has registered.

    Args:
        hook_id: the number that it returned.

    Returns:
        True where there was one.

    Raises:
        TypeError: what cannot be a key of a dict.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0], stop_gradient=False)
        >>> number = x._register_grad_hook(lambda grad: grad * 2.0)
        >>> x._remove_grad_hook(number), x._remove_grad_hook(number)
        (True, False)
    """
    handle = self.__dict__.get("_numbered_hooks", {}).get(hook_id)
    return handle is not None and bool(handle.remove())


class _Followers:
    """Functions that are called when the gradient of a leaf has come: the owner of its sink."""

    def __init__(self) -> None:
        self.hooks: list[Any] = []

    def take(self, key: Any, leaf: Tensor, gradient: Any, create_graph: bool) -> None:
        """Add a gradient to that of the leaf. Called by the tape, once for each backward pass."""
        if create_graph:
            leaf.grad = gradient if leaf.grad is None else leaf.grad + gradient
        else:
            add_gradient(leaf, gradient)
        for hook in self.hooks:
            hook()

    def captured(self, capture: Any, gradients: Any) -> None:
        """Refuse to be a part of a graph, which would call nothing. Called by captures."""
        from umiak.runtime.capture import CaptureError

        raise CaptureError("functions of _register_backward_hook are called in every backward pass")


@public("Tensor")
def _register_backward_hook(self: Tensor, hook: Any) -> None:
    """Register a function that is called when a backward pass has added its gradient to that of a leaf.

    Args:
        hook: called without arguments, once for each backward pass that reaches the tensor, after ``grad`` has changed.

    Raises:
        TypeError: something that cannot be called.
        ValueError: a tensor that is no leaf, that has ``stop_gradient=True``, or whose gradients ``DataParallel``
            reduces.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0], stop_gradient=False)
        >>> seen = []
        >>> x._register_backward_hook(lambda: seen.append(x.grad.tolist()))
        >>> (x * 3.0).backward()
        >>> seen
        [[3.0]]
    """
    if not callable(hook):
        raise op_error(TypeError, "_register_backward_hook", "a function", type(hook).__name__)
    if self.stop_gradient or not self.is_leaf:
        got = "stop_gradient=True" if self.stop_gradient else "a tensor that was computed"
        raise op_error(ValueError, "_register_backward_hook", "a leaf with stop_gradient=False", got)
    sink = sink_of(self)
    if sink is None:
        sink = Sink(_Followers(), 0)
        sink.put(self)
    if not isinstance(sink.owner, _Followers):
        required = "a leaf whose gradients nobody else has"
        raise op_error(ValueError, "_register_backward_hook", required, f"one of a {type(sink.owner).__name__}")
    sink.owner.hooks.append(hook)


@public("Tensor")
def _reset_grad_inplace_version(self: Tensor, set_to_zero: bool = True) -> None:
    """Nothing to reset: writes to a gradient are counted by the gradient itself, which no graph has saved.

    Args:
        set_to_zero: accepted.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0], stop_gradient=False)
        >>> (x * 3.0).backward()
        >>> x._reset_grad_inplace_version(True)
        >>> x.grad.tolist()
        [3.0]
    """


@public("Tensor")
def _to_static_var(self: Tensor, to_parameter: bool = False, **kwargs: Any) -> Tensor:
    """Declare a variable of the program that is recorded, like the tensor: its shape, dtype and name.

    Args:
        to_parameter: make it a parameter.
        **kwargs: ``name`` and ``stop_gradient`` in place of the tensor's; others are accepted.

    Returns:
        A variable of ``paddle.static.default_main_program()``, which has no value.

    Raises:
        TypeError: a name that is no string, or a parameter of a dtype that is not floating.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2, 3])
        >>> v = x._to_static_var()
        >>> v.shape, v.dtype
        (paddle.Size([2, 3]), paddle.float32)
    """
    from paddle.framework.parameter import create_parameter
    from paddle.static.program import default_main_program

    block = default_main_program().global_block()
    name = kwargs.get("name", self.name)
    if to_parameter:
        variable: Tensor = create_parameter(list(self.shape), self.dtype, name=None if block.has_var(name) else name)
    else:
        variable = block.create_var(None if block.has_var(name) else name, list(self.shape), self.dtype)
    variable.stop_gradient = kwargs.get("stop_gradient", self.stop_gradient)
    return variable


@public("Tensor")
def _use_gpudnn(self: Tensor, use_gpudnn: bool = True) -> Tensor:
    """Tensor itself: there is no choice between kernels of cuDNN and others to be made for it.

    Args:
        use_gpudnn: accepted.

    Returns:
        The tensor.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> x._use_gpudnn(False) is x
        True
    """
    return self


def _place_str(self: Tensor) -> str:
    """The place as text, such as ``"Place(cpu)"``."""
    return repr(self.place)


constants("Tensor", __name__, {"_place_str": property(_place_str)})


def _need(x: Any, op: str) -> Tensor:
    if not isinstance(x, Tensor):
        raise op_error(TypeError, op, "a Tensor", type(x).__name__)
    return x
