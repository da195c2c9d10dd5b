"""Products of vectors and matrices, and what is made of them."""

from __future__ import annotations

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.activations import gelu_of, halves
from paddle.onnx.shapes import known, reduce, shape, slices, squeeze, transpose, unsqueeze
from paddle.onnx.table import Call, rule


def transposed(g: Builder, x: Value) -> Value:
    """The last two axes exchanged."""
    return transpose(g, x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


@rule("matmul")
def matmul(g: Builder, o: Call) -> Value:
    x, y = o[0], o[1]
    if o("transpose_x", False) and x.rank > 1:
        x = transposed(g, x)
    if o("transpose_y", False) and y.rank > 1:
        y = transposed(g, y)
    return product(g, x, y)


def product(g: Builder, x: Value, y: Value) -> Value:
    """A matrix product; of integers that ONNX has none for in floating numbers of 64 bits."""
    made: Value
    # ONNX Runtime joins transposes and products, wrongly where the other operand is a vector: it gets a second axis.
    ranks = None if x.shape is None or y.shape is None else (x.rank, y.rank)
    if ranks is not None and ranks[0] > ranks[1] == 1:
        made = g.node("MatMul", x, unsqueeze(g, y, [1]))
        return squeeze(g, known(made, [*x.sizes[:-1], 1]), [x.rank - 1])
    if ranks is not None and ranks[1] > ranks[0] == 1:
        made = g.node("MatMul", unsqueeze(g, x, [0]), y)
        return squeeze(g, known(made, [*y.sizes[:-2], 1, y.sizes[-1]]), [y.rank - 2])
    made = g.node("MatMul", x, y)
    return made


@rule("bmm", "mv")
def bmm(g: Builder, o: Call) -> Value:
    return product(g, o[0], o[1])


@rule("matmul_with_flatten", "mul")
def matmul_with_flatten(g: Builder, o: Call) -> Value:
    x, y = o[0], o[1]
    columns = o("x_num_col_dims", 1)
    if columns != 1 or x.rank != 2:
        x = g.node("Flatten", x, axis=columns)
    if y.rank != 2:
        y = g.node("Flatten", y, axis=o("y_num_col_dims", 1))
    made = product(g, x, y)
    if columns == 1:
        return made
    front = slices(g, shape(g, o[0]), [0], [0], [columns])
    back = slices(g, shape(g, o[1]), [0], [o("y_num_col_dims", 1)], [2**31])
    return g.node("Reshape", made, g.node("Concat", front, back, axis=0))


@rule("fc")
def fc(g: Builder, o: Call) -> Value:
    x, columns = o[0], o("in_num_col_dims", 1)
    y = product(g, x, o[1]) if columns == x.rank - 1 else product(g, g.node("Flatten", x, axis=columns), o[1])
    y = y if o[2] is None else y + o[2]
    return acted(g, y, o("activation_type", ""))


def acted(g: Builder, x: Value, name: str) -> Value:
    """x under the activation that a fused operator names."""
    kinds = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh"}
    if name in ("", "none", "identity"):
        return x
    if name == "gelu":
        return gelu_of(g, x, False)
    if name in ("swish", "silu"):
        return x * g.node("Sigmoid", x)
    if name in ("swiglu", "geglu"):
        a, b = halves(g, x)
        return acted(g, a, "silu" if name == "swiglu" else "gelu") * b
    if name not in kinds:
        raise Unsayable(f"activation {name}")
    return g.node(kinds[name], x)


@rule("linear", "linear_v2")
def linear(g: Builder, o: Call) -> Value:
    x, w, b = o[0], o[1], o[2]
    y = product(g, x, transposed(g, w) if o("transpose_weight", False) else w)
    return y if b is None else y + b


@rule("fused_gemm_epilogue", "gemm_epilogue")
def fused_gemm_epilogue(g: Builder, o: Call) -> Value:
    x, y = o[0], o[1]
    x = transposed(g, x) if o("trans_x", False) else x
    y = transposed(g, y) if o("trans_y", False) else y
    return acted(g, product(g, x, y) + o[2], o("activation", "none"))


@rule("dot")
def dot(g: Builder, o: Call) -> Value:
    return reduce(g, "Sum", known(o[0] * o[1], o[0].shape), [-1])


@rule("addmm", "baddbmm")
def addmm(g: Builder, o: Call) -> Value:
    base, beta, alpha = o[0], o("beta", 1.0), o("alpha", 1.0)
    y = product(g, o[1], o[2])
    y = y if alpha == 1 else y * alpha
    return y + (base if beta == 1 else base * beta)


@rule("multi_dot")
def multi_dot(g: Builder, o: Call) -> Value:
    first, *rest = o[0]
    for x in rest:
        first = product(g, first, x)
    return first


@rule("cross")
def cross(g: Builder, o: Call) -> Value:
    x, y, axis = o[0], o[1], o("axis", 9)
    if axis == 9:  # the first axis of three
        axis = x.shape.index(3)
    axis %= x.rank

    def rolled(v: Value, by: int) -> Value:
        return g.node("Gather", v, g.ints([(i + by) % 3 for i in range(3)]), axis=axis)

    return rolled(x, 1) * rolled(y, 2) - rolled(x, 2) * rolled(y, 1)


@rule("einsum")
def einsum(g: Builder, o: Call) -> Value:
    return g.node("Einsum", *o[0], equation=o("equation"))


@rule("bilinear")
def bilinear(g: Builder, o: Call) -> Value:
    x, y, w, b = o[0], o[1], o[2], o[3]
    # x W: [batch, out, right], times y.
    made = product(g, unsqueeze(g, x, [1, 2]), unsqueeze(g, w, [0]))
    z = reduce(
        g, "Sum", known(squeeze(g, known(made, [-1, -1, 1, -1]), [2]) * unsqueeze(g, y, [1]), [-1, -1, -1]), [-1]
    )
    return z if b is None else z + b


@rule("det")
def det(g: Builder, o: Call) -> Value:
    return g.node("Det", o[0])


@rule("slogdet", "slogdet_v2")
def slogdet(g: Builder, o: Call) -> Value | tuple[Value, Value]:
    d = g.node("Det", o[0])
    sign, size_ = g.node("Sign", d), g.node("Log", g.node("Abs", d))
    if o.name == "slogdet_v2" or len(o.operation.results) == 2:
        return sign, size_
    both = g.node("Concat", unsqueeze(g, sign, [0]), unsqueeze(g, size_, [0]), axis=0)
    return known(both, [2, *o[0].shape[:-2]])  # the reference declares another shape
