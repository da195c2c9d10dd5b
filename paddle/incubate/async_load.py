"""Tensors that are copied between devices and the host while both work: ``paddle.incubate.tensor.manipulation``."""

from __future__ import annotations

import weakref
from typing import Any

from paddle._public import need_tensor
from paddle.framework.parameter import Parameter
from paddle.framework.place import current_place
from umiak import ops as F
from umiak.backends.copy_streams import CPU, CopyStreams, PendingCopy, host_memory
from umiak.core import eager
from umiak.core.context import no_grad_guard
from umiak.core.place import Place
from umiak.core.storage import Storage
from umiak.core.tensor import Tensor, empty
from umiak.util.errors import op_error

_COPY = F.Copy()


class Task:
    """A copy that was handed in."""

    def __init__(self, copy: PendingCopy) -> None:
        self._copy = copy

    def is_completed(self) -> bool:
        """Return whether the elements have arrived."""
        return self._copy.done()

    def cpu_wait(self) -> None:
        """Wait until the elements have arrived.

        Raises:
            RuntimeError: the work that they come from has failed.
        """
        self._copy.wait()

    def cuda_wait(self) -> None:
        """Let work that the device gets from now on wait for the copy; this process does not."""
        self._copy.order()

    xpu_wait = cuda_wait


class AsyncLoad:
    """Copies on streams of their own, beside the work of the devices.

    A tensor that is copied may not be written to, and its copy not be read, before the task has been waited for. On
    the host, or between two devices, copies are made at once.
    """

    def __init__(self) -> None:
        self._streams = CopyStreams()
        self._origins: weakref.WeakKeyDictionary[Storage, Place] = weakref.WeakKeyDictionary()

    def offload(self, dst: Tensor, src: Tensor) -> Task:
        """Copy a tensor to the host.

        Args:
            dst: a tensor that becomes the copy; what it was before is dropped.
            src: the tensor, on any place.

        Returns:
            A :class:`Task`.
        """
        new, task = self.offloaded(src)
        dst._share(new)
        return task

    def reload(self, dst: Tensor, src: Tensor) -> Task:
        """Copy a tensor of the host to the device that it was offloaded from, else to the current one.

        Args:
            dst: a tensor that becomes the copy; what it was before is dropped.
            src: the tensor.

        Returns:
            A :class:`Task`.
        """
        new, task = self.reloaded(src)
        dst._share(new)
        return task

    def offload_with_offset(self, dst: Tensor, src: Tensor, dst_offset: int, src_offset: int, size: int) -> Task:
        """Copy some elements of a tensor of one axis into another.

        Args:
            dst: a tensor of one axis, on any place.
            src: a tensor of one axis and the same dtype.
            dst_offset: index of the first element that is written.
            src_offset: index of the first element that is read.
            size: number of elements.

        Returns:
            A :class:`Task`.

        Raises:
            ValueError: tensors of more axes, of two dtypes, or with fewer elements than that.
        """
        for x, name, offset in ((dst, "dst", dst_offset), (src, "src", src_offset)):
            need_tensor(x, "offload_with_offset", name)
            if x.ndim > 1 or not x.is_contiguous():
                raise op_error(
                    ValueError, "offload_with_offset", f"{name} of one axis, its elements one after the other",
                    f"shape {list(x.shape)}",
                )  # fmt: skip
            if offset < 0 or size < 0 or offset + size > x.size:
                raise op_error(
                    ValueError, "offload_with_offset", f"elements {offset} to {offset + size} of {name}",
                    f"{x.size} elements",
                )  # fmt: skip
        if dst.dtype is not src.dtype:
            raise op_error(
                ValueError, "offload_with_offset", "two tensors of one dtype", f"{dst.dtype.name} and {src.dtype.name}"
            )
        with no_grad_guard():
            target = dst.detach().reshape([-1])[dst_offset : dst_offset + size]
            source = src.detach().reshape([-1])[src_offset : src_offset + size]
        task = Task(self._streams.start(target, source))
        dst._bump_version()
        return task

    def offloaded(self, x: Tensor) -> tuple[Tensor, Task]:
        """A new tensor of the host, and the task that fills it."""
        source = _in_order(x)
        new = host_memory(source)
        self._origins[new.storage] = x.place
        return new, Task(self._streams.start(new, source))

    def reloaded(self, x: Tensor) -> tuple[Tensor, Task]:
        """A new tensor of a device, and the task that fills it."""
        source = _in_order(x)
        place = self._origins.get(x.storage, current_place()) if x.place is CPU else x.place
        new = empty(tuple(source.shape), source.dtype, place)
        return new, Task(self._streams.start(new, source))


