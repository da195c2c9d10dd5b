"""Packed dtypes, whose elements share bytes: every op that moves or compares elements does what it does on the carrier,
in every layout, eager and captured; all else refuses them.
"""

import copy
import io
import pickle
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import paddle
from umiak import ops as F
from umiak.backends.ref.evaluate import evaluate
from umiak.core.dtype import all_dtypes
from umiak.ops.base import REGISTRY

PACKED = [d for d in all_dtypes() if d.is_packed]
each = pytest.mark.parametrize("d", PACKED, ids=lambda d: d.name)


def numbers(d, shape, seed=0):
    """Any codes of a packed dtype, as an array of its twin."""
    return np.random.default_rng(seed).integers(0, 16, shape).astype(np.uint8).view(d.numpy)


def both(d, shape=(3, 5), seed=0):
    """A tensor and the same in the carrier."""
    a = numbers(d, shape, seed)
    return paddle.to_tensor(a), paddle.to_tensor(a.astype(d.carrier.numpy))


def same(x, wide):
    """Whether a packed result holds what the carrier's has; the sign of zeros counts."""
    if x.dtype.is_packed:
        assert x.is_contiguous()
        assert x.storage.nbytes >= x.offset + (x.size + 1) // 2
        x = x.astype(x.dtype.carrier)
    assert (x.dtype, x.shape) == (wide.dtype, wide.shape)
    np.testing.assert_array_equal(x.numpy(), wide.numpy())
    if x.dtype.is_floating:
        np.testing.assert_array_equal(np.signbit(x.numpy()), np.signbit(wide.numpy()))


def flat(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


LAYOUTS: dict[str, Callable] = {
    "whole": lambda x: x,
    "odd start": lambda x: x[1:, 1:],
    "odd row": lambda x: x[1],
    "step 2": lambda x: x[:, ::2],
    "step -1": lambda x: x[::-1, ::-1],
    "step -2": lambda x: x[:, ::-2],
    "transposed": lambda x: x.T,
    "expanded": lambda x: x[:1].expand([4, 5]),
    "0-size": lambda x: x[:, 2:2],
    "0-d": lambda x: x[1, 3],
    "reshaped": lambda x: x.reshape([5, 3]),
    "new axis": lambda x: x.unsqueeze(1),
    "diagonal": lambda x: paddle.diagonal(x),
}
# On any layout.
OPS: dict[str, Callable] = {
    "itself": lambda x: x,
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "reshape": lambda x: x.reshape([-1]),
    "flatten": lambda x: x.flatten(),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0),
    "concat": lambda x: paddle.concat([x.flatten(), x.flatten(), x.flatten()[:1]]),
    "stack": lambda x: paddle.stack([x, x], axis=-1),
    "flip": lambda x: paddle.flip(x.flatten(), [0]),
    "roll": lambda x: paddle.roll(x, 1),
    "tile": lambda x: paddle.tile(x, [3] * max(x.ndim, 1)),
    "expand": lambda x: x.expand([3, *x.shape]),
    "pad": lambda x: paddle.nn.functional.pad(x.reshape([1, 1, -1]), [1, 2], value=1),
    "take": lambda x: paddle.take(x, paddle.to_tensor([0, 0])) if x.size else x,
    "where": lambda x: paddle.where(x == x, x, x),
    "equal": lambda x: x == x,
    "not equal": lambda x: x != x.flatten()[:1],
    "equal_all": lambda x: paddle.equal_all(x, x),
    "less": lambda x: x < 1,
    "greater equal": lambda x: x >= x.flatten()[:1],
    "chunk": lambda x: paddle.split(x.flatten(), [1, -1]) if x.size else x,
    "unbind": lambda x: paddle.unbind(x) if x.ndim else x,
    "repeat": lambda x: paddle.repeat_interleave(x.flatten(), 2),
    "mask": lambda x: paddle.masked_select(x, x >= 1),
    "to int64": lambda x: x.astype("int64"),
    "to float16": lambda x: x.astype("float16"),
    "to float64": lambda x: x.astype("float64"),
    "to bool": lambda x: x.astype("bool"),
    "to complex64": lambda x: x.astype("complex64"),
}


