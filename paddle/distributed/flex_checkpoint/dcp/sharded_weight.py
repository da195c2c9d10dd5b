"""Blocks of logical tensors that this rank holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddle._public import constants, public
from paddle.distributed.fleet.state import fleet_state
from umiak.checkpoint.box import Box
from umiak.checkpoint.data_model import Block
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@dataclass(frozen=True)
class ShardedWeightDesc:
    """The shapes of a :class:`ShardedWeight` without its values. ``dtype`` is a name such as "float32"."""

    key: str
    local_shape: tuple[int, ...]
    global_shape: tuple[int, ...]
    global_offset: tuple[int, ...]
    dtype: str | None = None


@public("paddle.distributed")
class ShardedWeight:
    """This rank's block of a logical tensor.

    Args:
        key: the name of the logical tensor.
        local_tensor: the values here.
        local_shape: the shape of the block.
        global_shape: the shape of the whole tensor.
        global_offset: where the block begins in it.
        is_flattened: ``local_tensor`` is 1-d and holds only a range of the row-major flattening of the block, as a part
            of a fused buffer does.
        flattened_range: that range, a ``slice`` with start and stop.

    Raises:
        ValueError: shapes that do not fit together.

    Example:
        >>> import paddle
        >>> from paddle.distributed import ShardedWeight
        >>> rows = ShardedWeight("w", paddle.zeros([2, 6]), (2, 6), (4, 6), (2, 0))
        >>> rows.key, rows.global_offset
        ('w', (2, 0))
    """

    def __init__(
        self,
        key: str,
        local_tensor: Tensor,
        local_shape: tuple[int, ...],
        global_shape: tuple[int, ...],
        global_offset: tuple[int, ...],
        is_flattened: bool = False,
        flattened_range: slice | None = None,
    ) -> None:
        self.key = key
        self.local_tensor = local_tensor
        self.local_shape = tuple(map(int, local_shape))
        self.global_shape = tuple(map(int, global_shape))
        self.global_offset = tuple(map(int, global_offset))
        self.is_flattened = bool(is_flattened)
        self.flattened_range = flattened_range
        self._check()

    def _check(self) -> None:
        op_name = f"ShardedWeight {self.key!r}"
        ranks = len(self.local_shape), len(self.global_shape), len(self.global_offset)
        box = Box(self.global_offset, self.local_shape)
        if len(set(ranks)) > 1 or not Box.full(self.global_shape).contains(box):
            got = f"offset {self.global_offset} and shape {self.local_shape}"
            raise op_error(ValueError, op_name, f"a block within the shape {self.global_shape}", got)
        shape = tuple(self.local_tensor.shape)
        if self.is_flattened:
            given = self.flattened_range
            if given is None or given.start is None or given.stop is None or given.step not in (None, 1):
                raise op_error(ValueError, op_name, "flattened_range=slice(start, stop) of a flattened block", given)
            if not 0 <= given.start <= given.stop <= math.prod(self.local_shape):
                raise op_error(ValueError, op_name, f"a range within the shape {self.local_shape}", given)
            if shape != (given.stop - given.start,):
                raise op_error(
                    ValueError, op_name, f"a local tensor of shape [{given.stop - given.start}]", list(shape)
                )
        elif shape != self.local_shape:
            raise op_error(ValueError, op_name, f"a local tensor of shape {list(self.local_shape)}", list(shape))

    def loaded(self) -> None:
        """Called when a load has written ``local_tensor``. A subclass whose tensor stands for something else acts."""

    @property
    def block(self) -> Block:
        """Return this rank's block, as checkpoints name it."""
        given = self.flattened_range
        return Block(
            self.key,
            self.local_tensor.dtype.name,
            self.global_shape,
            Box(self.global_offset, self.local_shape),
            (int(given.start), int(given.stop)) if self.is_flattened and given is not None else None,
        )

    def __repr__(self) -> str:
        flat = f", flattened_range={self.flattened_range}" if self.is_flattened else ""
        return (
            f"ShardedWeight(key={self.key!r}, local_shape={self.local_shape}, global_shape={self.global_shape}, "
            f"global_offset={self.global_offset}{flat})"
        )


ShardedStateDict = dict[str, ShardedWeight]
constants("paddle.distributed", __name__, {"ShardedStateDict": ShardedStateDict})


