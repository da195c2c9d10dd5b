"""States of optimizers as blocks of logical tensors, named after the parameters of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paddle.distributed.flex_checkpoint.dcp.sharded_weight import (
    ShardedWeight,
    create_sharded_weight_with_new_local,
)
from umiak.core.array import from_numpy
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from paddle.optimizer.optimizer import Optimizer, State


class _StateScalar(ShardedWeight):
    """A tensor that stands for a number of an optimizer's state, such as a count of steps."""

    def __init__(self, key: str, tensor: Tensor, like: ShardedWeight | None, scalars: _StateScalars) -> None:
        shape = tuple(tensor.shape)
        if like is None:
            super().__init__(key, tensor, shape, shape, (0,) * len(shape))
        else:
            given = like.is_flattened, like.flattened_range
            super().__init__(key, tensor, like.local_shape, like.global_shape, like.global_offset, *given)
        self.scalars = scalars

    def loaded(self) -> None:
        self.scalars.take()


class _StateScalars:
    """The scalars of one parameter's state as tensors."""

    def __init__(self, optimizer: Optimizer, state: State) -> None:
        self.optimizer, self.state = optimizer, state
        self.tensors = {name: from_numpy(array, state.param.place) for name, array in optimizer._scalars(state).items()}

    def take(self) -> None:
        """Bring the scalars of the tensors into the state."""
        for name, tensor in self.tensors.items():
            self.optimizer._saved[f"{self.state.name}_{name}"] = tensor
        self.optimizer._load_scalars(self.state)


def sharded_states(optimizer: Optimizer, model: Mapping[str, Any]) -> dict[str, ShardedWeight]:
    """``Optimizer.sharded_state_dict``."""
    op_name = f"{type(optimizer).__name__}.sharded_state_dict"
    if not optimizer._states_follow_parameters:
        need = "an optimizer all of whose states are of the shapes of its parameters"
        raise op_error(NotImplementedError, op_name, need, "another", "Save its state_dict() instead.")
    owners: dict[int, ShardedWeight] = {}
    by_name: dict[str, ShardedWeight] = {}
    for key in sorted(model):
        weight = model[key]
        if not isinstance(weight, ShardedWeight):
            raise op_error(TypeError, op_name, f"a ShardedWeight for {key!r}", type(weight).__name__)
        owners.setdefault(id(weight.local_tensor), weight)
        by_name.setdefault(weight.local_tensor.name, weight)
    out: dict[str, ShardedWeight] = {}
    for group in optimizer._groups:
        for p in group["params"]:
            if p.stop_gradient:
                continue
            like = owners.get(id(p)) or by_name.get(p.name)
            if like is None:
                raise op_error(KeyError, op_name, f"parameter {p.name} in the model's dict", f"{len(model)} others")
            with no_grad_guard():
                state = optimizer._states.get(p) or optimizer._make_state(p, group["_hyper"])
            for weight in _weights(optimizer, state, like):
                out[weight.key] = weight
    return out


def _weights(optimizer: Optimizer, state: State, like: ShardedWeight) -> list[ShardedWeight]:
    named = dict(zip(optimizer._accumulator_names(), state.values, strict=True))
    tensors = {f"{name}_0": value for name, value in named.items()}
    if state.master is not None:
        tensors = {"w_0": state.master, **tensors}
    out = [create_sharded_weight_with_new_local(f"{like.key}.{name}", t, like) for name, t in tensors.items()]
    scalars = _StateScalars(optimizer, state)
    own = tuple(state.param.shape)
    for name, t in scalars.tensors.items():
        # Some count in a tensor of the parameter's shape, others in one of shape [1].
        shape = tuple(t.shape)
        out.append(_StateScalar(f"{like.key}.{name}_0", t, like if shape == own and shape != (1,) else None, scalars))
    return out
