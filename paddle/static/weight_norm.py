"""Weights of static layers as a length and a direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import paddle
from paddle._public import public
from paddle.framework.param_attr import ParamAttr
from paddle.framework.parameter import Parameter
from paddle.static.program import initialized
from umiak.core.context import no_grad_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor, empty
from umiak.util.errors import op_error


@public("paddle.static")
class WeightNormParamAttr(ParamAttr):
    """Attributes of a weight that is a length times a direction, ``g * v / norm(v)``, of which both are trained.

    Layers of ``paddle.static.nn`` take it; their parameters are called after the weight with ``_g`` and ``_v``.

    Args:
        dim: the dim of the weight that has a length for each of its indices; None: the weight has one.
        name: of the weight; by default one is made from the layer's.
        initializer: fills the direction, whose norm the length is at first.
        learning_rate: multiplies the optimizer's.
        regularizer: an ``L1Decay`` or ``L2Decay`` that replaces the optimizer's.
        trainable: whether gradients are computed.
        do_model_average: whether averaging of parameters includes it.
        need_clip: whether gradient clipping includes it.

    Raises:
        TypeError: a dim that is no int.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> main = paddle.static.Program()
        >>> with paddle.static.program_guard(main, paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 3])
        ...     attr = paddle.static.WeightNormParamAttr(dim=1, name="w")
        ...     _ = paddle.static.nn.fc(x, 4, weight_attr=attr, bias_attr=False)
        >>> [(p.name, p.shape) for p in main.all_parameters()]
        [('w_v', paddle.Size([3, 4])), ('w_g', paddle.Size([1, 4]))]
        >>> paddle.disable_static()
    """

    splits = True
    params_with_weight_norm: ClassVar[list[Tensor]] = []  # the weights that were made so

    def __init__(
        self,
        dim: int | None = None,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = False,
        need_clip: bool = True,
    ) -> None:
        super().__init__(name, initializer, learning_rate, regularizer, trainable, do_model_average, need_clip)
        if dim is not None and (isinstance(dim, bool) or not isinstance(dim, int)):
            raise op_error(TypeError, "WeightNormParamAttr", "an int or None as dim", type(dim).__name__)
        self.dim = dim


def normed(shape: Sequence[int], dtype: Any, name: str, attr: WeightNormParamAttr, initializer: Any) -> Tensor:
    """A weight that is made of two parameters."""
    rank = len(shape)
    if attr.dim is not None and not -rank <= attr.dim < rank:
        raise op_error(ValueError, "WeightNormParamAttr", f"a dim of the weight {list(shape)}, or None", attr.dim)
    dim = None if attr.dim is None else attr.dim % rank
    plain = ParamAttr(
        None, attr.initializer, attr.learning_rate, attr.regularizer, attr.trainable, attr.do_model_average,
        attr.need_clip,
    )  # fmt: skip
    direction = Parameter.create(shape, dtype, f"{name}_v", plain, initializer)
    sizes = tuple(n if i == dim else 1 for i, n in enumerate(shape))
    length = empty(sizes, direction.dtype, direction.place)
    g = Parameter(length)
    g._describe(f"{name}_g", plain)

    def fill(x: Tensor) -> None:
        with no_grad_guard():
            assign(x, _norm(direction, dim))

    initialized(g, fill)
    weight = direction * (g / _norm(direction, dim))
    WeightNormParamAttr.params_with_weight_norm.append(weight)
    return weight


def _norm(v: Tensor, dim: int | None) -> Tensor:
    """Norms along all dims but one, which stay as sizes of 1."""
    return paddle.sqrt((v * v).sum([i for i in range(v.ndim) if i != dim], keepdim=True))
