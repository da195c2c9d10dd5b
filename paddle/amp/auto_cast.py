"""Mixed precision: which ops run in float16 or bfloat16, and models cast for it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from paddle._public import also, public
from paddle.nn.layer._conversion import convert_own
from paddle.nn.layer.layers import Layer
from paddle.nn.layer.norm import InstanceNorm1D, InstanceNorm2D, InstanceNorm3D, LayerNorm, _BatchNormBase
from umiak import ops as F
from umiak.compiler.amp import custom_lists
from umiak.core import dtype as dt
from umiak.core.context import current
from umiak.core.dtype import DType, convert, from_id
from umiak.ops.base import REGISTRY
from umiak.util.arguments import several
from umiak.util.errors import op_error

_LEVELS = {"O0": 0, "OD": 1, "O1": 1, "O2": 2}

# Names of the reference framework's ops for ops that are called otherwise here.
_NAMES = {
    "matmul_v2": "matmul",
    "mul": "matmul",
    "elementwise_add": "add",
    "elementwise_sub": "sub",
    "elementwise_mul": "mul",
    "elementwise_div": "div",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "conv1d": "conv",
    "conv2d": "conv",
    "conv3d": "conv",
    "depthwise_conv2d": "conv",
    "conv2d_transpose": "conv_transpose",
    "reduce_sum": "sum",
    "reduce_mean": "mean",
    "lookup_table_v2": "embedding",
    "flash_attn": "attention",
    "sigmoid": "logistic",
    "cross_entropy_with_softmax": "softmax_cross_entropy",
    "softmax_with_cross_entropy": "softmax_cross_entropy",
}


def _low_dtype(op_name: str, dtype: Any) -> DType:
    low = convert(dtype)
    if low not in (dt.float16, dt.bfloat16):
        raise ValueError(f"[{op_name}] requires dtype 'float16' or 'bfloat16', got {dtype!r}")
    return low


def op_names(names: Iterable[str] | None) -> frozenset[str]:
    return frozenset(n if n in REGISTRY else _NAMES.get(n, n) for n in names or ())


def names_given(op_name: str, arg_name: str, names: Iterable[str] | None) -> frozenset[str]:
    """Names of ops that a caller has given. A text counts as its letters, as in the reference, which are no ops."""
    if isinstance(names, str) and names:
        warnings.warn(
            f"[{op_name}] takes {arg_name} for a collection of names: of the text {names!r} each letter is one. Write "
            f"[{names!r}]",
            stacklevel=3,
        )
    names = list(names or ())
    if wrong := [n for n in names if not isinstance(n, str)]:
        raise TypeError(f"[{op_name}] requires names of ops as {arg_name}, got {wrong[0]!r}")
    return op_names(names)


def _mode() -> tuple[int, int, int]:
    """Level, dtype id and id of the lists."""
    context: Any = current()
    return context.amp()


def amp_state() -> dict[str, Any] | None:
    """The mode of :class:`auto_cast` that ops run under: ``level`` and ``dtype`` by their names; None outside of it."""
    level, dtype, _ = _mode()
    names = {number: name for name, number in _LEVELS.items()}
    return {"enable": True, "level": names[level], "dtype": from_id(dtype).name} if level else None


@public("paddle.amp")
class auto_cast:
    """Run ops in low precision where that is safe: matmuls are, losses and exponentials are not.

    Works with ``with`` and as a decorator. Casts happen inside the ops: nothing is added to the program.

    Args:
        enable: False does nothing.
        custom_white_list: names of ops that run in low precision, too.
        custom_black_list: names of ops that run in float32.
        level: ``"O0"`` (off), ``"O1"`` (ops that gain by it run in low precision, unsafe ones in float32, others in the
            widest type of their operands), ``"O2"`` (the same, for models that ``decorate`` has cast), ``"OD"`` (all
            but the first kind run in float32).
        dtype: ``"float16"`` or ``"bfloat16"``.
        use_promote: at level O2, False runs ops with mixed operands in low precision too.

    Raises:
        TypeError: a name that is no text.
        ValueError: an unknown level or dtype, or an op on both lists.

    Example:
        >>> import paddle
        >>> with paddle.amp.auto_cast(dtype="bfloat16"):
        ...     paddle.matmul(paddle.ones([2, 2]), paddle.ones([2, 2])).dtype
        paddle.bfloat16
    """

    def __init__(
        self,
        enable: bool = True,
        custom_white_list: Iterable[str] | None = None,
        custom_black_list: Iterable[str] | None = None,
        level: str = "O1",
        dtype: Any = "float16",
        use_promote: bool = True,
    ) -> None:
        if level not in _LEVELS:
            raise ValueError(f"[auto_cast] requires level 'O0', 'OD', 'O1' or 'O2', got {level!r}")
        white = names_given("auto_cast", "custom_white_list", custom_white_list)
        black = names_given("auto_cast", "custom_black_list", custom_black_list)
        if white & black:
            raise ValueError(f"[auto_cast] requires lists that do not overlap, got both with {sorted(white & black)}")
        self._level = _LEVELS[level] if enable else 0
        self._dtype = _low_dtype("auto_cast", dtype)
        rest = "deny" if level == "OD" else "allow" if level == "O2" and not use_promote else "promote"
        self._lists = custom_lists(white, black, rest)
        self._saved: list[tuple[int, int, int]] = []

    def __enter__(self) -> None:
        self._saved.append(_mode())
        current().set_amp(self._level, self._dtype.id, self._lists)

    def __exit__(self, *exc: object) -> None:
        current().set_amp(*self._saved.pop())

    def __call__(self, fn: Callable) -> Callable:
        @functools.wraps(fn)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self:
                return fn(*args, **kwargs)

        return run


amp_guard = also(auto_cast, "amp_guard", "paddle.amp")


@public("paddle paddle.amp")
def autocast(
    device_type: str | None, dtype: Any = "float16", enabled: bool = True, cache_enabled: bool = True
) -> auto_cast:
    """Make an :class:`auto_cast` of level O1, with the arguments in another order.

    Args:
        device_type: accepted; every device computes in low precision.
        dtype: ``"float16"`` or ``"bfloat16"``.
        enabled: False does nothing.
        cache_enabled: accepted; casts happen inside the ops, so that there is nothing to keep.

    Returns:
        An :class:`auto_cast`, for ``with`` or as a decorator.

    Raises:
        ValueError: an unknown dtype.

    Example:
        >>> import paddle
        >>> with paddle.amp.autocast("cpu", "bfloat16"):
        ...     paddle.matmul(paddle.ones([2, 2]), paddle.ones([2, 2])).dtype
        paddle.bfloat16
    """
    return auto_cast(enable=enabled, dtype=dtype)


@public("paddle paddle.amp")
def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Say whether :class:`auto_cast` is on here.

    Args:
        device_type: accepted; it is on for all devices or for none.

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> with paddle.amp.auto_cast():
        ...     paddle.amp.is_autocast_enabled()
        True
    """
    return _mode()[0] > 0


