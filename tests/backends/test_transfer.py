"""Copies between places: an op over what backends offer, on devices whose memory the host cannot read."""

import copy
import io
import pickle

import numpy as np
import pytest
from fake import FAKE, OTHER
from harness import CPU, NULL, count_plans, leaf, tensor, values

import paddle
from umiak import ops as F
from umiak.core import array, context, inplace, stream, tape
from umiak.core.dtype import all_dtypes
from umiak.core.place import Place
from umiak.core.tensor import empty
from umiak.runtime.offload import Offload

pytestmark = pytest.mark.usefixtures("fake")

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def to(x, place):
    return F.transfer(x, source=x.place.name, target=place.name)


def back(x):
    return array.host_values(x)


# --- the op


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int4"])
def test_arrays_do_not_share_memory_of_devices(dtype):
    x = to(paddle.to_tensor(X).astype(dtype), FAKE)
    with pytest.raises(ValueError, match=f"requires elements of whole bytes on the host.*{dtype} on fake:0"):
        x.__array__(copy=False)
    for a in (x.numpy(), np.asarray(x)):
        a[0, 0] = np.float32(3)
        assert a.astype("float32").max() == 5 and back(x).astype("float32").tolist() == X.tolist()


@pytest.mark.parametrize("dtype", ["float32", "bool", "int64", "float16", "complex128"])
@pytest.mark.parametrize("way", [(FAKE,), (FAKE, OTHER), (FAKE, OTHER, FAKE, CPU), (OTHER, CPU, FAKE)])
def test_elements_come_as_they_are(way, dtype):
    x = tensor(X.astype(dtype))
    for place in way:
        y = to(x, place)
        assert y.place is place and y.shape == x.shape and y.dtype is x.dtype and y.storage is not x.storage
        x = y
    np.testing.assert_array_equal(back(x), X.astype(dtype))


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (0, 3)], ids=str)
@pytest.mark.parametrize("d", [d for d in all_dtypes() if d.bits < 16], ids=lambda d: d.name)
def test_narrow_elements_in_bytes(d, shape, fake):
    """Of packed dtypes two to a byte go over; kernels of the device read and write them there."""
    codes = np.random.default_rng(0).integers(0, min(256, 1 << d.bits), shape).astype(np.uint8)
    a = (codes & 1).astype(bool) if d.is_bool else codes.view(d.numpy)
    x = paddle.to_tensor(a)
    fake.device(FAKE).copies.clear()
    y = x.to("fake:0")
    assert [n for *_, n in fake.device(FAKE).copies] == ([d.nbytes(a.size)] if a.size else [])
    mask = 15 if d.is_packed else 255
    for z in (y, y.clone().to("fake:1"), y.reshape([-1]).flip(0).flip(0).reshape(x.shape)):
        assert (z.dtype, z.shape) == (x.dtype, x.shape)
        np.testing.assert_array_equal(z.numpy().view(np.uint8) & mask, a.view(np.uint8) & mask)
    captured = paddle.jit.to_static(lambda x: x.to("fake:1").to("fake:0"))(y)
    np.testing.assert_array_equal(captured.numpy().view(np.uint8) & mask, a.view(np.uint8) & mask)


def test_views_and_nothing(fake):
    x = to(tensor(X), FAKE)
    for view, expected in (
        (F.permute(x, perm=(1, 0)), X.T),
        (F.slice(x, axes=(1,), starts=(1,), sizes=(2,), steps=(1,)), X[:, 1:]),
        (F.flip(x, axes=(0,)), X[::-1]),
    ):
        np.testing.assert_array_equal(back(to(view, OTHER)), expected)
        np.testing.assert_array_equal(back(view), expected)
    fake.device(FAKE).copies.clear()
    assert back(to(tensor(X[:0]), FAKE)).shape == (0, 3)
    assert not fake.device(FAKE).copies


def test_devices_copy_to_each_other_without_the_host(fake):
    x = to(tensor(X), FAKE)
    for device in fake.devices.values():
        device.copies.clear()
    y = to(x, OTHER)
    np.testing.assert_array_equal(back(y), X)
    assert fake.device(FAKE).copies == []
    assert fake.device(OTHER).copies == [("fake:0", "fake:1", 24), ("fake:1", "cpu", 24)]


