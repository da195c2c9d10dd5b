"""What hangs on ``Tensor``: properties, conversions, in-place forms, aliases of arguments."""

import inspect
import pickle

import numpy as np
import pytest
import torch

import paddle
from paddle._public import ROWS
from paddle.tensor import placement
from umiak.ops.base import REGISTRY
from umiak.runtime.observe import observe


def test_what_is_declared_as_a_method_is_one():
    declared = [row for row in ROWS if "Tensor" in row.exported_by]
    assert len(declared) > 400
    for row in declared:
        assert inspect.getattr_static(paddle.Tensor, row.name) is row.value, row.name


def test_properties():
    x = paddle.arange(6.0).reshape([2, 3])
    assert (x.ndim, x.size, x.dim(), x.itemsize, x.element_size(), x.nbytes) == (2, 6, 2, 4, 4, 24)
    assert x.shape == [2, 3]
    assert x.numel().item() == 6
    assert x.T.shape == x.mT.shape == x.t().shape == [3, 2]
    assert paddle.ones([2, 3, 4]).T.shape == [4, 3, 2]
    assert paddle.ones([2, 3, 4]).mT.shape == [2, 4, 3]
    assert x.strides == x.stride() == x.get_strides() == [3, 1]
    assert x.stride(-1) == 1
    assert not x.T.is_contiguous()
    assert x.T.contiguous().is_contiguous()
    assert x.contiguous() is x
    assert x.place.name == "cpu" and str(x.place) == repr(x.place) == f"{x.place}" == "Place(cpu)"
    assert x.device == "cpu" and (x.device.type, x.device.index) == ("cpu", None)
    assert (x.is_cuda, x.is_dense(), x.is_dist(), x.get_device()) == (False, True, False, -1)
    assert x.is_leaf
    assert x.grad_fn is None
    with pytest.raises(AttributeError):
        _ = x.__cuda_array_interface__
    with pytest.raises(AttributeError, match="nothing"):
        _ = x.nothing


def test_names():
    a, b = paddle.ones([1]), paddle.ones([1])
    first = a.name
    assert first != b.name
    assert a.name == first, "a name is given once"
    a.name = "w"
    assert a.name == "w"
    a.persistable = True
    assert a.persistable
    assert not b.persistable
    with pytest.raises(TypeError, match="str"):
        a.name = 3


def test_to_python():
    x = paddle.to_tensor([[1, 2], [3, 4]])
    assert x.tolist() == [[1, 2], [3, 4]]
    assert x.item(2) == x.item(1, 0) == 3
    assert paddle.to_tensor(2.5).item() == 2.5
    assert [10, 20, 30][paddle.to_tensor(1)] == 20
    assert int(paddle.to_tensor([3.9])) == 3
    assert float(paddle.to_tensor(2)) == 2.0
    assert complex(paddle.to_tensor(1j)) == 1j
    assert bool(paddle.to_tensor([0])) is False
    assert len(x) == 2
    for bad in (lambda: bool(x), lambda: x.item(), lambda: x.item(9)):
        with pytest.raises(ValueError, match="requires"):
            bad()
    for bad in (lambda: float(x), lambda: int(x), lambda: len(paddle.to_tensor(1)), lambda: [1][paddle.to_tensor(0.0)]):
        with pytest.raises(TypeError, match="requires"):
            bad()


def test_hash_is_identity():
    a, b = paddle.ones([2]), paddle.ones([2])
    assert len({a, b, a}) == 2
    assert {a: 1}[a] == 1
    assert (a == None) is False  # noqa: E711
    assert (a != None) is True  # noqa: E711


# --- NumPy and DLPack ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("array", [paddle.Tensor.numpy, np.asarray, np.array, np.ravel], ids=lambda f: f.__name__)
@pytest.mark.parametrize("given", [lambda x: x, lambda x: x.detach(), lambda x: x.T, lambda x: x[:1]])
def test_arrays_are_copies(array, given):
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    a = array(given(x))
    before = a.copy()
    x.add_(paddle.ones([2, 2]))
    assert (a == before).all()
    a += 10
    assert x.tolist() == [[2, 3], [4, 5]]