@public("paddle paddle.amp")
def get_autocast_dtype(device_type: str | None = None) -> str:
    """Name of the dtype that :class:`auto_cast` casts to.

    Args:
        device_type: accepted; it is the same for all devices.

    Returns:
        A str: ``"float16"`` or ``"bfloat16"``; where it is off, ``"float16"``.

    Example:
        >>> import paddle
        >>> with paddle.amp.auto_cast(dtype="bfloat16"):
        ...     paddle.amp.get_autocast_dtype()
        'bfloat16'
    """
    level, dtype_id, _ = _mode()
    return from_id(dtype_id).name if level else "float16"


get_autocast_cpu_dtype = also(get_autocast_dtype, "get_autocast_cpu_dtype", "paddle paddle.amp")
get_autocast_gpu_dtype = also(get_autocast_dtype, "get_autocast_gpu_dtype", "paddle paddle.amp")


@public("paddle.amp")
def is_bfloat16_supported(device: Any = None) -> bool:
    """Say whether ops run in bfloat16: on every device.

    Args:
        device: accepted; the answer is the same for all.

    Returns:
        True.

    Example:
        >>> import paddle
        >>> paddle.amp.is_bfloat16_supported()
        True
    """
    return True


@public("paddle.amp")
def is_float16_supported(device: Any = None) -> bool:
    """Say whether ops run in float16: on every device.

    Args:
        device: accepted; the answer is the same for all.

    Returns:
        True.

    Example:
        >>> import paddle
        >>> paddle.amp.is_float16_supported()
        True
    """
    return True


