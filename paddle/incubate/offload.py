"""Activations in files while they are not needed."""

from __future__ import annotations

import os
from collections.abc import Iterable

from paddle._public import public
from paddle.autograd.saved_tensors import saved_tensors_hooks
from umiak.core.tensor import Tensor
from umiak.runtime.offload import Offload


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