QUICK = ("odd start",)
OTHERS = ("step -2", "transposed", "0-d")  # of each dtype one


def layouts_of_dtypes():
    for i, d in enumerate(PACKED):
        quick = {*QUICK, *OTHERS[i % len(OTHERS) :][:1]}
        for k in LAYOUTS:
            yield pytest.param(d, k, id=f"{k}-{d.name}", marks=() if k in quick else pytest.mark.slow)


@pytest.mark.parametrize(("d", "layout"), list(layouts_of_dtypes()))
def test_ops_in_every_layout(d, layout):
    x, wide = map(LAYOUTS[layout], both(d))
    same(x, wide)
    for name, op in OPS.items():
        for got, want in zip(flat(op(x)), flat(op(wide)), strict=True):
            assert got.dtype is (want.dtype if want.dtype is not d.carrier else d), name
            same(got, want)


@each
def test_captured(d):
    """The same ops in one captured function, whatever it fuses."""
    x, wide = both(d)

    ops = {k: v for k, v in OPS.items() if k not in ("mask", "take")}  # these look at data

    @paddle.jit.to_static(full_graph=True)
    def captured(x):
        return [y for layout in ("odd start", "step -2", "transposed") for op in ops.values()
                for y in flat(op(LAYOUTS[layout](x)))]  # fmt: skip

    for got, want in zip(captured(x), captured(wide), strict=True):
        same(got, want)


@each
def test_all_codes_there_and_back(d):
    """Every pair of codes through memory, NumPy and the carrier; an odd end leaves half a byte."""
    codes = np.array([(a, b) for a in range(16) for b in range(16)], np.uint8)
    for a in (codes.reshape(-1), codes.reshape(-1)[:-1], codes[:, 0], codes[3, :1]):
        a = a.view(d.numpy)
        x = paddle.to_tensor(a)
        assert x.dtype is d
        assert x.storage.nbytes == (a.size + 1) // 2 == x.nbytes
        np.testing.assert_array_equal(x.numpy().view(np.uint8) & 15, a.view(np.uint8) & 15)
        again = x.astype(d.carrier).astype(d)
        np.testing.assert_array_equal(again.numpy().view(np.uint8) & 15, a.view(np.uint8) & 15)
        assert x.tolist() == a.astype(d.carrier.numpy).tolist()


@each
def test_the_reference_backend_agrees(d):
    """Its kernels see arrays of the twins, and so does ``evaluate``, which has no tensors."""
    a = numbers(d, (3, 5))
    wide = a.astype(d.carrier.numpy)
    (unpacked,) = evaluate(F.Unpack(dtype=d), [a], ())
    np.testing.assert_array_equal(unpacked, wide)
    (packed,) = evaluate(F.Pack(dtype=d), [wide], ())
    np.testing.assert_array_equal(packed.view(np.uint8) & 15, a.view(np.uint8) & 15)


@pytest.mark.parametrize("source", [d for d in all_dtypes() if not (d.is_complex or d.is_packed)], ids=lambda d: d.name)
@each
def test_casts(d, source):
    """From every dtype, as NumPy's twins cast: integers wrap, fractions go, floats round to even and saturate."""
    rng = np.random.default_rng(3)
    if source.is_floating:
        ties = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0]
        a = np.array([*ties, *(-t for t in ties), 0.0, -0.0, *rng.uniform(-8, 8, 34)]).astype(source.numpy)
        if d.is_floating:
            a = np.concatenate([a, np.array([100.0, -100.0]).astype(source.numpy)])
    else:
        a = rng.integers(0, 120, 51).astype(source.numpy)
    a = a[np.isfinite(a.astype(np.float32))]
    single = a.astype(np.float32)
    want = (single if d.is_floating else single.astype(np.int8)).astype(d.numpy)
    x = paddle.to_tensor(a)
    for got in (x.astype(d.name), x[::-1].astype(d)[::-1]):
        np.testing.assert_array_equal(got.numpy().view(np.uint8) & 15, want.view(np.uint8) & 15)


