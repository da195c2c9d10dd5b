"""Linear layers that compute in 8 bits, forward and backward, with recipes of :mod:`umiak.fp8`.

The reference framework has the operations of such layers and no layer; names here are our own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle.amp.auto_cast import auto_cast
from paddle.autograd import PyLayer
from paddle.nn.layer.common import Linear
from paddle.nn.layer.layers import Layer
from paddle.tensor.shapes import reshape
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import current, no_grad_guard
from umiak.core.dtype import DType, from_id
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor
from umiak.fp8 import Quantised, Recipe, matmul
from umiak.util.errors import op_error


class AmaxHistory:
    """The largest magnitudes of one tensor of a layer, those of the last steps behind that of this one.

    ``magnitudes``: float32 ``[history + 1]``, a buffer of the layer.
    """

    def __init__(self, magnitudes: Tensor, recipe: Recipe, dtype: DType) -> None:
        self.magnitudes = magnitudes
        self.recipe = recipe
        self.dtype = dtype

    def factor(self, x: Tensor) -> Tensor:
        """Note the largest magnitude of ``x`` and return the factor ``[1, 1]`` of the last steps; in the first step,
        which has none, that of x itself."""
        largest = F.max(F.abs(F.cast(x, dtype=dt.float32)), axes=tuple(range(x.ndim)))
        now, past = (F.slice(self.magnitudes, (0,), (i,), (n,), (1,)) for i, n in ((0, 1), (1, self.recipe.history)))
        before = F.max(past, axes=(0,))
        used = F.where(F.eq(before, 0.0), largest, before)
        assign(self.magnitudes, F.concat((F.reshape(F.maximum(F.squeeze(now, (0,)), largest), (1,)), past), axis=0))
        return F.reshape(self.recipe.factor(used, self.dtype), (1, 1))

    def advance(self) -> None:
        """Begin a step: the magnitude of this one is the first of those before, the oldest leaves."""
        past = F.slice(self.magnitudes, (0,), (0,), (self.recipe.history,), (1,))
        assign(self.magnitudes, F.pad(past, 0.0, axes=(0,), lo=(1,), hi=(0,)))


class _Product(PyLayer):
    """``x @ weight + bias`` of quantised operands, whose gradients are matmuls of quantised operands too.

    What is kept for them is x in 8 bits; the weight is quantised once more, from the parameter.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, factors: tuple, layer: FP8Linear) -> Tensor:
        recipe = layer.recipe
        of_x, of_weight = factors
        out = layer.output_dtype(x)
        with auto_cast(enable=False):
            left = recipe.left(x, recipe.forward, of_x)
            kept = left if recipe.is_symmetric else recipe.left(F.permute(x, (1, 0)), recipe.forward).T
            y = matmul(left, recipe.weight(weight, of_weight), out, bias)
            ctx.save_for_backward(kept.codes, kept.scale, weight, of_weight)
            ctx.layer, ctx.block, ctx.bias = layer, kept.block, None if bias is None else bias.dtype
            ctx.dtypes = x.dtype, weight.dtype
            return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple:
        layer, recipe = ctx.layer, ctx.layer.recipe
        codes, scale, weight, of_weight = ctx.saved_tensor()
        x = Quantised(codes, scale, ctx.block, recipe.power_of_two)
        with auto_cast(enable=False):
            factor = layer.gradient_history.factor(g) if recipe.is_delayed else None
            left = recipe.left(g, recipe.backward, factor)
            right = left if recipe.is_symmetric else recipe.right(g, recipe.backward)
            to_x = matmul(left, recipe.transposed_weight(weight, of_weight), ctx.dtypes[0])
            to_weight = matmul(x.T, right, ctx.dtypes[1])
            to_bias = F.cast(F.sum(F.cast(g, dtype=dt.float32), axes=(0,)), dtype=ctx.bias) if ctx.bias else None
        # One for each tensor that forward got; factors have none.
        return to_x, to_weight, *((to_bias,) if ctx.bias else ()), *((None, None) if recipe.is_delayed else ())


