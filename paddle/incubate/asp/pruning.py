"""Layers pruned to n:m sparsity, and optimizers that keep the zeros."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from paddle._public import public
from paddle.incubate.asp.masks import MaskAlgo, array_of, create_mask
from paddle.nn.layer.layers import Layer, _snake
from paddle.optimizer.optimizer import Optimizer
from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.context import no_grad_guard
from umiak.core.foreach import apply_foreach_into
from umiak.util.errors import op_error

_LOG = logging.getLogger("paddle.asp")
_ALGORITHMS = {
    "mask_1d": MaskAlgo.MASK_1D,
    "mask_2d_greedy": MaskAlgo.MASK_2D_GREEDY,
    "mask_2d_best": MaskAlgo.MASK_2D_BEST,
}
Pruning = Callable[[np.ndarray, int, int, MaskAlgo, str], tuple[np.ndarray, np.ndarray]]
MASK = ".asp_mask"  # what the name of a mask adds to that of its parameter


def _default_pruning(
    weight: np.ndarray, m: int, n: int, algorithm: MaskAlgo, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Zeroes along the input features of a weight ``[in, out]``, or the input channels of a kernel ``[out, in, …]``."""
    at = 1 if weight.ndim == 4 else 0
    if weight.shape[at] < m:
        which = ("first", "second")[at]
        _LOG.warning("%s is not pruned: the %s dim of %s is smaller than %d", name, which, weight.shape, m)
        return weight, np.ones_like(weight)
    mask = np.ascontiguousarray(create_mask(weight.T, algorithm, n, m).T)
    return weight * mask, mask


_SUPPORTED: dict[str, Pruning] = {"linear": _default_pruning, "conv2d": _default_pruning}
_excluded: set[str] = set()


@public("paddle.incubate.asp", usual=False)
def add_supported_layer(layer: Layer | type[Layer] | str, pruning_func: Pruning | None = None) -> None:
    """Prune parameters of another kind of layers, too.

    Args:
        layer: a class of layers, one of its layers, or the beginning of their names, such as ``"linear"``.
        pruning_func: called with a weight as an array, m, n, the ``MaskAlgo`` and the parameter's name; returns the
            pruned weight and the mask. None: as weights of ``Linear`` are pruned.

    Raises:
        TypeError: ``layer`` is something else.

    Example:
        >>> import paddle
        >>> paddle.incubate.asp.add_supported_layer("my_layer")
    """
    if isinstance(layer, Layer):
        layer = type(layer)
    if isinstance(layer, type) and issubclass(layer, Layer):
        layer = _snake(layer.__name__)
    if not isinstance(layer, str):
        raise op_error(TypeError, "add_supported_layer", "a layer, a class of layers or a name", type(layer).__name__)
    _SUPPORTED[layer] = pruning_func if pruning_func is not None else _default_pruning


@public("paddle.incubate.asp", usual=False)
def set_excluded_layers(param_names: Iterable[str], main_program: Any = None) -> None:
    """Leave parameters as they are when models are pruned.

    Args:
        param_names: beginnings of names of parameters, such as ``"linear_0"``.
        main_program: accepted; there are no programs of which some could be left out.

    Raises:
        TypeError: no names.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(8, 4)
        >>> paddle.incubate.asp.set_excluded_layers([layer.weight.name])
        >>> paddle.incubate.asp.prune_model(layer)
        {}
        >>> paddle.incubate.asp.reset_excluded_layers()
    """
    _excluded.update([param_names] if isinstance(param_names, str) else param_names)


@public("paddle.incubate.asp", usual=False)
def reset_excluded_layers(main_program: Any = None) -> None:
    """Take back every :func:`set_excluded_layers`.

    Args:
        main_program: accepted.

    Example:
        >>> import paddle
        >>> paddle.incubate.asp.reset_excluded_layers()
    """
    _excluded.clear()


def _weights(model: Layer) -> Iterable[tuple[Any, Pruning]]:
    """Parameters that are pruned, and how."""
    for layer in model.sublayers(include_self=True):
        names = _SUPPORTED.get(layer.full_name().rpartition("_")[0]) or _SUPPORTED.get(_snake(type(layer).__name__))
        for p in layer.parameters(include_sublayers=False) if names is not None else ():
            if p.ndim > 1 and not any(p.name.startswith(name) for name in _excluded):
                yield p, names  # type: ignore[misc]


