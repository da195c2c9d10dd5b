"""Files have no form that the reference's predictors get wrong; ``tests/oracle/saved_models.py`` has the numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.static.formats import pir
from paddle.static.formats.graph import COMBINE, DATA, FETCH

W = paddle.to_tensor(np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4))


def saved(function, tmp_path, *shapes):
    """The module that a function's file has, after it has given the function's results again."""
    path = str(tmp_path / "m")
    specs = [paddle.static.InputSpec(shape, "float32", f"x{i}") for i, shape in enumerate(shapes)]
    paddle.jit.save(paddle.jit.to_static(function, full_graph=True), path, specs)
    rng = np.random.default_rng(3)
    inputs = [paddle.to_tensor(rng.standard_normal([n or 2 for n in s]).astype("float32")) for s in shapes]
    wanted, found = function(*inputs), paddle.jit.load(path)(*inputs)
    for a, b in zip(*(x if isinstance(x, (list, tuple)) else [x] for x in (wanted, found)), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6, atol=1e-6)
    with open(path + ".json") as file:
        return pir.read(json.load(file))


def makers(module):
    return {r.number: o.name.removeprefix("pd_op.") for o in module.block.walk() for r in o.results}


def operand(module, name, place=0):
    """Which operator makes an operand of the only call of another."""
    (o,) = (o for o in module.block.walk() if o.name == f"pd_op.{name}")
    return makers(module)[o.operands[place]]


WRITING = {
    "silu": F.silu, "square": paddle.square, "floor": paddle.floor, "divide": lambda h: h / (h.abs() + 1),
    "assign": paddle.assign, "cumsum": lambda h: h.cumsum(0), "tril": paddle.tril, "log1p": lambda h: h.log1p(),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITING)
def test_what_is_read_once_more_is_not_written_over(name, tmp_path):
    """An operator that may write into its operand has a copy of what oneDNN makes, where that is read behind it."""
    act = WRITING[name]

    def again(x):
        h = F.relu(x @ W)
        y = act(h)
        return y, h - 1

    assert operand(saved(again, tmp_path, [None, 3]), name) == "tile"


@pytest.mark.parametrize("name", [n for n in WRITING if n != "divide"])
def test_what_is_read_last_is_not_copied(name, tmp_path):
    act = WRITING[name]

    def last(x):
        h = F.relu(x @ W)
        return h - 1, act(h)

    assert operand(saved(last, tmp_path, [None, 3]), name) == "relu"


def test_copies_are_left_out_here(tmp_path):
    def again(x):
        h = F.relu(x @ W)
        return F.silu(h), h - 1

    saved(again, tmp_path, [None, 3])
    program, _, _ = paddle.static.load_inference_model(str(tmp_path / "m"), paddle.static.Executor())
    assert "relu" in str(program) and "tile" not in str(program)


def test_other_operands_and_types_that_are_written_over(tmp_path):
    def chosen(x):
        h = x @ W
        return paddle.where(h > 0, h, -h), h - 1

    assert operand(saved(chosen, tmp_path, [None, 3]), "where", 1) == "tile"

    def integers(x):
        n = F.relu(x @ W).astype("int64")
        return n + 3, paddle.minimum(n, n * 0)

    module = saved(integers, tmp_path, [None, 3])
    assert operand(module, "add") == operand(module, "multiply") == "tile"


def test_branches_and_loops_write_over_nothing_that_is_read_behind_them(tmp_path):
    def branch(x, y):
        h = x @ W
        b = F.silu(h) if y.sum() > 0 else h * 2
        return b, h - 1

    assert operand(saved(branch, tmp_path, [None, 3], [2]), "silu") == "tile"

    def loop(x, y):
        h, i, s = x @ W, paddle.zeros([1]), paddle.zeros([1])
        while i < y.sum().abs() + 2:
            s, i = F.silu(h).sum() + s, i + 1
        return s

    assert operand(saved(loop, tmp_path, [None, 3], [2]), "silu") == "tile"


def listed(module):
    """Which operator makes what the operator reads that makes the first tensor of the only list."""
    made = {r.number: o for o in module.block.walk() for r in o.results}
    (o,) = (o for o in module.block.walk() if o.name == COMBINE)
    return made[made[o.operands[0]].operands[0]].name


CHANGES = {
    "rows of a transposed one": lambda x: x.transpose([0, 2, 3, 1]).reshape([2, 9, 4]),
    "axes joined behind a transposition": lambda x: x.transpose([0, 2, 3, 1]).flatten(1, 2),
    "a transposed one without an axis": lambda x: (x[:, :, :1] * 2).squeeze(2).transpose([0, 2, 1]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_lists_have_no_tensor_whose_changes_of_shape_could_become_one(name, tmp_path):
    module = saved(lambda x: paddle.concat([CHANGES[name](x), CHANGES[name](x + 1)], 1), tmp_path, [2, 4, 3, 3])
    assert listed(module) == "pd_op.tile"


@pytest.mark.parametrize("before", [lambda x: x, lambda x: F.relu(x), lambda x: paddle.concat([x, x], 1)])
def test_what_was_broadcast_of_two_is_copied_for_matmuls(before, tmp_path):
    def both(x):
        return before(x.unsqueeze(1) * paddle.to_tensor([[1.0], [2.0]])) @ W

    assert operand(saved(both, tmp_path, [None, 3]), "matmul") == "tile"

    def one(x):
        return before(x * x[:, :1]) @ W

    assert operand(saved(one, tmp_path, [None, 2, 3]), "matmul") != "tile"


@pytest.mark.parametrize("rest", [lambda x, y: y, lambda x, y: y + x, lambda x, y: F.relu(y)])
def test_leaky_relus_are_no_part_of_convolutions(rest, tmp_path):
    kernel = paddle.to_tensor(np.linspace(-1, 1, 36, dtype="float32").reshape(2, 2, 3, 3))
    module = saved(lambda x: F.leaky_relu(rest(x, F.conv2d(x, kernel, padding=1)), 0.2), tmp_path, [None, 2, 4, 4])
    assert operand(module, "leaky_relu") == "tile"


def fetched(module):
    fetches = [o for o in module.block.operations if o.name == FETCH]
    made = {r.number: o for o in module.block.operations for r in o.results}
    return [o.plain("name") for o in fetches], [made[o.operands[0]] for o in fetches]


def test_results_that_are_equal_are_told_apart(tmp_path):
    names, makers = fetched(saved(lambda x: (F.silu(x), F.silu(x), F.swish(x), x + 1), tmp_path, [None, 3]))
    assert names == [f"fetch_name_{i}" for i in range(4)]
    assert [o.name for o in makers] == ["pd_op.silu", "pd_op.assign", "pd_op.assign", "pd_op.add"]
    assert makers[1].operands == [makers[0].results[0].number]
    assert makers[2].operands == [makers[1].results[0].number]  # else the two copies are equal


def test_an_input_is_fetched_as_a_copy(tmp_path):
    names, makers = fetched(saved(lambda x: (x, x + 1, x), tmp_path, [None, 3]))
    assert names == [f"fetch_name_{i}" for i in range(3)]
    assert [o.name for o in makers] == ["pd_op.assign", "pd_op.add", "pd_op.assign"]
    assert makers[2].operands == [makers[0].results[0].number]


def test_branches_on_constants_are_one_way(tmp_path):
    def loop(x):
        i = paddle.zeros([1], "int64")
        while i < 4 and x.abs().max() < 50:
            x, i = x * 2, i + 1
        return x, i

    module = saved(loop, tmp_path, [None, 3])
    assert "pd_op.if" not in [o.name for o in module.block.operations]
    assert "pd_op.if" in [o.name for o in module.block.walk()]  # the loop's, whose flag is data

    def both(x):
        n = paddle.full([1], 3, "int64")
        y = x + 1 if n > 5 else x - 1
        return y * 2 if paddle.logical_not(n > 5) else y

    module = saved(both, tmp_path, [2, 3])
    assert not {"pd_op.if", "pd_op.add"} & {o.name for o in module.block.walk()}


class Switched(paddle.nn.Layer):
    """Branches on a buffer, outside of others and inside."""

    def __init__(self):
        super().__init__()
        self.register_buffer("flag", paddle.to_tensor([1.0]))

    def forward(self, x):
        if x.sum() > 0:
            return x * 2 if self.flag.abs().max() > 2 else x + 1
        if self.flag > 0:
            return x * 3
        return x - 1


@pytest.mark.parametrize(("shape", "samples"), [([None, 3], ([2, 3], [4, 3])), ([], ([], []))])
def test_flags_of_parameters_depend_on_an_input(shape, samples, tmp_path):
    layer, path = Switched(), str(tmp_path / "m")
    paddle.jit.save(layer, path, [paddle.static.InputSpec(shape, "float32", "x")])
    with open(path + ".json") as file:
        module = pir.read(json.load(file))
    made = {r.number: o for o in module.block.walk() for r in o.results}

    def reaches(n):
        o = made[n]
        return o.name == DATA or any(reaches(k) for k in o.operands)

    flags = [o.operands[0] for o in module.block.walk() if o.name == "pd_op.if"]
    assert len(flags) == 3 and all(map(reaches, flags))
    loaded = paddle.jit.load(path)
    for value in (1.0, -1.0, 3.0):
        for x in (layer, loaded):
            (flag,) = x.state_dict().values()
            flag.set_value(paddle.to_tensor([value]))
        for x in (paddle.ones(samples[0]), -paddle.ones(samples[1])):
            np.testing.assert_allclose(loaded(x).numpy(), layer(x).numpy())


@pytest.mark.parametrize("masked", [True, False])
def test_a_deformable_convolution_is_one_operator(masked, tmp_path):
    conv = paddle.vision.ops.DeformConv2D(4, 6, 3, padding=1, stride=2, groups=2, deformable_groups=2)
    conv.eval()

    def forward(x, offset, mask):
        return conv(x, offset, mask if masked else None) + mask.sum()

    module = saved(forward, tmp_path, [None, 4, 6, 6], [None, 36, 3, 3], [None, 18, 3, 3])
    (o,) = (o for o in module.block.operations if o.name == "pd_op.deformable_conv")
    assert (o.operands[3] is not None) == masked
    assert [o.plain(k) for k in ("strides", "paddings", "groups", "deformable_groups")] == [[2, 2], [1, 1], 2, 2]


def test_pads_of_the_first_dims_are_concatenated(tmp_path):
    module = saved(lambda x: F.pad(x, [1, 0, 0, 2, 0, 0, 0, 0], pad_from_left_axis=True), tmp_path, [None, 3, 2, 2])
    names = {o.name for o in module.block.operations}
    assert "pd_op.concat" in names and not {"pd_op.pad", "pd_op.pad3d"} & names


def test_layer_norm_over_several_axes_is_one_over_their_product(tmp_path):
    norm = paddle.nn.LayerNorm([3, 2], weight_attr=paddle.ParamAttr(initializer=paddle.nn.initializer.Assign(W[:, :2])))
    module = saved(lambda x: norm(x), tmp_path, [None, 4, 3, 2])
    (o,) = (o for o in module.block.operations if o.name == "pd_op.layer_norm")
    assert o.results[0].type.shape == (-1, 4, 6) and o.plain("begin_norm_axis") == 2


@pytest.mark.parametrize(("given", "made"), [("weight", 2), ("bias", 1)])
def test_a_weight_or_bias_of_a_layer_norm_is_not_alone(given, made, tmp_path):
    """oneDNN's kernel leaves out one that has not the other, in files of the reference, too."""
    module = saved(lambda x: F.layer_norm(x, 3, **{given: x[0] * 2}), tmp_path, [None, 3])
    assert operand(module, "layer_norm", made) == "full"