def test_a_device_that_cannot_copy_to_another_goes_by_the_host(fake, monkeypatch):
    x = to(tensor(X), FAKE)
    whole = type(fake).copy

    def apart(self, target, source, stream):
        return CPU in (target.place, source.place) and whole(self, target, source, stream)

    monkeypatch.setattr(type(fake), "copy", apart)
    np.testing.assert_array_equal(back(to(x, OTHER)), X)
    monkeypatch.setattr(type(fake), "copy", lambda *args: False)
    with pytest.raises(RuntimeError, match=r"\[to\] requires a backend that copies from fake:0 to cpu"):
        back(x)


def test_the_gradient_goes_back(fake):
    x = leaf(X, np.float32)
    y = to(to(F.mul(x, x), FAKE), OTHER)
    z = F.sum(F.mul(y, y), axes=(0, 1))
    assert z.place is OTHER
    tape.backward([z])
    assert x.grad.place is CPU
    np.testing.assert_allclose(values(x.grad), 4 * X**3, rtol=1e-6)
    (g,) = tape.grad([to(F.mul(x, x), FAKE)], [x], [to(tensor(np.ones_like(X)), FAKE)], create_graph=True)
    (gg,) = tape.grad([F.sum(g, axes=(0, 1))], [x])
    np.testing.assert_array_equal(values(gg), np.full_like(X, 2))


def test_one_plan_serves_all_shapes(fake):
    to(tensor(X), FAKE)
    with count_plans() as counts:
        for n in (1, 5, 100):
            assert to(tensor(np.ones((n, 2), np.float32)), FAKE).shape == [n, 2]
    assert counts["transfer"] == 0


def test_an_operand_elsewhere_is_refused(fake):
    with pytest.raises(ValueError, match=r"\[transfer\] requires an operand on fake:0, got one on cpu"):
        F.transfer(tensor(X), source="fake:0", target="cpu")
    with pytest.raises(ValueError, match=r"\[add\] requires operands on one place, got cpu, fake:0"):
        F.add(tensor(X), to(tensor(X), FAKE))
    with pytest.raises(RuntimeError, match=r"\[to\] requires a tensor with data, got one on null"):
        to(empty((2,), dtype=paddle.float32, place=NULL), CPU)
    with pytest.raises(ValueError, match="no backend runs 'nowhere'"):
        to(tensor(X), Place("nowhere", 0))


def test_writing_across_places(fake):
    x, y = to(tensor(X), FAKE), leaf(X, np.float32)
    inplace.assign(F.slice(x, axes=(0,), starts=(0,), sizes=(1,), steps=(1,)), tensor(-X[:1]))
    np.testing.assert_array_equal(back(x), [-X[0], X[1]])
    inplace.assign(x, F.mul(y, 3.0))
    tape.backward([F.sum(F.mul(x, x), axes=(0, 1))])
    np.testing.assert_array_equal(values(y.grad), 18 * X)


# --- the public API


def test_to_and_its_kin(fake):
    x = paddle.to_tensor(X, stop_gradient=False)
    y = x.to("fake:1")
    assert y.place is OTHER and y.to(y) is y and not y.stop_gradient and y.cpu().place is CPU
    assert y.to("cpu", "float64").dtype is paddle.float64
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones_like(X))
    with paddle.no_grad():
        assert not x.to("fake").stop_gradient and x.to("fake").is_leaf
    layer = paddle.nn.Linear(3, 2)
    expected = layer(paddle.to_tensor(X)).numpy()
    layer.to("fake")
    assert layer.weight.place is FAKE
    made = layer(paddle.to_tensor(X, place=FAKE))
    np.testing.assert_allclose(made.numpy(), expected, rtol=1e-5)
    made.sum().backward()
    assert layer.weight.grad.place is FAKE


def test_whoever_looks_waits_for_a_copy(fake):
    x = paddle.to_tensor(X, place=FAKE)
    y = x * 2
    assert y.numpy().tolist() == (2 * X).tolist() and y.tolist() == (2 * X).tolist()
    assert y[1, 2].item() == 10.0 and float(y.sum()) == 30.0 and bool((y == y).all())
    assert "fake:0" in str(y) and "10." in str(y)
    np.testing.assert_array_equal(np.asarray(y), 2 * X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(y)).numpy(), 2 * X)
    twin = copy.deepcopy(y)
    assert twin.place is FAKE
    np.testing.assert_array_equal(twin.numpy(), 2 * X)
    file = io.BytesIO()
    paddle.save({"y": y}, file)
    file.seek(0)
    np.testing.assert_array_equal(paddle.load(file)["y"].numpy(), 2 * X)
    with pytest.raises(ValueError, match="requires memory of the host, got a tensor on fake:0"):
        array.to_numpy(y)
    with pytest.raises(ValueError, match="requires memory of the host"):
        array.operand(y)
    with pytest.raises(ValueError, match="fake:0 cannot use the host's memory"):
        array.from_numpy(X, FAKE, copy=False)


