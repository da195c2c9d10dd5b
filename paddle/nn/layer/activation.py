"""Activations as layers: one line each, made from the functions of ``paddle.nn.functional``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType
from typing import Any

import paddle.nn.functional as F
from paddle._documents import indented
from paddle._public import also, public
from paddle.nn.initializer import Constant
from paddle.nn.layer._synonyms import Synonym
from paddle.nn.layer.layers import Layer
from umiak import ops
from umiak.core.eager import apply1
from umiak.core.tensor import Tensor


def _docstring(name: str, function: Callable, fields: dict[str, Any], output: str, example: str) -> str | None:
    """The docstring of a layer, from that of its function: the summary, and the parameters that are fields."""
    if function.__doc__ is None:
        return None
    lines = indented(function.__doc__).split("\n")
    explained: list[str] = []
    wanted = False
    for line in lines[1:]:
        if line[8:9] != " ":
            wanted = line.startswith("        ") and line.strip().partition(":")[0] in fields
        explained += [line] if wanted and line.strip() else []
    text = [lines[0], "", *(["    Args:", *explained, ""] if fields else [])]
    text += ["    Shape:", "        input: any shape.", f"        output: {output}, of the input's dtype.", ""]
    text += ["    Example:", "        >>> import paddle", f"        >>> layer = paddle.nn.{name}()"]
    text += [
        "        >>> [round(v, 4) for v in layer(paddle.to_tensor([-1.0, 2.0])).tolist()]",
        f"        {example}",
        "    ",
    ]
    return "\n".join(text)


@cache
def _compiled(source: str) -> CodeType:
    """Most layers have the same methods."""
    return compile(source, __name__, "exec")


def _layer(
    name: str,
    function: Callable,
    example: str,
    op: Any = None,
    output: str = "the input's shape",
    aliases: Mapping[str, str] = {},
    digits: str = "",
    **fields: Any,
) -> type[Layer]:
    """A layer class that calls ``function(x, *fields)``; fields are its arguments with their defaults.

    ``example`` shows the elements for an input of -1 and 2. ``op`` is the interned op where the function
    does nothing but run it. ``aliases`` are other keywords for fields. ``digits`` is the format that shows a field.
    """
    head = "".join(f"{k}=defaults[{k!r}], " for k in fields)
    store = "".join(f"    self._{k} = {k}\n" for k in fields)
    call = "".join(f", self._{k}" for k in fields)
    source = (
        f"def __init__(self, {head}name=None):\n    super(cls, self).__init__()\n{store}    self._name = name\n"
        f"def forward(self, x):\n    return {'apply1(op, x)' if op is not None else f'function(x{call})'}\n"
    )
    space: dict[str, Any] = {"function": function, "defaults": fields, "op": op, "apply1": apply1}
    exec(_compiled(source), space)

    def extra_repr(self: Any) -> str:
        shown = [
            f"{k}={getattr(self, '_' + k):{digits}}" if digits else f"{k}={getattr(self, '_' + k)}" for k in fields
        ]
        return ", ".join(shown + ([f"name={self._name}"] if self._name else []))

    members: dict[str, Any] = {"__init__": space["__init__"], "forward": space["forward"], "extra_repr": extra_repr}
    for method in members.values():
        method.__qualname__ = f"{name}.{method.__name__}"
        method.__module__ = __name__
    members["forward"].__doc__ = f"``{function.__name__}(x)``."
    docstring = _docstring(name, function, fields, output, example)
    members |= {alias: Synonym(f"_{field}") for alias, field in aliases.items()} | {"name": Synonym("_name")}
    space["cls"] = made = type(name, (Layer,), {**members, "__doc__": docstring, "__module__": __name__})
    return public("paddle.nn", aliases=aliases)(made)


CELU = _layer("CELU", F.celu, "[-0.6321, 2.0]", alpha=1.0)
ELU = _layer("ELU", F.elu, "[-0.6321, 2.0]", alpha=1.0)
GELU = _layer("GELU", F.gelu, "[-0.1587, 1.9545]", approximate=False)
GLU = _layer(
    "GLU", F.glu, "[-0.8808]", None, "the input's shape, half as long along ``axis``", aliases={"dim": "axis"}, axis=-1
)
Hardshrink = _layer("Hardshrink", F.hardshrink, "[-1.0, 2.0]", aliases={"lambd": "threshold"}, threshold=0.5)
Hardsigmoid = _layer("Hardsigmoid", F.hardsigmoid, "[0.3333, 0.8333]")
Hardswish = _layer("Hardswish", F.hardswish, "[-0.3333, 1.6667]")
Hardtanh = _layer("Hardtanh", F.hardtanh, "[-1.0, 1.0]", min=-1.0, max=1.0)
LeakyReLU = _layer("LeakyReLU", F.leaky_relu, "[-0.01, 2.0]", negative_slope=0.01)
LogSigmoid = _layer("LogSigmoid", F.log_sigmoid, "[-1.3133, -0.1269]", ops.LogSigmoid())
LogSoftmax = _layer("LogSoftmax", F.log_softmax, "[-3.0486, -0.0486]", axis=-1)
Mish = _layer("Mish", F.mish, "[-0.3034, 1.944]", ops.Mish())
ReLU = _layer("ReLU", F.relu, "[0.0, 2.0]", ops.Relu())
ReLU6 = _layer("ReLU6", F.relu6, "[0.0, 2.0]", ops.Relu6())
SELU = _layer("SELU", F.selu, "[-1.1113, 2.1014]", digits=".16f", scale=1.0507009873554805, alpha=1.6732632423543772)
Sigmoid = _layer("Sigmoid", F.sigmoid, "[0.2689, 0.8808]")
Silu = _layer("Silu", F.silu, "[-0.2689, 1.7616]", inplace=False)
SiLU = also(Silu, "SiLU", "paddle.nn")
Softmax = _layer("Softmax", F.softmax, "[0.0474, 0.9526]", axis=-1)
Softplus = _layer("Softplus", F.softplus, "[0.3133, 2.1269]", beta=1, threshold=20)
Softshrink = _layer("Softshrink", F.softshrink, "[-0.5, 1.5]", aliases={"lambd": "threshold"}, threshold=0.5)
Softsign = _layer("Softsign", F.softsign, "[-0.5, 0.6667]", ops.Softsign())
Swish = _layer("Swish", F.swish, "[-0.2689, 1.7616]", ops.Silu())
Tanh = _layer("Tanh", F.tanh, "[-0.7616, 0.964]")
Tanhshrink = _layer("Tanhshrink", F.tanhshrink, "[-0.2384, 1.036]", ops.Tanhshrink())
ThresholdedReLU = _layer("ThresholdedReLU", F.thresholded_relu, "[0.0, 2.0]", threshold=1.0, value=0.0)


@public("paddle.nn")
class Maxout(Layer):
    """Maximum over each ``groups`` neighbouring channels.

    Args:
        groups: how many channels become one; divides the channels.
        axis: the axis of the channels; negative counts from the end.

    Shape:
        input: rank 4, with channels along ``axis``.
        output: the input's shape with ``channels / groups`` along ``axis``, of the input's dtype.

    Raises:
        ValueError: in a call, the input is of another rank, or ``groups`` does not divide the channels.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 5.0, 4.0, 2.0]).reshape([1, 4, 1, 1])
        >>> paddle.nn.Maxout(2)(x).flatten().tolist()
        [5.0, 4.0]
    """

    def __init__(self, groups: int, axis: int = 1, name: str | None = None) -> None:
        super().__init__()
        self._groups = groups
        self._axis = axis
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.maxout(x, self._groups, self._axis)

    def extra_repr(self) -> str:
        return f"groups={self._groups}, axis={self._axis}"


@public("paddle.nn")
class Softmax2D(Layer):
    """Softmax over the channels of images.

    Shape:
        input: ``[N, C, H, W]`` or ``[C, H, W]``.
        output: the input's shape, of the input's dtype.

    Raises:
        ValueError: in a call, an input of another rank.

    Example:
        >>> import paddle
        >>> paddle.nn.Softmax2D()(paddle.zeros([1, 4, 1, 2])).tolist()
        [[[[0.25, 0.25]], [[0.25, 0.25]], [[0.25, 0.25]], [[0.25, 0.25]]]]
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim not in (3, 4):
            raise ValueError(f"[Softmax2D] requires rank 3 or 4, got {x.ndim}")
        return F.softmax(x, -3)