@public("paddle.amp")
def decorate(
    models: Any,
    optimizers: Any = None,
    level: str = "O1",
    dtype: Any = "float16",
    master_weight: bool | None = None,
    save_dtype: Any = None,
    master_grad: bool = False,
    excluded_layers: Any = None,
) -> Any:
    """Prepare models and optimizers for :class:`auto_cast`: at level O2, parameters are cast to ``dtype``.

    Args:
        models: a layer or a list of them, changed in place. Batch norms keep their dtype, with float16 layer and
            instance norms too.
        optimizers: an optimizer or a list of them; they keep float32 copies of the parameters. None: models alone.
        level: ``"O1"`` changes nothing, ``"O2"`` casts.
        dtype: ``"float16"`` or ``"bfloat16"``.
        master_weight: False for no float32 copies; None is True.
        save_dtype: the dtype that ``state_dict`` gives floating parameters in; None: that which they have.
        master_grad: gradients of low-precision parameters are kept, and summed, in float32.
        excluded_layers: a layer, a layer class, or a list of them, that keep their dtype.

    Returns:
        The models, or ``(models, optimizers)`` where optimizers are given.

    Raises:
        TypeError: something in excluded_layers that is neither a layer nor a class of layers; models that are no
            layers, or optimizers that are none.
        ValueError: an unknown level or dtype.
        RuntimeError: a model whose parameters are not float32.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
        >>> layer, opt = paddle.amp.decorate(layer, opt, level="O2", dtype="bfloat16")
        >>> layer.weight.dtype
        paddle.bfloat16
    """
    if level not in ("O1", "O2"):
        raise ValueError(f"[decorate] requires level 'O1' or 'O2', got {level!r}")
    low = _low_dtype("decorate", dtype)
    many = isinstance(models, (list, tuple))
    if level == "O2":
        excluded = excluded_layers if isinstance(excluded_layers, (list, tuple)) else [excluded_layers]
        if wrong := [e for e in excluded if e is not None and not isinstance(e, (Layer, type))]:
            raise op_error(TypeError, "decorate", "layers or classes of layers as excluded_layers", wrong[0])
        classes = (_BatchNormBase, *(e for e in excluded if isinstance(e, type)))
        if low is dt.float16:
            classes += (LayerNorm, InstanceNorm1D, InstanceNorm2D, InstanceNorm3D)
        kept = {id(below) for e in excluded if isinstance(e, Layer) for below in e.sublayers(include_self=True)}
        several("decorate", "a layer or a list of layers as models", models if many else [models], Layer)
        for model in models if many else [models]:
            _cast_model(model, low, classes, kept, None if save_dtype is None else convert(save_dtype))
            if master_grad:
                _keep_wide_gradients(model)
        given = [] if optimizers is None else optimizers if isinstance(optimizers, (list, tuple)) else [optimizers]
        for optimizer in several("decorate", "an optimizer or a list of them as optimizers", given):
            if not hasattr(optimizer, "step"):
                required = "an optimizer or a list of them as optimizers"
                raise op_error(TypeError, "decorate", required, type(optimizer).__name__)
            optimizer._multi_precision = master_weight is not False
    return models if optimizers is None else (models, optimizers)


amp_decorate = also(decorate, "amp_decorate", "paddle.amp")


def _cast_model(model: Layer, low: DType, classes: tuple, kept: set[int], save: DType | None) -> None:
    for layer in model.sublayers(include_self=True):
        if isinstance(layer, classes) or id(layer) in kept:
            continue
        for p in layer._parameters.values():
            if p is not None and p.dtype.is_floating and p.dtype not in (dt.float32, low):
                raise RuntimeError(f"[decorate] requires float32 parameters, got {p.name} of {p.dtype.name}")
        convert_own(layer, low)
    if save is not None:

        def as_saved(state: dict) -> dict:
            return {k: v.astype(save) if v.dtype.is_floating and v.dtype is not save else v for k, v in state.items()}

        model.register_state_dict_hook(as_saved)


class _Widen:
    """A gradient hook that gives low-precision gradients in float32."""

    changes_dtype = True

    def __call__(self, grad: Any) -> Any:
        return F.cast(grad, dtype=dt.float32)


def _keep_wide_gradients(model: Layer) -> None:
    for p in model.parameters():
        if p.dtype in (dt.float16, dt.bfloat16) and not p.stop_gradient:
            p.register_hook(_Widen())