def make_replicated_sharded_weight(key: str, tensor: Tensor) -> ShardedWeight:
    """A tensor of which every rank holds all.

    Example:
        >>> import paddle
        >>> from paddle.distributed.flex_checkpoint.dcp.sharded_weight import make_replicated_sharded_weight
        >>> make_replicated_sharded_weight("b", paddle.zeros([3])).global_shape
        (3,)
    """
    shape = tuple(tensor.shape)
    return ShardedWeight(key, tensor, shape, shape, (0,) * len(shape))


@public("paddle.distributed")
def shard_weight(key: str, weight: Tensor, axis: int, group: Any) -> ShardedWeight:
    """Describe a tensor that is cut into equal parts along ``axis``, one for each rank of ``group``.

    Args:
        key: the name of the tensor.
        weight: this rank's part.
        axis: the axis that is cut, from 0.
        group: a ``Group``.

    Returns:
        A ``ShardedWeight``.

    Raises:
        ValueError: the tensor has no such axis.

    Example:
        >>> import paddle
        >>> from umiak import comm
        >>> paddle.distributed.shard_weight("w", paddle.zeros([2, 3]), 0, comm.world()).global_shape
        (2, 3)
    """
    shape = tuple(weight.shape)
    if not 0 <= axis < len(shape):
        raise op_error(ValueError, "shard_weight", f"an axis of {key!r} from 0 to {len(shape) - 1}", axis)
    size = group.nranks if hasattr(group, "nranks") else group.size
    global_shape = tuple(n * size if i == axis else n for i, n in enumerate(shape))
    offset = tuple(group.rank * n if i == axis else 0 for i, n in enumerate(shape))
    return ShardedWeight(key, weight, shape, global_shape, offset)


def make_tp_sharded_weight_for_checkpoint(key: str, tensor: Tensor, tensor_parallel_axis: int = 0) -> ShardedWeight:
    """A tensor that is cut along an axis among the ranks of the model-parallel group; whole where there is no such
    group.
    """
    group = _model_parallel_group()
    if group is None:
        return make_replicated_sharded_weight(key, tensor)
    return shard_weight(key, tensor, tensor_parallel_axis, group)


def _model_parallel_group() -> Any:
    state = fleet_state()
    return None if state is None else state.groups.get_model_parallel_group()


@public("paddle.distributed")
def build_sharded_state_dict(
    state_dict: Mapping[str, Tensor], shard_rules: Mapping[str, int] | None = None, prefix: str = ""
) -> ShardedStateDict:
    """Describe the tensors of a layer as blocks.

    Args:
        state_dict: tensors by name.
        shard_rules: by name, the axis along which a tensor is cut among the ranks of the model-parallel group; a name
            that is not among them is replicated. None: all are.
        prefix: put before every name.

    Returns:
        A dict of ``ShardedWeight`` by name.

    Raises:
        TypeError: a value that is no tensor, or an axis that is no int.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 3)
        >>> list(paddle.distributed.build_sharded_state_dict(layer.state_dict(), prefix="fc."))
        ['fc.weight', 'fc.bias']
    """
    rules = shard_rules or {}
    out: ShardedStateDict = {}
    for name, tensor in state_dict.items():
        key = prefix + name
        if not isinstance(tensor, Tensor):
            raise op_error(TypeError, "build_sharded_state_dict", f"a tensor for {name!r}", type(tensor).__name__)
        if name not in rules:
            out[key] = make_replicated_sharded_weight(key, tensor)
        elif not isinstance(rules[name], int) or isinstance(rules[name], bool):
            got = type(rules[name]).__name__
            raise op_error(TypeError, "build_sharded_state_dict", f"an int as the axis of {name!r}", got)
        else:
            out[key] = make_tp_sharded_weight_for_checkpoint(key, tensor, rules[name])
    return out


def create_sharded_weight_with_new_local(
    new_key: str, new_local_tensor: Tensor, reference_tensor: ShardedWeight
) -> ShardedWeight:
    """A block like another, under another name and with other values: a moment beside its parameter.

    Raises:
        ValueError: values of another shape.
    """
    like = reference_tensor
    return ShardedWeight(
        new_key,
        new_local_tensor,
        like.local_shape,
        like.global_shape,
        like.global_offset,
        like.is_flattened,
        like.flattened_range,
    )