def _in_order(x: Tensor) -> Tensor:
    with no_grad_guard():
        return x.detach() if x.is_contiguous() else eager.apply_plain(_COPY, (x.detach(),))


def _loader(load: Any, function: str) -> AsyncLoad:
    if not isinstance(load, AsyncLoad):
        raise op_error(TypeError, function, "what create_async_load() has returned", type(load).__name__)
    return load


def _as_given(x: Tensor, new: Tensor) -> Tensor:
    """The copy of a parameter as a parameter."""
    return x.with_values(new) if isinstance(x, Parameter) else new


def create_async_load() -> AsyncLoad:
    """Return what :func:`async_offload` and :func:`async_reload` copy by.

    Returns:
        An :class:`AsyncLoad`, which has a stream of its own on each device.

    Example:
        >>> import paddle
        >>> from paddle.incubate.tensor.manipulation import async_offload, async_reload, create_async_load
        >>> load = create_async_load()
        >>> kept, task = async_offload(paddle.ones([2]), load)
        >>> task.cpu_wait()
        >>> kept.place
        Place(cpu)
    """
    return AsyncLoad()


def create_xpu_async_load() -> AsyncLoad:
    """Return the same as :func:`create_async_load`: there is one kind for all devices.

    Returns:
        An :class:`AsyncLoad`.
    """
    return AsyncLoad()


def async_offload(src_tensor: Tensor, async_load: AsyncLoad) -> tuple[Tensor, Task]:
    """Begin to copy a tensor to the host, into page-locked memory where the device has it.

    Args:
        src_tensor: a tensor or parameter of any place. It must not be written to before the task has been waited for.
        async_load: of :func:`create_async_load`.

    Returns:
        The copy, a parameter for a parameter, whose elements are there when the task is done; and the :class:`Task`.

    Raises:
        TypeError: no tensor, or no such object.
    """
    x = need_tensor(src_tensor, "async_offload", "src_tensor")
    new, task = _loader(async_load, "async_offload").offloaded(x)
    return _as_given(x, new), task


def async_reload(src_tensor: Tensor, async_load: AsyncLoad) -> tuple[Tensor, Task]:
    """Begin to copy a tensor of the host to the device that it was offloaded from, else to the current one.

    Args:
        src_tensor: a tensor or parameter. It must not be written to before the task has been waited for.
        async_load: of :func:`create_async_load`; the one that it was offloaded by knows its device.

    Returns:
        The copy, a parameter for a parameter, whose elements are there when the task is done; and the :class:`Task`.

    Raises:
        TypeError: no tensor, or no such object.
    """
    x = need_tensor(src_tensor, "async_reload", "src_tensor")
    new, task = _loader(async_load, "async_reload").reloaded(x)
    return _as_given(x, new), task


def async_offload_with_offset(
    src_tensor: Tensor, dst_tensor: Tensor, src_offset: int, dst_offset: int, offload_size: int, async_loader: AsyncLoad
) -> Task:
    """Begin to copy some elements of a tensor of one axis into another, in either direction.

    Args:
        src_tensor: a tensor of one axis.
        dst_tensor: a tensor of one axis and the same dtype.
        src_offset: index of the first element that is read.
        dst_offset: index of the first element that is written.
        offload_size: number of elements.
        async_loader: of :func:`create_async_load`.

    Returns:
        A :class:`Task`.

    Raises:
        TypeError: no tensor, or no such object.
        ValueError: tensors of more axes, of two dtypes, or with fewer elements than that.
    """
    load = _loader(async_loader, "async_offload_with_offset")
    return load.offload_with_offset(dst_tensor, src_tensor, dst_offset, src_offset, offload_size)
