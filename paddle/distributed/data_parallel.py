"""``DataParallel``: the same model on every rank, each with its part of the batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from paddle._public import public
from paddle.distributed.communication.group import member
from paddle.nn.layer.common import Embedding
from paddle.nn.layer.layers import Layer
from paddle.nn.layer.norm import SyncBatchNorm, over_ranks
from umiak import comm
from umiak.comm.buckets import Reducer, broadcast_all, check_same
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

MB = 1 << 20


def sync_params_buffers(
    model: Layer, comm_group: Any = None, src_rank: int = 0, is_model_parallel: bool = False, fuse_params: bool = True,
    is_moe_sharding_parallel: bool = False,
) -> None:  # fmt: skip
    """Give parameters and buffers of a model the values of rank ``src_rank``, a number among all ranks.

    Those with ``no_sync`` set keep theirs, unless they are an ``expert``'s and ``is_moe_sharding_parallel`` is true;
    with ``is_model_parallel`` those with ``is_distributed`` set do, too.
    """
    group = comm.world() if comm_group is None else member(comm_group, "sync_params_buffers")
    if group is None:
        raise op_error(ValueError, "sync_params_buffers", "a group that the caller is in", comm_group)

    def is_shared(x: Tensor) -> bool:
        apart = getattr(x, "no_sync", False) and not (is_moe_sharding_parallel and getattr(x, "expert", False))
        return not apart and not (is_model_parallel and getattr(x, "is_distributed", False))

    shared = [x for _, x in (*model.named_parameters(), *model.named_buffers()) if x is not None and is_shared(x)]
    if group.size > 1 and shared:
        broadcast_all(shared, group, group.ranks.index(src_rank))


@public("paddle")
class DataParallel(Layer):
    """A layer whose gradients are the means over all ranks: each computes its part of the batch.

    At construction the parameters and buffers of the first rank of the group are given to the others. During
    ``backward()`` gradients are gathered in buckets; one that is full is averaged while the pass goes on. When
    ``backward()`` returns, the gradients are those of all ranks. They are views of the buckets: keep a copy of one, not
    the tensor, beyond the next step.

    Optimizers, clipping and loss scaling then do the same on every rank, and the parameters stay equal.

    Args:
        layers: the model; it can be called with or without the wrapper.
        strategy: a ``ParallelStrategy`` of older programs, which sets nothing.
        comm_buffer_size: megabytes that a bucket may have at most.
        last_comm_buffer_size: megabytes that the last bucket may have.
        find_unused_parameters: accept parameters that get no gradient on some rank: it counts as zero.
        group: the ranks; all by default.

    Shape:
        input: what the model takes: this rank's part of the batch.
        output: what the model returns for it.

    Raises:
        ValueError: the layer has no parameters to be trained, or the ranks have different ones.
        RuntimeError: in ``backward()``, if a parameter got no gradient on some rank or the pass failed there.

    Example:
        >>> import paddle
        >>> _ = paddle.distributed.init_parallel_env()
        >>> model = paddle.DataParallel(paddle.nn.Linear(4, 2))
        >>> opt = paddle.optimizer.SGD(0.1, parameters=model.parameters())
        >>> model(paddle.ones([8, 4])).mean().backward()
        >>> opt.step()
        >>> opt.clear_grad()
    """

    def __init__(
        self,
        layers: Layer,
        strategy: Any = None,
        comm_buffer_size: float = 25,
        last_comm_buffer_size: float = 1,
        find_unused_parameters: bool = False,
        group: Any = None,
    ) -> None:
        if not isinstance(layers, Layer):
            raise op_error(TypeError, "DataParallel", "a layer", type(layers).__name__)
        super().__init__(layers.full_name() + "_data_parallel")
        for arg_name, size in (
            ("comm_buffer_size", comm_buffer_size),
            ("last_comm_buffer_size", last_comm_buffer_size),
        ):
            if not size > 0:
                raise op_error(ValueError, "DataParallel", f"{arg_name} above 0", size)
        named = [(name, p) for name, p in layers.named_parameters() if p is not None]
        if all(p.stop_gradient for _, p in named):
            raise op_error(ValueError, "DataParallel", "a layer with parameters to be trained", repr(layers))
        self._layers = layers
        self.find_unused_parameters = find_unused_parameters
        self.comm_buffer_size, self.last_comm_buffer_size = comm_buffer_size, last_comm_buffer_size
        comm_group = comm.world() if group is None else member(group, "DataParallel")
        if comm_group is None:
            raise op_error(ValueError, "DataParallel", "a group that the caller is in", group)
        self._named = named
        self._group: comm.Group = comm_group
        self._reducer: Reducer | None = None
        if comm_group.size > 1:
            held = [*named, *layers.named_buffers()]
            check_same(
                lambda: [f"{name} {x.dtype.name}{list(x.shape)}" for name, x in held], comm_group, "DataParallel"
            )
            broadcast_all([x for _, x in held], comm_group)
            if group is not None:
                for layer in layers.sublayers(include_self=True):
                    if isinstance(layer, SyncBatchNorm):
                        layer.total = over_ranks(comm_group)
            self.init_reducer()

    def init_reducer(self) -> None:
        """Begin to reduce gradients; the constructor does it."""
        if self._reducer is not None:
            self._reducer.close()
        tables = {id(x.weight) for x in self._layers.sublayers(True) if isinstance(x, Embedding) and x._sparse}
        self._reducer = Reducer(
            self._named,
            self._group,
            self.comm_buffer_size * MB,
            self.last_comm_buffer_size * MB,
            self.find_unused_parameters,
            [i for i, (_, p) in enumerate(self._named) if id(p) in tables],
        )

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self._layers(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """``backward()`` in here adds to this rank's gradients alone; the next one outside reduces all that came.

        Example:
            >>> import paddle
            >>> model = paddle.DataParallel(paddle.nn.Linear(4, 2))
            >>> with model.no_sync():
            ...     model(paddle.ones([8, 4])).mean().backward()
            >>> model(paddle.zeros([8, 4])).mean().backward()
        """
        if self._reducer is None:
            yield
        else:
            with self._reducer.paused():
                yield

    def scale_loss(self, loss: Tensor) -> Tensor:
        """``loss`` as it is: gradients are means over the ranks. For programs that call it."""
        return loss

    def apply_collective_grads(self) -> None:
        """Nothing: ``backward()`` has reduced the gradients. For programs that call it."""

    # The keys are those of the layer within.

    def state_dict(  # type: ignore[override]  # the parameters that the reference framework has
        self,
        destination: dict[str, Any] | None = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
    ) -> dict[str, Any]:
        """The state of the layer within, under its own keys."""
        return self._layers.state_dict(destination, include_sublayers, structured_name_prefix)

    def set_state_dict(
        self, state_dict: Mapping[str, Any], use_structured_name: bool = True
    ) -> tuple[list[str], list[str]]:
        """Load a state of the layer within. Every rank does it."""
        return self._layers.set_state_dict(state_dict, use_structured_name)

    set_dict = set_state_dict
    load_dict = set_state_dict