def test_arrays_of_dense_tensors_are_copies():
    x = paddle.ones([2])
    for array in (np.asarray, np.array):
        a = array(x.get_tensor())
        x.add_(paddle.ones([2]))
        assert (a == x.numpy() - 1).all()
    assert np.asarray(x.get_tensor(), "int32").dtype == np.int32


def test_weights_of_before_a_step_stay_as_they_were():
    layer = paddle.nn.Linear(2, 2)
    optimizer = paddle.optimizer.SGD(1.0, parameters=layer.parameters())
    before = layer.weight.numpy()
    layer(paddle.ones([1, 2])).sum().backward()
    optimizer.step()
    assert np.abs(before - layer.weight.numpy()).min() == 1


def test_arrays_over_the_memory_of_a_tensor():
    x = paddle.zeros([2])
    x.__array__(copy=False)[0] = 5
    np.from_dlpack(x)[1] = 6
    assert x.tolist() == [5, 6]
    assert np.asarray(x, dtype="int32").tolist() == [5, 6]
    with pytest.raises(ValueError, match="to share memory"):
        x.__array__("int32", copy=False)
    y = paddle.from_numpy(np.zeros(2))
    assert y.dtype is paddle.float64


@pytest.mark.parametrize("dtype", ["int4", "uint4", "float4_e2m1fn"])
def test_packed_elements_are_not_shared_with_arrays(dtype):
    x = paddle.ones([3]).astype(dtype)
    with pytest.raises(ValueError, match=rf"requires elements of whole bytes on the host.*{dtype} on cpu"):
        x.__array__(copy=False)
    for a in (x.numpy(), np.asarray(x), np.array(x)):
        a[0] = np.float32(2)
        assert a.astype("float32").tolist() == [2, 1, 1] and x.astype("float32").tolist() == [1, 1, 1]


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "<", "=="])
def test_numpy_on_either_side(symbol):
    a, x = np.array([1.0, 2.0], np.float32), paddle.to_tensor([3.0, 2.0])
    for code in (f"a {symbol} x", f"x {symbol} a", f"np.float32(2) {symbol} x", f"x {symbol} np.int64(2)"):
        got = eval(code)
        assert isinstance(got, paddle.Tensor), code
        np.testing.assert_allclose(got.numpy(), eval(code, {"np": np, "a": a, "x": x.numpy()}))


@pytest.mark.parametrize("bad", ["a", [1, 2], object()])
def test_other_operands_are_refused(bad):
    with pytest.raises(TypeError, match="unsupported operand"):
        paddle.ones([2]) + bad


def test_dlpack_both_ways():
    t = torch.arange(4.0)
    x = paddle.from_dlpack(t)
    x[0] = 9.0
    assert t[0] == 9
    back = torch.from_dlpack(x)
    back[1] = 8
    assert x.tolist() == [9, 8, 2, 3]
    assert paddle.utils.dlpack.from_dlpack(paddle.to_dlpack(x)).tolist() == [9, 8, 2, 3]
    assert x.__dlpack_device__() == (1, 0)
    x.stop_gradient = False
    with pytest.raises(BufferError, match="detach"):
        x.__dlpack__()


# --- dtypes and places ---------------------------------------------------------------------------------------------


def test_conversions():
    x = paddle.to_tensor([1.7])
    for name, dtype in placement.DTYPE_METHODS.items():
        assert getattr(x, name)().dtype is dtype
    assert x.astype("int32").tolist() == [1]
    assert x.astype(int).dtype is paddle.int64
    assert x.astype(np.float16).dtype is paddle.float16
    assert x.astype("float32") is x
    assert x.type_as(paddle.ones([1], "int8")).dtype is paddle.int8


def test_to():
    x = paddle.ones([1])
    assert x.to("float64").dtype is paddle.float64
    assert x.to(paddle.int32).dtype is paddle.int32
    assert x.to("cpu") is x
    assert x.to("cpu", "int64").dtype is paddle.int64
    assert x.to(device="cpu", dtype="int8", blocking=True).dtype is paddle.int8
    assert x.to(paddle.ones([1], "float16")).dtype is paddle.float16
    assert x.to("cpu", copy=True) is not x
    assert x.cpu() is x
    with pytest.raises(ValueError, match="device"):
        x.to("gpu:0")
    with pytest.raises(ValueError, match="device like"):
        x.to("nonsense")
    with pytest.raises(TypeError, match="unexpected"):
        x.to(nonsense=1)