@pytest.mark.parametrize("rank", [3, 4, 5])
@pytest.mark.parametrize("convolved", [False, True])
def test_channels_that_a_batch_norm_sees_are_the_second_axis(rank, convolved, tmp_path):
    """With channels last a batch norm is between transposes; beside those around a convolution none is written."""
    nn, layout = paddle.nn, {3: "NLC", 4: "NHWC", 5: "NDHWC"}[rank]
    conv = getattr(nn, f"Conv{rank - 2}D")(2, 3, 1, data_format=layout, bias_attr=False) if convolved else F.relu
    norm = getattr(nn, f"BatchNorm{rank - 2}D")(3 if convolved else 2, data_format=layout)
    norm.eval()
    module = saved(lambda x: paddle.tanh(norm(conv(x))), tmp_path, [None, *[3] * (rank - 2), 2])
    (o,) = (o for o in module.block.walk() if o.name == "pd_op.batch_norm_")
    assert o.attributes["data_format"].data == "NCHW"
    before = {"transpose", "squeeze", "conv2d", "conv3d"} if convolved else {"transpose"}
    assert operand(module, "batch_norm_") in before
    if convolved and rank > 3:
        assert operand(module, "batch_norm_") != "transpose"
    assert operand(module, "tanh") == "transpose"


def test_masks_on_diagonals_are_numbers(tmp_path):
    module = saved(lambda x: paddle.diag(x, 1, padding_value=2.0), tmp_path, [3])
    types = [o.results[0].type.dtype for o in module.block.operations if o.name == "pd_op.diag_embed"]
    assert types == ["float32", "int32"]


@pytest.mark.parametrize(
    ("dtype", "taken"), [("bool", "int32"), ("int8", "int32"), ("float16", "float32"), ("int64", "int64")]
)
def test_elements_are_taken_in_dtypes_that_there_are_kernels_for(dtype, taken, tmp_path):
    def f(x):
        index = paddle.argsort(x, axis=1)
        return paddle.take_along_axis(x.astype(dtype), index, 1).astype("float32")

    module = saved(f, tmp_path, [None, 3])
    (o,) = (o for o in module.block.operations if o.name == "pd_op.take_along_axis")
    assert o.results[0].type.dtype == taken