class FP8Linear(Linear):
    """Linear map whose matmuls, forward and backward, are of numbers of 8 bits and are added in float32.

    Inputs and weights are quantised to the recipe's ``forward`` format, gradients of outputs to its ``backward``
    format; what follows from a matmul is rounded once. The parameters are those of a :class:`paddle.nn.Linear`, in
    their own dtype: quantised weights are never kept.

    Args:
        in_features: last dim of the input.
        out_features: last dim of the output.
        recipe: what is quantised by which scales (:class:`umiak.fp8.Recipe`); blocks of 128 by default.
        weight_attr: attributes of the weight ``[in_features, out_features]``, Xavier-uniform by default.
        bias_attr: attributes of the bias ``[out_features]``, zeros by default; False for none.

    Shape:
        input: ``[*, in_features]``, float32, bfloat16 or float16.
        output: ``[*, out_features]``, of the input's dtype; under ``paddle.amp.auto_cast`` of its dtype.

    Attributes:
        weight: the parameter ``[in_features, out_features]``.
        bias: the parameter ``[out_features]``, or None.
        input_amax: with delayed scaling, the largest magnitudes of this step and of those before: a buffer, float32
            ``[history + 1]``. Likewise ``weight_amax`` and ``gradient_amax``.

    Raises:
        TypeError: a recipe of another type; in a call, an input that is not a floating tensor.
        ValueError: in a call, an input whose last dim is not ``in_features``.

    Note:
        With delayed scaling :func:`advance` is called once a step. Before its first call scales are current.

    Example:
        >>> import paddle
        >>> from paddle.amp.fp8 import FP8Linear, Recipe
        >>> layer = FP8Linear(256, 3, Recipe(scaling="row"))
        >>> layer(paddle.ones([2, 256])).shape
        paddle.Size([2, 3])
    """

    recipe: Recipe

    def __init__(
        self,
        in_features: int,
        out_features: int,
        recipe: Recipe | None = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(in_features, out_features, weight_attr, bias_attr, name)
        self._use(Recipe() if recipe is None else recipe)

    def _use(self, recipe: Recipe) -> None:
        if not isinstance(recipe, Recipe):
            raise op_error(TypeError, "FP8Linear", "a umiak.fp8.Recipe", type(recipe).__name__)
        self.recipe = recipe
        for role in ("input", "weight", "gradient") if recipe.is_delayed else ():
            self.register_buffer(f"{role}_amax", F.full(0.0, dt.float32, (recipe.history + 1,)))

    @property
    def input_history(self) -> AmaxHistory:
        """The magnitudes of inputs."""
        return AmaxHistory(self.input_amax, self.recipe, self.recipe.forward)

    @property
    def weight_history(self) -> AmaxHistory:
        """The magnitudes of the weight."""
        return AmaxHistory(self.weight_amax, self.recipe, self.recipe.forward)

    @property
    def gradient_history(self) -> AmaxHistory:
        """The magnitudes of gradients of the output."""
        return AmaxHistory(self.gradient_amax, self.recipe, self.recipe.backward)

    def output_dtype(self, x: Tensor) -> DType:
        """Return the dtype of the output for an input: that of ``auto_cast`` where it is on."""
        level, low, _ = current().amp()
        return from_id(low) if level else x.dtype

    def forward(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.dtype not in (dt.float32, dt.bfloat16, dt.float16):
            got = input.dtype.name if isinstance(input, Tensor) else type(input).__name__
            raise op_error(TypeError, "FP8Linear", "an input of float32, bfloat16 or float16", got)
        if input.ndim == 0 or input.shape[-1] != self.in_features:
            raise op_error(ValueError, "FP8Linear", f"an input of shape [*, {self.in_features}]", input.shape)
        x = reshape(input, [-1, self.in_features])
        factors: tuple = (None, None)
        if self.recipe.is_delayed:
            with no_grad_guard():
                factors = self.input_history.factor(x), self.weight_history.factor(self.weight)
        y = _Product.apply(x, self.weight, self.bias, factors, self)
        return reshape(y, [*input.shape[:-1], self.out_features])

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, recipe={self.recipe}"


def convert(model: Layer, recipe: Recipe | None = None, keep: Callable[[str, Layer], bool] | None = None) -> Layer:
    """Let the linear layers of a model compute in 8 bits, in place: parameters, names and hooks stay.

    Args:
        model: a layer; itself and its sublayers of the type :class:`paddle.nn.Linear` become :class:`FP8Linear`.
        recipe: their recipe; blocks of 128 by default.
        keep: called with the name and the layer; where it returns True, a layer stays as it is. First and last layers
            of a network often do.

    Returns:
        The model.

    Raises:
        TypeError: a model or a recipe of another type.

    Example:
        >>> import paddle
        >>> from paddle.amp import fp8
        >>> model = paddle.nn.Sequential(paddle.nn.Linear(8, 8), paddle.nn.Linear(8, 2))
        >>> model = fp8.convert(model, fp8.Recipe(scaling="tensor"), keep=lambda name, layer: name == "1")
        >>> [type(layer).__name__ for layer in model]
        ['FP8Linear', 'Linear']
    """
    if not isinstance(model, Layer):
        raise op_error(TypeError, "convert", "a paddle.nn.Layer", type(model).__name__)
    for name, layer in model.named_sublayers(include_self=True):
        if type(layer) is Linear and not (keep is not None and keep(name, layer)):
            layer.__class__ = FP8Linear
            layer._use(Recipe() if recipe is None else recipe)
    return model


def advance(model: Layer) -> None:
    """Begin another step of delayed scaling: the magnitudes of this one count from now on.

    Call it once after each step of the optimizer; calls inside captured steps are part of the graph. Layers that have
    no history are left alone.

    Args:
        model: a layer with :class:`FP8Linear` among its sublayers.

    Raises:
        TypeError: a model of another type.

    Example:
        >>> import paddle
        >>> from paddle.amp import fp8
        >>> layer = fp8.FP8Linear(8, 8, fp8.Recipe(scaling="tensor", history=4))
        >>> _ = layer(paddle.full([1, 8], 3.0))
        >>> fp8.advance(layer)
        >>> layer.input_amax.tolist()
        [0.0, 3.0, 0.0, 0.0, 0.0]
    """
    if not isinstance(model, Layer):
        raise op_error(TypeError, "advance", "a paddle.nn.Layer", type(model).__name__)
    with no_grad_guard():
        for layer in model.sublayers(include_self=True):
            if isinstance(layer, FP8Linear) and layer.recipe.is_delayed:
                for history in (layer.input_history, layer.weight_history, layer.gradient_history):
                    history.advance()