def test_dlpack(fake):
    y = paddle.to_tensor(X, place=FAKE) + 1
    assert y.__dlpack_device__() == (12, 0)
    np.testing.assert_array_equal(np.from_dlpack(y.cpu()), X + 1)
    capsule = y.__dlpack__(dl_device=(1, 0), max_version=(1, 1))
    np.testing.assert_array_equal(paddle.from_dlpack(capsule).numpy(), X + 1)
    with pytest.raises(BufferError, match="dl_device"):
        y.__dlpack__(dl_device=(1, 0), copy=False)
    same = paddle.from_dlpack(y.__dlpack__())
    assert same.place is y.place and same.data_ptr() == y.data_ptr(), "memory of ours comes back as ours"
    copied = paddle.from_dlpack(y.__dlpack__(copy=True, max_version=(1, 2)))
    assert copied.place is y.place and copied.data_ptr() != y.data_ptr()
    here = paddle.from_dlpack(y, device="cpu")
    assert here.place is CPU
    np.testing.assert_array_equal(here.numpy(), X + 1)
    with pytest.raises(BufferError, match="copy=None or True to take memory to cpu"):
        paddle.from_dlpack(y, device="cpu", copy=False)
    assert paddle.from_dlpack(X, device=FAKE).place is FAKE
    assert y.__tvm_ffi_env_stream__() == 0


def test_offloaded_activations(fake):
    x = leaf(X, np.float32, FAKE)
    away = Offload()
    context.current().saved_hooks = (away.pack, away.unpack)
    try:
        y = F.mul(x, F.mul(x, 2.0))
    finally:
        context.current().saved_hooks = None
    assert away.put
    tape.backward([F.sum(y, axes=(0, 1))])
    np.testing.assert_array_equal(back(x.grad), 4 * X)


def test_memory_moves_and_goes_away(fake):
    x = to(tensor(X), FAKE)
    stream.synchronize(FAKE.index)
    before = x.storage.data_ptr()
    x.storage.relocate()
    assert x.storage.data_ptr() != before
    stream.synchronize(FAKE.index)
    x.storage.offload()
    np.testing.assert_array_equal(back(F.add(x, 1.0)), X + 1)


# --- captured


def test_captured(fake):
    weight = paddle.to_tensor(X, place=FAKE)

    def f(x):
        y = (x * 2).to("fake")
        assert y.place is FAKE
        with paddle.device.device("fake"):
            ones = paddle.ones([2, 3])
        return (y * weight + ones).to("cpu") - x

    x = paddle.to_tensor(X)
    fast = paddle.jit.to_static(f)
    for _ in range(2):
        made = fast(x)
        assert made.place is CPU
        np.testing.assert_array_equal(made.numpy(), f(x).numpy())


def test_captured_with_a_gradient(fake):
    weight = paddle.to_tensor(X, place=FAKE, stop_gradient=False)

    def f(x):
        y = (x * x).to("fake") * weight
        return (y * y).sum()

    results = []
    for g in (f, paddle.jit.to_static(f)):
        x = paddle.to_tensor(X + 1, stop_gradient=False)
        weight.clear_grad()
        made = g(x)
        assert made.place is FAKE
        made.backward()
        assert x.grad.place is CPU and weight.grad.place is FAKE
        results.append([made.numpy(), x.grad.numpy(), weight.grad.numpy()])
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("place", [FAKE, OTHER], ids=str)
@pytest.mark.parametrize("kind", ["SGD", "Momentum", "AdamW", "RMSProp"])
def test_training_beside_the_default_place(place, kind):
    """Parameters on a device, while new tensors go to the host."""
    found = []
    for where in (CPU, place):
        paddle.seed(1)
        net = paddle.nn.Sequential(paddle.nn.Linear(3, 4), paddle.nn.Tanh(), paddle.nn.Linear(4, 2)).to(where)
        options = {"learning_rate": 0.1, "parameters": net.parameters()}
        optimizer = getattr(paddle.optimizer, kind)(**options)
        for _ in range(3):
            x = paddle.to_tensor(X, place=where)
            loss = ((net(x) - 1.0) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        assert all(p.place is where for p in net.parameters())
        found.append([loss.item(), *(p.numpy() for p in net.parameters())])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=5e-3, atol=1e-3)