@each
def test_writes(d):
    """Into the whole and into parts, which are copies: a write through an index reaches the tensor, one into a slice
    that was taken before does not."""
    writes = {
        "number": lambda x: x.__setitem__((slice(1, None), slice(None, None, 2)), 3),
        "tensor": lambda x: x.__setitem__(1, x[0]),
        "mask": lambda x: x.__setitem__(x >= 2, 1),
        "indices": lambda x: x.__setitem__(([0, 2], [1, 4]), 2),
        "negative step": lambda x: x.__setitem__((0, slice(None, None, -2)), 4),
        "zero_": lambda x: x.zero_(),
        "fill_": lambda x: x.fill_(2),
        "fill_diagonal_": lambda x: x.fill_diagonal_(3),
        "copy_": lambda x: x.copy_(paddle.flip(x, [0])),
        "set_value": lambda x: x.set_value(paddle.flip(x, [1])),
        "reshape_": lambda x: x.reshape_([5, 3]),
        "transpose_": lambda x: x.transpose_([1, 0]),
    }  # fmt: skip
    for write in writes.values():
        x, wide = both(d)
        write(x)
        write(wide)
        same(x, wide.astype(d).astype(d.carrier))
    # Whether an index selects a part or everything, with new dims or without.
    for select in (np.s_[1:], np.s_[:], np.s_[0:, None], np.s_[None], np.s_[..., None], np.s_[...]):
        x, _ = both(d)
        for whole in (x, x[1, 2]) if select in (None, ...) else (x,):
            before = whole.numpy()
            part = whole[select]
            part.zero_()
            np.testing.assert_array_equal(whole.numpy(), before)
            assert not part.astype(d.carrier).any()


@each
def test_parts_replaced(d):
    """Functions that replace a part of their operand."""
    (x, wide), (y, wide_y) = both(d), both(d, seed=1)
    i = paddle.to_tensor([[0, 2], [1, 0]])
    for replace in (
        lambda x, y: paddle.slice_scatter(x, y[:, :2], [1], [1], [5], [2]),
        lambda x, y: paddle.select_scatter(x, y[0], 0, 1),
        lambda x, y: paddle.diagonal_scatter(x, y[0, :3]),
        lambda x, y: paddle.put_along_axis(x, i, y[:2, :2], 1, broadcast=False),
        lambda x, y: paddle.index_put(x, (paddle.to_tensor([1]),), y[:1]),
        lambda x, y: paddle.scatter(x, paddle.to_tensor([2, 0]), y[:2]),
        lambda x, y: paddle.take_along_axis(x, i, 1, broadcast=False),
        lambda x, y: paddle.index_select(x, paddle.to_tensor([1, 1, 0]), 1),
        lambda x, y: paddle.gather_nd(x, i),
    ):
        same(replace(x, y), replace(wide, wide_y))


def test_arithmetic_is_refused():
    """Every op that computes, by name, with the cast that it needs."""
    x, _ = both(PACKED[0])
    for op in ("add", "mul", "maximum", "remainder"):
        with pytest.raises(TypeError, match=r"requires dtypes of whole bytes, got int4.*cast to int8 first"):
            REGISTRY[op]()  # the record exists
            getattr(paddle, {"mul": "multiply"}.get(op, op))(x, x)
    for call in (
        lambda: x + 1, lambda: x + x.astype("int8"), lambda: 2.5 * x, lambda: x / x, lambda: -x, lambda: x @ x.T,
        lambda: x.sum(), lambda: paddle.cumsum(x), lambda: x.max(), lambda: paddle.exp(both(PACKED[2])[0]),
        lambda: x.sort(), lambda: paddle.nn.functional.relu(x), lambda: paddle.arange(3, dtype="int4"),
        lambda: paddle.jit.to_static(lambda x: x * x, full_graph=True)(x),
        lambda: paddle.put_along_axis(x, paddle.to_tensor([[0]]), x[:1, :1], 1, "add"),
    ):  # fmt: skip
        with pytest.raises(
            TypeError, match=r"requires dtypes of whole bytes, got .*Packed dtypes are for storage: cast"
        ):
            call()
    with pytest.raises(TypeError, match=r"\[view\] requires dtypes of whole bytes, got int4 as int8"):
        x.view("int8")
    with pytest.raises(TypeError, match="4 bits"):
        x.element_size()
    with pytest.raises(OverflowError, match=r"that int4 can hold \(-8 to 7\), got 9"):
        paddle.full([3], 9, "int4")
    with pytest.raises(OverflowError, match=r"that int4 can hold"):
        x[0] = 9


