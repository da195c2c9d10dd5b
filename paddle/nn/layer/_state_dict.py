"""Methods of :class:`~paddle.nn.Layer` that save and load: its parameters and buffers as a dict by name."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import paddle
from paddle.nn.layer._hooks import HookRemoveHelper
from umiak.core import inplace
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from paddle.nn.layer.layers import Layer


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The result of ``load_state_dict``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if any(self) else "<All keys matched successfully>"


def _state_dict_impl(
    self: Layer,
    destination: dict[str, Any] | None = None,
    include_sublayers: bool = True,
    structured_name_prefix: str = "",
    include_non_persistable_buffer: bool = False,
    use_hook: bool = True,
    keep_vars: bool = True,
) -> dict[str, Any]:
    """The dict of :func:`state_dict` and :func:`to_static_state_dict`, which call it, as it does for each layer inside:
    a class may have one of its own. ``include_non_persistable_buffer``: with the buffers that are not persistable."""
    into = OrderedDict() if destination is None else destination

    def put(name: str, value: Tensor) -> None:
        into[structured_name_prefix + name] = value if keep_vars else value.detach()

    for name, p in self._parameters.items():
        if p is not None:
            put(name, p)
    for name, b in self._buffers.items():
        if b is not None and (include_non_persistable_buffer or name not in self._non_persistable_buffer_names_set):
            put(name, b)
    if include_sublayers:
        for name, layer in self._sub_layers.items():
            if layer is not None:
                inner = f"{structured_name_prefix}{name}."
                into = layer._state_dict_impl(into, True, inner, include_non_persistable_buffer, use_hook, keep_vars)
    if use_hook:
        for hook in list(self._state_dict_hooks.values()):
            result = hook(into)
            if result is not None:
                into = result
    return into


def state_dict(
    self: Layer,
    destination: dict[str, Any] | None = None,
    include_sublayers: bool = True,
    structured_name_prefix: str = "",
    use_hook: bool = True,
    keep_vars: bool = True,
    *,
    prefix: str | None = None,
) -> dict[str, Any]:
    """Parameters and persistable buffers by dotted name.

    Args:
        destination: the dict to fill, a new one by default.
        include_sublayers: False for this layer's own only.
        structured_name_prefix: text put before every name.
        use_hook: run the hooks of ``register_state_dict_hook``.
        keep_vars: False gives detached tensors instead of the parameters themselves.
        prefix: another keyword for ``structured_name_prefix``.

    Returns:
        ``destination``, or what a hook returned instead.

    Example:
        >>> import paddle
        >>> list(paddle.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
    """
    scope = prefix or structured_name_prefix
    return self._state_dict_impl(destination, include_sublayers, scope, False, use_hook, keep_vars)


def to_static_state_dict(
    self: Layer,
    destination: dict[str, Any] | None = None,
    include_sublayers: bool = True,
    structured_name_prefix: str = "",
    use_hook: bool = True,
    keep_vars: bool = True,
    *,
    prefix: str | None = None,
) -> dict[str, Any]:
    """The same as :meth:`state_dict`, with the buffers that are not persistable too."""
    scope = prefix or structured_name_prefix
    return self._state_dict_impl(destination, include_sublayers, scope, True, use_hook, keep_vars)


def sharded_state_dict(self: Layer, structured_name_prefix: str = "") -> dict[str, Any]:
    """The parts of parameters and persistable buffers that this rank holds, as ``ShardedWeight`` by dotted name.

    A layer that holds a part of a tensor defines this for itself; here every tensor is whole.

    Args:
        structured_name_prefix: put before every name.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Sequential(paddle.nn.Linear(2, 3))
        >>> layer.sharded_state_dict()["0.weight"].global_shape
        (2, 3)
    """
    from paddle.distributed.flex_checkpoint.dcp.sharded_weight import build_sharded_state_dict

    own = self.state_dict(include_sublayers=False)
    out = dict(build_sharded_state_dict(own, None, structured_name_prefix))
    for name, layer in self._sub_layers.items():
        if layer is not None:
            out.update(layer.sharded_state_dict(f"{structured_name_prefix}{name}."))
    return out


def full(self: Layer, aoa_config: Mapping[str, Any] | None = None, **kwargs: Any) -> Iterator[tuple[str, Tensor]]:
    """All parameters and persistable buffers, whole, one after the other by name, put together from all ranks.

    All ranks iterate together. Tensors are merged in batches of at most 256 MiB.

    Args:
        aoa_config: a dict of ``"aoa_statements"`` that rename and rearrange, as for
            ``paddle.distributed.load_state_dict``.
        process_group: the ranks that hold the parts; all by default.
        h_group, v_group: instead of it, two groups that cross in this rank, for the ranks of both.
        num_splits, shard_idx: with these two, only part ``shard_idx`` of the sorted names cut into ``num_splits``.
        memory_growth_threshold: bytes of a batch, where fewer than 256 MiB.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 3)
        >>> statements = ["weight^T -> w", "bias -> _"]
        >>> [(name, t.shape) for name, t in layer.full({"aoa_statements": statements})]
        [('w', paddle.Size([3, 2]))]
    """
    from paddle.distributed.flex_checkpoint.dcp.full_param import full_param

    return full_param(self.sharded_state_dict(), aoa_config, **kwargs)


def register_state_dict_hook(self: Layer, hook: Callable[[dict], Any]) -> HookRemoveHelper:
    """Call ``hook(state_dict)`` whenever ``state_dict`` has been filled; it may change it or return another."""
    handle = HookRemoveHelper(self._state_dict_hooks)
    self._state_dict_hooks.put(handle._hook_id, hook)
    return handle


def set_state_dict(
    self: Layer, state_dict: Mapping[str, Any], use_structured_name: bool = True
) -> tuple[list[str], list[str]]:
    """Copy values into the parameters and buffers, in place.

    Entries that are missing or have another shape are skipped with a warning. A shape of one element fits any of
    one element.

    Args:
        state_dict: tensors or arrays by dotted name.
        use_structured_name: False where they are by ``tensor.name``.

    Returns:
        Names that were not loaded, and those of ``state_dict`` that found no place.

    Raises:
        TypeError: an entry has another dtype, or what is given is no dict.

    Example:
        >>> import paddle
        >>> a, b = paddle.nn.Linear(2, 3), paddle.nn.Linear(2, 3)
        >>> b.set_state_dict(a.state_dict())
        ([], [])
    """
    if not hasattr(state_dict, "keys"):
        raise op_error(TypeError, "set_state_dict", "a dict of tensors by name", type(state_dict).__name__)
    matched, missing, used = [], [], set()
    for key, own in self.state_dict(use_hook=False).items():
        name = key if use_structured_name else own.name
        if name not in state_dict:
            problem = f"{name} is not found in the provided dict"
        else:
            value = state_dict[name]
            shape = list(value.shape)
            if shape == list(own.shape):
                matched.append((name, own, value))
                used.add(name)
                continue
            problem = f"{name} has shape {shape}, but {list(own.shape)} is required"
        warnings.warn(f"Skip loading for {key}: {problem}.", stacklevel=2)
        missing.append(key)
    for name, own, value in matched:
        _copy_into(own, value, name)
    return missing, [k for k in state_dict if k not in used]


def load_state_dict(
    self: Layer, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
) -> _IncompatibleKeys:
    """Like ``set_state_dict``, raising RuntimeError for missing or unexpected keys when ``strict``.

    With ``assign`` the tensors become the parameters' data instead of being copied, and may have another dtype.
    """
    if assign:
        own = self.state_dict(use_hook=False)
        fits = {k: v for k, v in state_dict.items() if k in own and list(v.shape) == list(own[k].shape)}
        for k, v in fits.items():
            own[k]._share((v if isinstance(v, Tensor) else paddle.to_tensor(v)).detach())
        missing, unexpected = [k for k in own if k not in fits], [k for k in state_dict if k not in fits]
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            missing, unexpected = self.set_state_dict(state_dict)
    if strict and (missing or unexpected):
        lines = [f"[{type(self).__name__}.load_state_dict] the keys do not fit:"]
        if missing:
            lines.append(f"Missing key(s) in state_dict: {', '.join(map(repr, missing))}.")
        if unexpected:
            lines.append(f"Unexpected key(s) in state_dict: {', '.join(map(repr, unexpected))}.")
        raise RuntimeError("\n\t".join(lines))
    return _IncompatibleKeys(missing, unexpected)


def _copy_into(own: Tensor, value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        value = paddle.to_tensor(np.asarray(value))
    if value.dtype is not own.dtype:
        raise TypeError(f"[set_state_dict] requires {name} of dtype {own.dtype.name}, got {value.dtype.name}")
    if getattr(own, "_managed", False):  # a variable of a program, whose values are those of a scope
        own.set_value(value)
        return
    with no_grad_guard():
        inplace.assign(own, value.detach() if value.place is own.place else value.to(own.place).detach())