# --- in place ------------------------------------------------------------------------------------------------------


def test_in_place_keeps_gradients():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * 1
    y.multiply_(paddle.to_tensor([3.0, 4.0]))
    y.reshape_([2, 1]).unsqueeze_(0).astype("float64").sum().backward()
    assert x.grad.tolist() == [3, 4]


def test_in_place_through_a_view():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * 1
    y[0].multiply_(paddle.to_tensor(5.0))
    y.sum().backward()
    assert x.grad.tolist() == [5, 1]


def test_in_place_is_refused():
    x = paddle.ones([2])
    with pytest.raises(ValueError, match="shape"):
        x.add_(paddle.ones([3, 2]))
    x.stop_gradient = False
    for change in (lambda: x.add_(1.0), lambda: x.reshape_([2, 1]), lambda: x.zero_()):
        with pytest.raises(RuntimeError, match="leaf"):
            change()
    with paddle.no_grad():
        assert x.add_(1.0).tolist() == [2, 2]


def test_where_in_place():
    x = paddle.to_tensor([1.0, -1.0])
    assert paddle.where_(x > 0, x, paddle.zeros([2])) is x
    assert x.tolist() == [1, 0]


def test_filling():
    x = paddle.zeros([3, 3])
    assert x.fill_(2).tolist()[0] == [2, 2, 2]
    assert x.fill_(paddle.to_tensor([3.0])).sum().item() == 27
    assert x.zero_().sum().item() == 0
    assert x.fill_diagonal_(1).sum().item() == 3
    tall = paddle.zeros([7, 3]).fill_diagonal_(4, wrap=True)
    expected = np.zeros((7, 3))
    np.fill_diagonal(expected, 4, wrap=True)
    np.testing.assert_array_equal(tall.numpy(), expected)
    leaf = paddle.zeros([2, 2])
    leaf.stop_gradient = False
    with pytest.raises(RuntimeError, match=r"fill_diagonal_.*no_grad"):
        leaf.fill_diagonal_(1)
    assert leaf.sum().item() == 0
    with paddle.no_grad():
        assert leaf.fill_diagonal_(1).trace().item() == 2
    cube = paddle.zeros([2, 2, 2]).fill_diagonal_(1)
    assert cube[0, 0, 0].item() == cube[1, 1, 1].item() == 1
    assert cube.sum().item() == 2
    assert paddle.zeros([2]).copy_(paddle.to_tensor(3)).tolist() == [3, 3]


def test_set_value():
    x = paddle.zeros([2])
    x.stop_gradient = False
    x.set_value(np.ones(2, np.float32))
    x.set_value(x * 2)
    assert x.tolist() == [2, 2]
    assert x.is_leaf
    for bad in (np.ones(3, np.float32), np.ones(2), [1, 2]):
        with pytest.raises(AssertionError, match="set_value"):
            x.set_value(bad)


def test_set_and_resize():
    x = paddle.arange(6)
    assert x.resize_([4]).tolist() == [0, 1, 2, 3]
    assert x.resize_([2, 3], fill_zero=True).tolist() == [[0, 1, 2], [3, 0, 0]]
    assert x.set_(paddle.arange(6), [2, 2], [3, 1], 1).tolist() == [[1, 2], [4, 5]]
    assert x.set_().shape == [0]


def test_out():
    x = paddle.to_tensor([1.0, 2.0])
    out = paddle.zeros([2])
    assert paddle.add(x, x, out=out) is out
    assert out.tolist() == [2, 4]
    paddle.exp(x, out=out)
    paddle.matmul(paddle.ones([2, 2]), x, out=out)
    assert out.tolist() == [3, 3]
    values, indices = paddle.zeros([1]), paddle.zeros([1], "int64")
    paddle.topk(x, 1, out=(values, indices))
    assert (values.item(), indices.item()) == (2, 1)
    wide = paddle.zeros([5])
    paddle.sum(paddle.ones([2, 3]), axis=0, out=wide)
    assert wide.tolist() == [2, 2, 2]


# --- arguments -----------------------------------------------------------------------------------------------------


