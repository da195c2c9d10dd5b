"""Activations in files, or in the host's memory, while they are not needed."""

from __future__ import annotations

import os
from collections.abc import Iterable

from paddle._public import public
from paddle.autograd.saved_tensors import saved_tensors_hooks
from paddle.framework.place import current_place
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor
from umiak.runtime import pressure
from umiak.runtime.offload import Offload
from umiak.util.errors import op_error


@public("paddle.incubate")
class offload_saved_tensors(saved_tensors_hooks):
    """Inside the ``with`` block, tensors that gradients need are kept in a file until the backward pass.

    The values come back bit for bit. The file never has a name, so that nothing is left of it, whatever ends the
    process. It pays where memory is short and the disk is fast, or where files of the folder are in other memory;
    :func:`paddle.distributed.fleet.utils.recompute` trades arithmetic instead.

    Args:
        threshold: tensors of fewer bytes stay in memory. Parameters always do.
        to: ``"file"``, ``"memory"`` of the host, or None: a file for tensors of the host, memory for those of other
            devices.
        folder: of the file; by default that of temporary files (``TMPDIR``).
        keep: tensors whose memory is held anyway, such as frozen parameters.

    Raises:
        OSError: the file cannot be made or written.

    Example:
        >>> import paddle
        >>> x = paddle.ones([64, 64])
        >>> x.stop_gradient = False
        >>> with paddle.incubate.offload_saved_tensors(threshold=1024) as offloaded:
        ...     y = paddle.exp(x * 2).sum()
        >>> offloaded.bytes > 0
        True
        >>> y.backward()
    """

    def __init__(
        self,
        threshold: int = 1 << 20,
        to: str | None = None,
        folder: str | os.PathLike | None = None,
        keep: Iterable[Tensor] = (),
    ) -> None:
        self._offload = Offload(threshold, to, folder, keep)
        super().__init__(self._offload.pack, self._offload.unpack)

    def __enter__(self) -> offload_saved_tensors:  # type: ignore[override]
        super().__enter__()
        return self

    @property
    def bytes(self) -> int:
        """Number of bytes that were offloaded so far."""
        return self._offload.put


def enable_activation_offload(model: Layer, enable: bool = True, retry_times: int = 1) -> None:
    """Move activations to the memory of the host when a device has no room.

    A request for memory that would fail moves tensors that nothing but the backward pass needs, the largest first, and
    is tried again. The backward pass brings them back, bit for bit. What a variable or a captured function
    (:func:`paddle.jit.to_static`) holds stays where it is, so a forward pass had better name few of its results. On the
    host it changes nothing. :class:`paddle.incubate.offload_saved_tensors` moves tensors though memory is not short.

    Args:
        model: the layer whose activations these are. Its parameters stay. They, and the current device, say which
            devices are meant.
        enable: False takes this back.
        retry_times: how often a request is tried again at most; ``FLAGS_offload_retry_times`` from then on.

    Raises:
        TypeError: the model is no layer.
        ValueError: a negative number of tries.

    Example:
        >>> import paddle
        >>> from paddle.incubate.tensor.manipulation import enable_activation_offload
        >>> network = paddle.nn.Linear(2, 2)
        >>> enable_activation_offload(network, retry_times=2)
        >>> paddle.get_flags("FLAGS_offload_retry_times")
        {'FLAGS_offload_retry_times': 2}
        >>> enable_activation_offload(network, enable=False)
    """
    name = "enable_activation_offload"
    if not isinstance(model, Layer):
        raise op_error(TypeError, name, "a Layer as model", type(model).__name__)
    if enable and (type(retry_times) is not int or retry_times < 0):
        raise op_error(ValueError, name, "an int of 0 or above for retry_times", repr(retry_times))
    parameters = model.parameters()
    places = {current_place(), *(x.place for x in parameters)}
    if enable:
        pressure.enable(places, parameters, retry_times)
    else:
        pressure.disable(places)