@public("paddle.incubate.asp", usual=False)
def prune_model(
    model: Layer, n: int = 2, m: int = 4, mask_algo: str = "mask_1d", with_mask: bool = True
) -> dict[str, np.ndarray]:
    """Set parameters of a model to n:m sparsity: of every m inputs of a feature, n have weight 0.

    Weights of ``Linear`` and ``Conv2D`` are pruned, and those of what :func:`add_supported_layer` named.

    Args:
        model: a layer.
        n: how many elements are zero (``"mask_1d"``), or stay.
        m: of how many.
        mask_algo: ``"mask_1d"``, ``"mask_2d_greedy"`` or ``"mask_2d_best"``.
        with_mask: whether optimizers of :func:`decorate` keep the zeros.

    Returns:
        The masks, by the names of parameters.

    Raises:
        TypeError: ``model`` is no layer.
        ValueError: there is no such algorithm.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(8, 4)
        >>> opt = paddle.incubate.asp.decorate(paddle.optimizer.SGD(0.1, parameters=layer.parameters()))
        >>> masks = paddle.incubate.asp.prune_model(layer)
        >>> paddle.incubate.asp.calculate_density(layer.weight)
        0.5
    """
    if not isinstance(model, Layer):
        raise op_error(TypeError, "prune_model", "a layer", type(model).__name__)
    if mask_algo not in _ALGORITHMS:
        raise op_error(ValueError, "prune_model", f"a mask_algo of {list(_ALGORITHMS)}", repr(mask_algo))
    found = {}
    for p, prune in _weights(model):
        weight, mask = prune(p.numpy(), m, n, _ALGORITHMS[mask_algo], p.name)
        with no_grad_guard():
            p.set_value(np.asarray(weight, p.dtype.numpy))
        found[p.name] = mask
        if with_mask:
            _remember(p, mask)
    return found


def _remember(p: Any, values: Any) -> None:
    """Make a parameter carry its mask."""
    mask = from_numpy(np.ascontiguousarray(values, p.dtype.numpy), p.place)
    mask.name = p.name + MASK
    p._asp_mask = mask


@public("paddle.incubate.asp", usual=False)
def decorate(optimizer: Optimizer) -> OptimizerWithSparsityGuarantee:
    """Make an optimizer keep the zeros that :func:`prune_model` has made, before or after this call.

    Args:
        optimizer: any optimizer.

    Returns:
        An object with the methods and attributes of the optimizer.

    Raises:
        TypeError: something else.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(8, 4)
        >>> opt = paddle.incubate.asp.decorate(paddle.optimizer.SGD(0.1, parameters=layer.parameters()))
        >>> masks = paddle.incubate.asp.prune_model(layer)
        >>> layer(paddle.ones([1, 8])).sum().backward()
        >>> opt.step()
        >>> paddle.incubate.asp.calculate_density(layer.weight) <= 0.5
        True
    """
    if not isinstance(optimizer, Optimizer):
        raise op_error(TypeError, "decorate", "an optimizer", type(optimizer).__name__)
    return OptimizerWithSparsityGuarantee(optimizer)


class OptimizerWithSparsityGuarantee:
    """An optimizer whose steps end with the masks of its parameters."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer

    def __getattr__(self, name: str) -> Any:
        if name == "_optimizer":  # not set yet: a copy is being made
            raise AttributeError(name)
        return getattr(self._optimizer, name)

    def _masked(self) -> list[tuple[Any, Any]]:
        """Pairs of a parameter and its mask."""
        pairs = ((p, getattr(p, "_asp_mask", None)) for p in self._optimizer._parameter_list)
        return [(p, mask) for p, mask in pairs if mask is not None]

    def step(self) -> None:
        """Update the parameters; what a mask zeroes stays zero."""
        self._optimizer.step()
        self._mask()

    def minimize(self, *args: Any, **kw: Any) -> Any:
        """Update the parameters as the optimizer's ``minimize`` does; what a mask zeroes stays zero."""
        result = self._optimizer.minimize(*args, **kw)
        self._mask()
        return result

    def _mask(self) -> None:
        with no_grad_guard():
            apply_foreach_into(F.Mul(), [((p,), (p, mask), ()) for p, mask in self._masked()])

    def state_dict(self) -> dict[str, Any]:
        """Make a dict of the optimizer's states and the masks, such as ``linear_0.w_0.asp_mask``."""
        return {**self._optimizer.state_dict(), **{p.name + MASK: mask for p, mask in self._masked()}}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from saved states and masks.

        Args:
            state_dict: what :meth:`state_dict` returned.
        """
        for p in self._optimizer._parameter_list:
            if p.name + MASK in state_dict:
                _remember(p, array_of(state_dict[p.name + MASK]))
        self._optimizer.set_state_dict({k: v for k, v in state_dict.items() if not k.endswith(MASK)})

    load_state_dict = set_state_dict
    set_dict = set_state_dict


@public("paddle.incubate.asp", usual=False)
class ASPHelper:
    """The functions of this package, as methods.

    Example:
        >>> import paddle
        >>> masks = paddle.incubate.asp.ASPHelper.prune_model_by_layer(paddle.nn.Linear(8, 4))
    """

    MASK_APPENDDED_NAME = MASK[1:]
    decorate = staticmethod(decorate)
    set_excluded_layers = staticmethod(set_excluded_layers)
    reset_excluded_layers = staticmethod(reset_excluded_layers)

    @staticmethod
    def prune_model_by_layer(
        layer: Layer,
        n: int = 2,
        m: int = 4,
        mask_algo: MaskAlgo = MaskAlgo.MASK_1D,
        with_mask: bool = True,
    ) -> dict[str, np.ndarray]:
        """Prune a layer, see :func:`prune_model`.

        Args:
            layer: the layer.
            n: how many elements are zero, or stay.
            m: of how many.
            mask_algo: how masks are chosen.
            with_mask: whether decorated optimizers keep the zeros.

        Returns:
            The masks, by the names of parameters.
        """
        words = {algorithm: word for word, algorithm in _ALGORITHMS.items()}
        return prune_model(layer, n, m, words[mask_algo], with_mask)