def test_aliases():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    same = [
        (paddle.sum(input=x, dim=0), x.sum(0)),
        (paddle.add(input=x, other=x), x + x),
        (paddle.concat(tensors=[x, x], dim=1), paddle.concat([x, x], 1)),
        (x.reshape(shape=[4]), x.flatten()),
        (paddle.clip(input=x, max=2.0), x.clip(max=2.0)),
        (paddle.pow(x, exponent=2), x**2),
        (paddle.flatten(x, start_dim=0, end_dim=1), x.flatten()),
        (paddle.transpose(x, dim0=0, dim1=1), x.T),
        (x.transpose(0, 1), x.T),
        (x.reshape(4, 1), x.reshape([4, 1])),
        (x.expand(3, 2, 2), x.expand([3, 2, 2])),
        (x.permute(1, 0), x.T),
        (paddle.zeros(2, 3), paddle.zeros([2, 3])),
        (paddle.zeros(size=[2]), paddle.zeros([2])),
        (paddle.linalg.norm(x, ord=1, dim=0), paddle.linalg.norm(x, 1, 0)),
        (paddle.isin(elements=x, test_elements=x), paddle.isin(x, x)),
        (paddle.unbind(x, dim=1)[0], x[:, 0]),
        (paddle.where(x > 2, input=x, other=x), x),
        (paddle.eye(n=2, m=3), paddle.eye(2, 3)),
        (paddle.linspace(0, end=1, steps=3), paddle.linspace(0, 1, 3)),
    ]
    for k, (a, b) in enumerate(same):
        assert a.shape == b.shape, k
        assert bool((a == b).all()), k


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x: paddle.sum(x, axis=0, dim=0), "got both|multiple values"),
        (lambda x: paddle.sum(x, 0, dim=1), "multiple values"),
        (lambda x: paddle.sum(x, nonsense=1), "unexpected keyword argument 'nonsense'"),
        (lambda x: paddle.add(x, x, nonsense=1), "unexpected keyword argument 'nonsense'"),
        (lambda x: paddle.add(x), "missing required argument 'y'"),
        (lambda x: paddle.exp(), "missing required argument 'x'"),
        (lambda x: paddle.max(x, dim=0), "unexpected keyword argument 'dim'"),
        (lambda x: paddle.sort(x, dim=0), "unexpected keyword argument 'dim'"),
        (lambda x: paddle.exp(3.0), r"\[exp\] requires a Tensor"),
        (lambda x: paddle.add(1, 2), r"requires a Tensor"),
        (lambda x: paddle.matmul(x, "a"), "requires a Tensor for y"),
        (lambda x: paddle.reshape([1], [1]), r"\[reshape\] requires a Tensor"),
    ],
)
def test_wrong_arguments(call, match):
    with pytest.raises(TypeError, match=match):
        call(paddle.ones([2, 2]))


def test_subclasses_survive():
    class Mine(paddle.Tensor):
        pass

    m = Mine()
    m._share(paddle.ones([2]))
    assert (m + m).tolist() == [2, 2]
    assert pickle.loads(pickle.dumps(paddle.ones([2]))).tolist() == [1, 1]


def test_hot_functions_dispatch_once():
    """One public call, one call of an op: nothing is cast, copied or looked at on the way."""
    x = paddle.ones([2, 2])
    calls = [
        lambda: paddle.add(x, x),
        lambda: paddle.multiply(x, 2.0),
        lambda: paddle.matmul(x, x),
        lambda: paddle.exp(x),
        lambda: paddle.sum(x, 1),
        lambda: paddle.mean(x),
        lambda: paddle.reshape(x, [4]),
        lambda: paddle.transpose(x, [1, 0]),
        lambda: paddle.concat([x, x]),
        lambda: paddle.stack([x, x]),
        lambda: paddle.unsqueeze(x, 0),
        lambda: paddle.clip(x, 0.0, 1.0),
        lambda: paddle.maximum(x, x),
        lambda: x.astype("float64"),
        lambda: x[1:],
    ]
    for k, call in enumerate(calls):
        seen = []
        with observe(lambda op, *rest, seen=seen: seen.append(op.name)):
            call()
        assert len(seen) == 1, (k, seen)


def test_numbers_do_not_grow_tables():
    x = paddle.ones([2])
    record = REGISTRY["mul"]()
    x * 1.0
    before = record.table_size()
    for k in range(50):
        x * float(k)
        paddle.multiply(x, k + 0.5)
    assert record.table_size() == before


