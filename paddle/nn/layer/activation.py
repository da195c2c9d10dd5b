"""Activations as layers: one line each, made from the functions of ``paddle.nn.functional``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle.nn.functional as F
from paddle._public import also, public
from paddle.nn.initializer import Constant
from paddle.nn.layer.layers import Layer
from umiak import ops
from umiak.core.eager import apply1
from umiak.core.tensor import Tensor


def _layer(name: str, function: Callable, doc: str, op: Any = None, **fields: Any) -> type[Layer]:
    """A layer class that calls ``function(x, *fields)``; fields are its arguments with their defaults.

    ``op`` is the record where the function does nothing but run it.
    """
    head = "".join(f"{k}=defaults[{k!r}], " for k in fields)
    store = "".join(f"    self._{k} = {k}\n" for k in fields)
    call = "".join(f", self._{k}" for k in fields)
    source = (
        f"def __init__(self, {head}name=None):\n    super(cls, self).__init__()\n{store}    self._name = name\n"
        f"def forward(self, x):\n    return {'apply1(op, x)' if op is not None else f'function(x{call})'}\n"
    )
    space: dict[str, Any] = {"function": function, "defaults": fields, "op": op, "apply1": apply1}
    exec(source, space)

    def extra_repr(self: Any) -> str:
        shown = [f"{k}={getattr(self, '_' + k)}" for k in fields]
        return ", ".join(shown + ([f"name={self._name}"] if self._name else []))

    members = {"__init__": space["__init__"], "forward": space["forward"], "extra_repr": extra_repr}
    for method in members.values():
        method.__qualname__ = f"{name}.{method.__name__}"
        method.__module__ = __name__
    members["forward"].__doc__ = f"``{function.__name__}(x)``."
    space["cls"] = made = type(name, (Layer,), {**members, "__doc__": doc, "__module__": __name__})
    return public("paddle.nn")(made)


CELU = _layer("CELU", F.celu, "x where it is positive, ``alpha * (exp(x/alpha) - 1)`` elsewhere.", alpha=1.0)
ELU = _layer("ELU", F.elu, "x where it is positive, ``alpha * (exp(x) - 1)`` elsewhere.", alpha=1.0)
GELU = _layer("GELU", F.gelu, "x times the normal distribution function of x.", approximate=False)
GLU = _layer("GLU", F.glu, "The first half along ``axis`` times the sigmoid of the second.", axis=-1)
Hardshrink = _layer("Hardshrink", F.hardshrink, "x where it is beyond ``±threshold``, 0 between.", threshold=0.5)
Hardsigmoid = _layer("Hardsigmoid", F.hardsigmoid, "``x/6 + 1/2`` between 0 and 1, these beyond.")
Hardswish = _layer("Hardswish", F.hardswish, "``x * relu6(x + 3) / 6``.")
Hardtanh = _layer("Hardtanh", F.hardtanh, "x between ``min`` and ``max``, these beyond.", min=-1.0, max=1.0)
LeakyReLU = _layer(
    "LeakyReLU", F.leaky_relu, "x where positive, ``negative_slope * x`` elsewhere.", negative_slope=0.01
)
LogSigmoid = _layer("LogSigmoid", F.log_sigmoid, "``log(sigmoid(x))``.", ops.LogSigmoid())
LogSoftmax = _layer("LogSoftmax", F.log_softmax, "The logarithm of softmax along ``axis``.", axis=-1)
Mish = _layer("Mish", F.mish, "``x * tanh(softplus(x))``.", ops.Mish())
ReLU = _layer("ReLU", F.relu, "``max(x, 0)``.", ops.Relu())
ReLU6 = _layer("ReLU6", F.relu6, "``min(max(x, 0), 6)``.", ops.Relu6())
SELU = _layer("SELU", F.selu, "``scale * elu(x, alpha)``.", scale=1.0507009873554805, alpha=1.6732632423543772)
Sigmoid = _layer("Sigmoid", F.sigmoid, "``1 / (1 + exp(-x))``.")
Silu = _layer("Silu", F.silu, "``x * sigmoid(x)``.", inplace=False)
SiLU = also(Silu, "SiLU", "paddle.nn")
Softmax = _layer("Softmax", F.softmax, "``exp(x)`` over its sum along ``axis``.", axis=-1)
Softplus = _layer("Softplus", F.softplus, "``log(1 + exp(beta*x)) / beta``.", beta=1, threshold=20)
Softshrink = _layer("Softshrink", F.softshrink, "x moved towards 0 by ``threshold``.", threshold=0.5)
Softsign = _layer("Softsign", F.softsign, "``x / (1 + |x|)``.", ops.Softsign())
Swish = _layer("Swish", F.swish, "``x * sigmoid(x)``.", ops.Silu())
Tanh = _layer("Tanh", F.tanh, "The hyperbolic tangent.")
Tanhshrink = _layer("Tanhshrink", F.tanhshrink, "``x - tanh(x)``.", ops.Tanhshrink())
ThresholdedReLU = _layer(
    "ThresholdedReLU",
    F.thresholded_relu,
    "x where it exceeds ``threshold``, ``value`` elsewhere.",
    threshold=1.0,
    value=0.0,
)


@public("paddle.nn")
class Maxout(Layer):
    """The largest of each ``groups`` neighbouring channels."""

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
    """Softmax over the channels of ``[N, C, H, W]`` or ``[C, H, W]``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim not in (3, 4):
            raise ValueError(f"[Softmax2D] requires rank 3 or 4, got {x.ndim}")
        return F.softmax(x, -3)


@public("paddle.nn")
class PReLU(Layer):
    """x where it is positive, ``weight * x`` elsewhere; the weight is learned.

    Args:
        num_parameters: 1, or the number of channels.
        init: the weight's first value.
        weight_attr: attributes of the weight.
        data_format: where the channels are.
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        weight_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._num_parameters = num_parameters
        self._init = init
        self._data_format = data_format
        self._name = name
        self._weight = self.create_parameter([num_parameters], weight_attr, default_initializer=Constant(init))

    def forward(self, x: Tensor) -> Tensor:
        return F.prelu(x, self._weight, self._data_format)

    def extra_repr(self) -> str:
        count, layout = self._num_parameters, self._data_format
        return f"num_parameters={count}, data_format={layout}, init={self._init}, dtype={self._dtype}"


@public("paddle.nn")
class RReLU(Layer):
    """x where it is positive; elsewhere x times a slope drawn from [lower, upper], in evaluation their mean."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, name: str | None = None) -> None:
        super().__init__()
        self._lower = lower
        self._upper = upper
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.rrelu(x, self._lower, self._upper, self.training)

    def extra_repr(self) -> str:
        return f"lower={self._lower}, upper={self._upper}, training={self.training}, dtype={self._dtype}"