@each
def test_no_gradients(d):
    """A cast to a packed dtype ends the history, as one to integers does."""
    w = paddle.to_tensor([0.5, 1.5, 3.0], stop_gradient=False)
    q = w.astype(d)
    assert q.stop_gradient
    (w * q.astype("float32")).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), q.astype("float32").numpy())


@each
def test_kept_and_brought_back(d, tmp_path):
    x, _ = both(d, (3, 5))
    codes = x.numpy().view(np.uint8)

    def check(y):
        assert y.dtype is d
        assert y.shape == [3, 5]
        np.testing.assert_array_equal(y.numpy().view(np.uint8), codes)

    paddle.save({"x": x, "n": [x]}, str(tmp_path / "all.pdparams"))
    found = paddle.load(str(tmp_path / "all.pdparams"))
    check(found["x"])
    check(found["n"][0])
    paddle.save({"x": x}, str(tmp_path / "state.pdparams"))
    check(paddle.load(str(tmp_path / "state.pdparams"))["x"])
    buffer = io.BytesIO()
    paddle.save(x, buffer)
    buffer.seek(0)
    check(paddle.load(buffer))
    check(pickle.loads(pickle.dumps(x)))
    check(copy.deepcopy(x))
    paddle.distributed.save_state_dict({"x": x}, str(tmp_path / "flex"))
    into = paddle.zeros([3, 5], d.name)
    paddle.distributed.load_state_dict({"x": into}, str(tmp_path / "flex"))
    check(into)
    with pytest.raises(
        TypeError,
        match=r"requires a dtype of .*safetensors|requires a dtype of .*got .*The native format has all dtypes",
    ):
        paddle.save({"x": x}, str(tmp_path / "x.safetensors"))


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 5)], ids=str)
@pytest.mark.parametrize("d", all_dtypes(), ids=lambda d: d.name)
def test_pickled(d, shape):
    """What it holds and its shape, of every dtype."""
    x = paddle.full(shape, 1, d.name)
    y = pickle.loads(pickle.dumps(x))
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    np.testing.assert_array_equal(y.numpy(), x.numpy())


@each
def test_dlpack(d):
    """Out as elements of 4 bits that share bytes, and in again over the same memory."""
    x, _ = both(d)
    y = paddle.from_dlpack(x)
    assert y.dtype is d
    assert y.data_ptr() == x.data_ptr()
    np.testing.assert_array_equal(y.numpy().view(np.uint8), x.numpy().view(np.uint8))
    z = paddle.from_dlpack(x.__dlpack__(copy=True))
    assert z.data_ptr() != x.data_ptr()
    np.testing.assert_array_equal(z.numpy().view(np.uint8), x.numpy().view(np.uint8))


def test_printing():
    assert str(paddle.to_tensor([-8, 7, 0], dtype="int4")).endswith("[-8,  7,  0])")
    assert str(paddle.to_tensor([15], dtype="uint4")).endswith("[15])")
    assert "1.5" in str(paddle.to_tensor([1.5, -6.0], dtype="float4_e2m1fn"))


def test_numpy_is_a_copy():
    x = paddle.to_tensor([1, 2, 3], dtype="int4")
    a = x.numpy()
    assert a.dtype == ml_dtypes.int4
    a[0] = 5
    assert x.tolist() == [1, 2, 3]