COPIES = {
    "cast": lambda x: paddle.cast(x, "float32"),
    "x.cast": lambda x: x.cast(paddle.float32),
    "to, by name": lambda x: x.to("float32"),
    "to, by keyword": lambda x: x.to(dtype="float32"),
    "to, with a place": lambda x: x.to("cpu", "float32"),
}
ITSELF = {
    "astype": lambda x: x.astype("float32"),
    "to, a dtype": lambda x: x.to(paddle.float32),
    "to, a place": lambda x: x.to("cpu"),
    "to, another": lambda x: x.to(paddle.ones([1])),
    "type_as": lambda x: x.type_as(paddle.ones([1])),
    "float": lambda x: x.float(),
}


@pytest.mark.parametrize("captured", [False, True], ids=["eager", "captured"])
@pytest.mark.parametrize("name", COPIES)
def test_casts_that_copy_in_the_same_dtype(name, captured):
    """What is written to the result is not seen in the source; gradients pass."""
    f = paddle.jit.to_static(COPIES[name]) if captured else COPIES[name]
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = f(x)
    assert not y.is_leaf
    with paddle.no_grad():
        y[0] = 9.0
    assert (x.tolist(), y.tolist()) == ([1.0, 2.0], [9.0, 2.0])
    (f(x) * 3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("name", ITSELF)
def test_casts_that_give_the_tensor_itself(name):
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    assert ITSELF[name](x) is x


def test_data_is_the_same_memory_without_history():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    x.data.add_(paddle.ones([2]))  # a leaf itself would refuse it
    assert x.tolist() == [2.0, 3.0] and x.data.stop_gradient and not x.stop_gradient
    (x * x).data.stop_gradient = True
    x.data = paddle.zeros([3])
    assert x.tolist() == [0.0, 0.0, 0.0] and not x.stop_gradient


def test_a_gradient_may_be_written():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    (x * x).sum().backward()
    assert x.grad.stop_gradient and x.grad.scale_(0.5).tolist() == [1.0, 2.0]
    (x * x).sum().backward()
    assert x.grad.stop_gradient and x.grad.tolist() == [3.0, 6.0]
    assert x.grad.zero_().tolist() == x.grad.tolist() == [0.0, 0.0]


# --- where the reference framework does otherwise: docs/design/differences.md ----------------------------------------


def test_gradients_that_were_kept():
    x = paddle.ones([2])
    x.stop_gradient = False
    (x * 2).sum().backward()
    kept = x.grad
    (x * 3).sum().backward()
    assert (kept.tolist(), x.grad.tolist()) == ([2, 2], [5, 5])


def test_hooks_of_leaves_see_gradients_that_are_asked_for():
    x = paddle.ones([1])
    x.stop_gradient = False
    x.register_hook(lambda g: g * 10)
    assert paddle.grad(x * 3, x)[0].item() == 30


def test_what_copies():
    x = paddle.ones([1, 2])
    z = paddle.to_tensor([1 + 2j])
    copies = [paddle.Tensor(x), paddle.as_complex(x), z.real(), z.imag()]
    before = [y.tolist() for y in copies]
    x.zero_()
    z.zero_()
    assert [y.tolist() for y in copies] == before


def test_states_of_two_optimizers_are_apart():
    p = paddle.create_parameter([1], "float32")
    first, second = (paddle.optimizer.Momentum(0.1, parameters=[p]) for _ in range(2))
    p.grad = paddle.ones([1])
    first.step()
    second.set_state_dict(first.state_dict())
    first.step()
    assert [o.state_dict()[f"{p.name}_velocity_0"].item() for o in (first, second)] == [pytest.approx(1.9), 1]


def test_integers_of_a_layer_stay_integers():
    layer = paddle.nn.Linear(1, 1)
    layer.register_buffer("count", paddle.to_tensor([3]))
    layer.to(dtype="float64")
    assert (layer.weight.dtype, layer.count.dtype) == (paddle.float64, paddle.int64)


def test_numbers_of_numpy_and_integers():
    y = np.float32(2.5) * paddle.to_tensor([2])
    assert (y.tolist(), y.dtype) == ([5], paddle.float32)
