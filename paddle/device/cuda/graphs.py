"""Work of a CUDA device as graphs: recorded once, and done again by one call."""

from __future__ import annotations

import os
from typing import Any

from paddle import _lazy
from paddle._public import public
from paddle.framework.place import available_types, current_place, place_of
from umiak.util.errors import op_error

ALL_MODES = ["global", "thread_local", "relaxed"]
ALL_FLAGS = 2047  # of cudaGraphDebugDotFlags: whatever the driver knows of a graph


@public("paddle.device.cuda.graphs")
def is_cuda_graph_supported() -> bool:
    """Say whether there is a device whose work can be recorded.

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> paddle.device.cuda.graphs.is_cuda_graph_supported() == paddle.cuda.is_available()
        True
    """
    return "gpu" in available_types()


@public("paddle.device.cuda.graphs")
class CUDAGraph:
    """Work of a CUDA device that is recorded rather than done, and done at each ``replay()`` by a call of the driver.

    What is handed to the device between ``capture_begin()`` and ``capture_end()`` on one thread is recorded. A replay
    reads the tensors that were there before, as they are then, and writes those that were made or written within.
    Sizes, Python scalars and whatever else decides on the calls are those of the recording. Random numbers are other
    ones at each replay: those that the calls would have drawn.

    Args:
        place: a :class:`paddle.CUDAPlace`, or a name such as ``"gpu:0"``; None: the current device where that is a CUDA
            device, else the first one of ``FLAGS_selected_gpus``, or ``gpu:0``.
        mode: ``"global"``, ``"thread_local"`` or ``"relaxed"``: which calls of other libraries the driver refuses
            while it records. Accepted, without effect: it is ``"relaxed"`` here.
        pool_id: graphs with the same number have their memory in common, and have to be replayed in the order in which
            they were recorded; None: memory of its own.

    Raises:
        ValueError: a device that is not there, or that records no work; a mode that is not among the three.

    Example:
        >>> import paddle
        >>> if paddle.device.cuda.graphs.is_cuda_graph_supported():
        ...     x = paddle.zeros([2], device="gpu:0")
        ...     graph = paddle.device.cuda.graphs.CUDAGraph()
        ...     graph.capture_begin()
        ...     y = x + 1
        ...     graph.capture_end()
        ...     x.fill_(3.0)
        ...     graph.replay()
        ...     assert y.tolist() == [4.0, 4.0]
    """

    def __init__(self, place: Any = None, mode: str = "thread_local", pool_id: int | None = None) -> None:
        from umiak import backends

        if mode not in ALL_MODES:
            raise op_error(ValueError, "CUDAGraph", f"a mode of {ALL_MODES}", repr(mode))
        if place is None and current_place().device_type != "gpu":
            place = "gpu"
        self._place = place_of(place, "CUDAGraph")
        capture = backends.get(self._place).work_capture(self._place, pool_id)
        if capture is None:
            raise op_error(ValueError, "CUDAGraph", "a device whose work can be recorded", self._place.name)
        self._capture = capture

    def capture_begin(self) -> None:
        """Record what this thread hands to the device from now on, in place of doing it.

        What the device's graph held before is given back. While it records, nothing that reads a tensor's elements
        (``numpy``, ``item``, ``bool``) is possible.

        Raises:
            RuntimeError: work of the device is recorded already.
        """
        self._capture.begin()

    def capture_end(self) -> None:
        """End the recording. Tensors that were made within have values after the first replay.

        Raises:
            RuntimeError: nothing is recorded, or by another thread.
        """
        self._capture.end()

    def replay(self) -> None:
        """Do the work that was recorded, on the current stream; the host does not wait.

        Raises:
            RuntimeError: nothing was recorded.
        """
        self._capture.replay()

    def reset(self) -> None:
        """Give the graph back, when its replays are done. Another one can be recorded."""
        self._capture.reset()

    def print_to_dot_files(self, dirname: Any, flags: int | None = None) -> None:
        """Write the graphs of the driver in the language of Graphviz: ``segment_0.dot``, ….

        There is more than one where an op between them runs on the host.

        Args:
            dirname: the folder, which is made where it is not there: text, bytes, or an object with a ``name`` such as
                a temporary folder.
            flags: what is written of a node, as bits of ``cudaGraphDebugDotFlags`` from 1 to 2047; None: everything.

        Raises:
            RuntimeError: nothing was recorded.
            ValueError: flags out of their range.
        """
        folder = os.fsdecode(dirname if isinstance(dirname, (str, bytes, os.PathLike)) else dirname.name)
        if flags is not None and not 0 < flags <= ALL_FLAGS:
            raise op_error(ValueError, "print_to_dot_files", f"flags from 1 to {ALL_FLAGS}", flags)
        os.makedirs(folder, exist_ok=True)
        self._capture.write_dot_files(folder, ALL_FLAGS if flags is None else flags)


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