@public("paddle.nn")
class PReLU(Layer):
    """Parametric rectified linear unit: x where it is positive, ``weight * x`` elsewhere; the weight is learned.

    Args:
        num_parameters: 1, or the number of channels for a slope of each.
        init: first value of the weight.
        weight_attr: attributes of the weight ``[num_parameters]``; an initializer there replaces ``init``.
        data_format: channels are the last dim for ``"NLC"``, ``"NHWC"`` and ``"NDHWC"``, dim 1 for ``"NC"``, ``"NCL"``,
            ``"NCHW"`` and ``"NCDHW"``.

    Shape:
        input: any shape, of the weight's dtype.
        output: the input's shape.

    Raises:
        ValueError: in a call, the input has another number of channels than ``num_parameters``.

    Example:
        >>> import paddle
        >>> paddle.nn.PReLU()(paddle.to_tensor([-4.0, 2.0])).tolist()
        [-1.0, 2.0]
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        weight_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=None)
        self._num_parameters = num_parameters
        self._init = init
        self._data_format = data_format
        self._name = name
        self._weight_attr = weight_attr
        self._weight = self.create_parameter([num_parameters], weight_attr, default_initializer=Constant(init))

    def forward(self, x: Tensor) -> Tensor:
        return F.prelu(x, self._weight, self._data_format)

    def extra_repr(self) -> str:
        count, layout = self._num_parameters, self._data_format
        return f"num_parameters={count}, data_format={layout}, init={self._init}, dtype={self._dtype}"


@public("paddle.nn")
class RReLU(Layer):
    """Randomized leaky rectified linear unit: in training, x times a random slope where x is negative.

    In evaluation the slope is the mean of ``lower`` and ``upper``.

    Args:
        lower: least slope, 0 or more.
        upper: greatest slope, at most 1.

    Shape:
        input: any shape.
        output: the input's shape, of the input's dtype.

    Raises:
        ValueError: in a call, not ``0 <= lower <= upper <= 1``.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.RReLU(0.25, 0.75)
        >>> layer.eval()
        RReLU(lower=0.25, upper=0.75, training=False, dtype=float32)
        >>> layer(paddle.to_tensor([-4.0, 3.0])).tolist()
        [-2.0, 3.0]
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, name: str | None = None) -> None:
        super().__init__(dtype=None)
        self._lower = lower
        self._upper = upper
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.rrelu(x, self._lower, self._upper, self.training)

    def extra_repr(self) -> str:
        return f"lower={self._lower}, upper={self._upper}, training={self.training}, dtype={self._dtype}"
