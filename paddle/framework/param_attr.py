"""``ParamAttr``: what a layer is told about one of its parameters."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from umiak.util.errors import op_error


@public("paddle paddle.framework")
class ParamAttr:
    """Name, initializer and training settings of a parameter.

    Args:
        name: by default one is made from the layer's.
        initializer: fills it; by default the layer's own choice.
        learning_rate: multiplies the optimizer's.
        regularizer: an ``L1Decay`` or ``L2Decay`` that replaces the optimizer's.
        trainable: whether gradients are computed for it (``stop_gradient=False``).
        do_model_average: whether averaging of parameters includes it.
        need_clip: whether gradient clipping includes it.

    Example:
        >>> import paddle
        >>> attr = paddle.ParamAttr(name="w", learning_rate=0.5, trainable=False)
        >>> paddle.nn.Linear(2, 2, weight_attr=attr).weight.name
        'w'
    """

    splits = False  # whether there are several parameters in the place of one

    def __init__(
        self,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = True,
        need_clip: bool = True,
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise op_error(TypeError, "ParamAttr", "a str for name", type(name).__name__)
        if not isinstance(learning_rate, (int, float)):
            raise op_error(TypeError, "ParamAttr", "a number for learning_rate", type(learning_rate).__name__)
        for key, value in (("trainable", trainable), ("do_model_average", do_model_average), ("need_clip", need_clip)):
            if not isinstance(value, bool):
                raise op_error(TypeError, "ParamAttr", f"a bool for {key}", type(value).__name__)
        if initializer is not None and not callable(initializer):
            raise op_error(TypeError, "ParamAttr", "an initializer", type(initializer).__name__)
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.do_model_average = do_model_average
        self.need_clip = need_clip

    @staticmethod
    def _to_attr(arg: Any) -> Any:
        """Convert what layers accept: None, a name, initializer, regularizer, ParamAttr, or False (no parameter)."""
        if arg is None or arg is True:
            return ParamAttr()
        if arg is False or isinstance(arg, ParamAttr):
            return arg
        if isinstance(arg, str):
            return ParamAttr(name=arg)
        if isinstance(arg, (list, tuple)):
            return [ParamAttr._to_attr(a) for a in arg]
        if type(arg).__name__ in ("L1Decay", "L2Decay"):
            return ParamAttr(regularizer=arg)
        if callable(arg):
            return ParamAttr(initializer=arg)
        raise op_error(
            TypeError,
            "ParamAttr",
            "None, False, a name, an initializer, a regularizer or a ParamAttr",
            type(arg).__name__,
        )
