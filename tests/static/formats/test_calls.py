"""``paddle._C_ops``: operators by name, with the arguments of the reference's kernels by position."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.static.formats import calls
from paddle.static.formats.operators.table import TABLE

C, L = paddle._C_ops, paddle._legacy_C_ops
FACTS = Path(__file__).parents[2] / "data" / "kernel_arguments.txt"
RENAMED = {"complex": {"real": "x", "imag": "y"}, "mv": {"vec": "y"}, "trunc": {"input": "x"}}
KERNELS = {
    name: arguments
    for line in FACTS.read_text().splitlines()
    if not line.startswith("#")
    for name, *arguments in [line.split()]
}
OUR_OWN = {"randint": {"seed"}, "unique": {"is_sorted"}, "variance": {"unbiased", "correction"}}  # of older versions


def test_arguments_come_in_the_order_of_the_kernel():
    assert len(KERNELS) > 400
    for name, arguments in KERNELS.items():
        if name in calls.KERNELS:
            assert (name, list(inspect.signature(calls.KERNELS[name]).parameters)) == (name, arguments)
            continue
        operator = TABLE[f"pd_op.{name}"]
        own = [x for x, *_ in operator.operands] + [x for x, _ in operator.attributes]
        order = [RENAMED.get(name, {}).get(x, x) for x in arguments]
        assert (name, calls._ARGUMENTS[name].split() if name in calls._ARGUMENTS else own) == (name, order)
        assert (name, set(own) - set(order)) == (name, OUR_OWN.get(name, set()))


def test_the_tables_name_kernels():
    assert calls._ARGUMENTS.keys() <= KERNELS.keys() and calls._RESULTS.keys() <= KERNELS.keys()


def of(*shape):
    return paddle.to_tensor(np.random.default_rng(0).normal(size=shape).astype("float32"))


x, image = of(2, 6), of(2, 4, 5, 5)
zeros, ones = paddle.zeros([4]), paddle.ones([4])
CASES = {
    "relu": (lambda: C.relu(x), lambda: F.relu(x)),
    "full": (
        lambda: C.full([2, 3], 1.5, paddle.float64, paddle.CPUPlace()),
        lambda: paddle.full([2, 3], 1.5, "float64"),
    ),
    "concat": (lambda: C.concat([x, x], 1), lambda: paddle.concat([x, x], 1)),
    "split": (lambda: C.split_with_num(x, 3, 1), lambda: paddle.split(x, 3, 1)),
    "topk": (lambda: C.topk(x, 2, -1, True, True), lambda: paddle.topk(x, 2)),
    "reshape": (lambda: C.reshape(x, [3, 4]), lambda: x.reshape([3, 4])),
    "slice": (lambda: C.slice(x, [1], [1], [3], [1], []), lambda: x[:, 1:3]),
    "squeeze": (lambda: C.unsqueeze(x, [0]), lambda: x.unsqueeze(0)),
    "conv2d": (
        lambda: C.conv2d(image, of(3, 4, 3, 3), [1, 1], [1, 1], "EXPLICIT", [1, 1], 1, "NCHW"),
        lambda: F.conv2d(image, of(3, 4, 3, 3), padding=1),
    ),
    "conv2d_transpose": (
        lambda: C.conv2d_transpose(image, of(4, 3, 3, 3), [2, 2], [1, 1], [], [], "EXPLICIT", 1, [1, 1], "NCHW"),
        lambda: F.conv2d_transpose(image, of(4, 3, 3, 3), stride=2, padding=1),
    ),
    "batch_norm": (
        lambda: C.batch_norm(image, zeros, ones, ones, zeros, True, 0.9, 1e-5, "NCHW", False, False)[0],
        lambda: F.batch_norm(image, zeros, ones, ones, zeros),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_public_function(name):
    got, want = (f() for f in CASES[name])
    got, want = ([y] if isinstance(y, paddle.Tensor) else list(y) for y in (got, want))
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_array_equal(g.numpy(), w.numpy())


def test_results_that_only_gradients_read_are_none():
    results = C.batch_norm(image, zeros, ones, ones, zeros, True, 0.9, 1e-5, "NCHW", False, False)
    assert len(results) == 6 and results[5] is None
    assert isinstance(C.dropout(x, None, 0.0, False, "upscale_in_train", 0, False), paddle.Tensor)


def test_older_operators():
    np.testing.assert_array_equal(L.softmax(x, "axis", 0).numpy(), F.softmax(x, 0).numpy())
    np.testing.assert_array_equal(L.matmul_v2(x, x, "trans_y", True).numpy(), (x @ x.T).numpy())
    y, shape = L.reshape2(x, None, None, "shape", [3, 4])
    assert y.shape == [3, 4] and shape is None and L.cast(x, "out_dtype", paddle.int32).dtype == paddle.int32
    boxes = paddle.to_tensor([[0.0, 0.0, 10.0, 10.0], [0.0, 0.0, 300.0, 300.0]])
    levels = ("min_level", 2, "max_level", 5, "refer_level", 4, "refer_scale", 224, "pixel_offset", False)
    parts, restored, counts = L.distribute_fpn_proposals(boxes, paddle.to_tensor([2], "int32"), 4, 4, *levels)
    assert [len(p) for p in parts] == [1, 0, 1, 0] and restored.tolist() == [[0], [1]]
    assert [n.tolist() for n in counts] == [[1], [0], [1], [0]]
    assert {"box_clip", "leaky_relu", "multiclass_nms3", "roi_align", "strided_slice"} <= set(dir(L))


def test_in_place():
    w = paddle.to_tensor([-1.0, 2.0], stop_gradient=False)
    y = w * 3
    assert C.relu_(y) is y and y.tolist() == [0.0, 6.0]
    (y * y).sum().backward()
    assert w.grad.tolist() == [0.0, 36.0]


def test_captured():
    step = paddle.jit.to_static(lambda x: C.scale(C.relu(x), 2.0, 1.0, True), full_graph=True)
    np.testing.assert_array_equal(step(x).numpy(), (F.relu(x) * 2 + 1).numpy())


def test_what_is_refused():
    with pytest.raises(TypeError, match=r"\[relu\] requires at most 1 arguments \(x\), got 2"):
        C.relu(x, x)
    with pytest.raises(ValueError, match="'y' is required"):
        C.add(x)
    with pytest.raises(TypeError, match="pairs of name and value"):
        L.softmax(x, "axis")
    with pytest.raises(TypeError, match=r"at most 1 tensors \(X\), got 2"):
        L.softmax(x, x)
    for module, name in ((C, "relu_grad"), (L, "matmul_v2_grad"), (L, "elementwise_add")):
        assert not hasattr(module, name)
        with pytest.raises(AttributeError, match="call the public function of the same meaning"):
            getattr(module, name)


def test_ways_to_import():
    import paddle._C_ops as kernels
    from paddle import _C_ops, _legacy_C_ops

    assert kernels is _C_ops is C and "relu" in dir(C) and _legacy_C_ops is paddle._legacy_C_ops
    with pytest.raises(ImportError, match="call the public function"):
        from paddle._legacy_C_ops import matmul_v2_grad  # noqa: F401


ALIGNMENTS = {  # facts of the reference on the host: elements that three floats and five take in the buffer
    "none": ((False, -1, -1), [3, 5]),
    "of the allocator": ((True, -1, -1), [1024, 1024]),
    "16 bytes": ((True, 16, -1), [4, 8]),
    "16 bytes, of wider numbers": ((True, 16, 8), [4, 6]),
}


@pytest.mark.parametrize("case", ALIGNMENTS)
def test_tensors_of_one_buffer(case):
    alignment, rooms = ALIGNMENTS[case]
    tensors = [paddle.arange(3.0), paddle.arange(5.0).reshape([5, 1])]
    parts, buffer = C.coalesce_tensor(tensors, paddle.float32, True, False, False, 0.0, *alignment, [], [])
    assert buffer.shape == [sum(rooms)] and [p.tolist() for p in parts] == [x.tolist() for x in tensors]
    buffer.fill_(7.0)
    assert parts[1].tolist() == [[7.0]] * 5 and tensors[0].tolist() == [0.0, 1.0, 2.0]
    parts[1].add_(paddle.ones([1]))
    assert buffer[rooms[0] : rooms[0] + 5].tolist() == [8.0] * 5
    constant, buffer = C.coalesce_tensor(tensors, paddle.float32, False, True, False, 2.5, *alignment, [], [])
    assert buffer.tolist() == [2.5] * sum(rooms) and constant[1].shape == [5, 1]
    written, buffer = C.coalesce_tensor_(tensors, paddle.float32, True, False, False, 0.0, *alignment, [], [])
    assert all(x is y for x, y in zip(written, tensors, strict=True)) and tensors[0].tolist() == [0.0, 1.0, 2.0]
    buffer.fill_(1.0)
    assert tensors[1].tolist() == [[1.0]] * 5
    for wrong in ([], [paddle.ones([2], "int32")]):
        with pytest.raises(ValueError, match=r"requires at least one tensor, all of float32, got"):
            C.coalesce_tensor(wrong, paddle.float32)
