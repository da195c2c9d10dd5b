"""``paddle.compat``: PyTorch's meaning, against PyTorch itself, and this package as ``torch``."""

from __future__ import annotations

import importlib
import sys
import textwrap
import threading

import numpy as np
import pytest
import torch

import paddle
from paddle import compat

RNG = np.random.default_rng(7)
X = RNG.integers(-3, 4, (3, 4)).astype("float32")
NAN = np.array([[1.0, np.nan, 0.0, 2.0], [np.nan, np.nan, 3.0, -1.0]], "float32")


def same(ours, theirs, rtol=1e-5):
    if isinstance(theirs, (tuple, list)):
        assert isinstance(ours, tuple) and len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, rtol)
    elif isinstance(theirs, torch.Tensor):
        assert ours.dtype.name == str(theirs.dtype).split(".")[-1] and tuple(ours.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=rtol, atol=1e-6)
    else:
        assert ours == theirs and type(ours) is type(theirs)


ARRAYS = {
    "x": X,
    "n": NAN,
    "i": np.array([3, 1, 1, 2]),
    "b": X > 0,
    "s": np.array([[2.0, 1.0], [4.0, -3.0]], "float32"),
    "z": np.zeros([0, 3], "float32"),
    "p": RNG.standard_normal((2, 3, 5, 6)).astype("float32"),
    "w": RNG.standard_normal((2, 4)).astype("float32"),
    "one": np.array(3.0, "float32"),
}

CALLS = """
C.equal(x, x)
C.equal(x, x + 1)
C.equal(x, i)
C.equal(i, i.double())
C.equal(n, n)
C.max(x)
C.max(i)
C.max(x, 1)
C.max(x, 0, True)
C.max(x, dim=-1, keepdim=True)
C.max(n, 1)
C.max(b, 1)
C.max(i, 0)
C.max(one, 0)
C.max(x, -x)
C.max(x, other=x[0])
C.max(input=x, dim=0)
C.min(x)
C.min(x, 1)
C.min(n, 1)
C.min(x, x.T.reshape(3, 4))
C.min(b, 0, keepdim=True)
C.median(x)
C.median(i)
C.median(n)
C.nanmedian(n)
C.median(x, 1).values
C.median(x, dim=0, keepdim=True).values
C.nanmedian(n, 1).values
C.sort(x).values
C.sort(x, stable=True)
C.sort(x, dim=0, descending=True, stable=True)
C.sort(n, dim=1, descending=True, stable=True)
C.sort(one)
C.split(x, 2)
C.split(x, 3, 1)
C.split(x, [1, 3], dim=1)
C.split(x, 9, -1)
C.split(z, 2)
C.split(z, 0)
C.split(z, [0, 0], 0)
C.unique(i)
C.unique(x, return_inverse=True)
C.unique(x, True, True, True)
C.unique(x, dim=0)
C.unique(i, return_counts=True)
C.unique(b)
F.softmax(x)
F.softmax(x, 0)
F.softmax(p)
F.softmax(p[0])
F.softmax(i[:2], 0, dtype=C.float64)
F.pad(x, (1, 2))
F.pad(x, (1, 0, 0, 2), value=5.0)
F.pad(x, (-1, 0))
F.pad(i, (1, 1), "constant", 7)
F.pad(p, (1, 1, 2, 0), "reflect")
F.pad(p, (1, 1, 2, 0), mode="replicate")
F.pad(p[0], (2, 1), mode="circular")
F.pad(x, (2, 1), mode="reflect")
F.pad(p, ())
F.linear(x, w)
F.linear(x, w, w[:, 0])
F.linear(x, w[0])
F.linear(p[0, 0, 0, :4], w)
F.unfold(p, 2)
F.unfold(p, (2, 3), 1, (1, 0), (2, 1))
F.unfold(p[0], 2, dilation=2, padding=1, stride=2)
F.scaled_dot_product_attention(p, p, p)
F.scaled_dot_product_attention(p, p, p, is_causal=True, scale=0.3)
F.scaled_dot_product_attention(p[0], p[0], p[0])
F.scaled_dot_product_attention(p[0, 0], p[0, 0], p[0, 0], p[0, 0, :, :5] > 0)
F.scaled_dot_product_attention(p, p[:, :1], p[:, :1], enable_gqa=True)
F.scaled_dot_product_attention(p, p, p, p[:, :, :, :5])
N.Softmax(dim=1)(x)
N.Softmax()(x)
N.Unfold(2, stride=2)(p)
N.AvgPool1d(2)(p[0])
N.AvgPool1d(3, 2, 1, True, False)(p[0])
N.AvgPool1d(2)(x)
N.AvgPool2d(2, 1, 1)(p)
N.AvgPool2d((2, 3), (1, 2), (1, 0), True, False)(p)
N.AvgPool2d(2, 1, 1, False, True, 3)(p)
N.AvgPool2d(2)(p[0])
N.AvgPool3d(2, 1, 1, False, False)(p[None])
N.AvgPool3d(2)(p)
""".split("\n")[1:-1]


def ours(call):
    space = {name: paddle.to_tensor(a) for name, a in ARRAYS.items()}

    class Names:
        float64 = paddle.float64

        def __getattr__(self, name):
            return getattr(compat, name)

    return eval(call, {"C": Names(), "F": compat.nn.functional, "N": compat.nn, **space})


def theirs(call):
    space = {name: torch.from_numpy(a.copy()) for name, a in ARRAYS.items()}
    return eval(call, {"C": torch, "F": torch.nn.functional, "N": torch.nn, **space})


@pytest.mark.filterwarnings("ignore:Implicit dimension choice")
@pytest.mark.parametrize("call", CALLS)
def test_as_in_pytorch(call):
    same(ours(call), theirs(call))


def test_slogdet():
    found = compat.slogdet(paddle.to_tensor(ARRAYS["s"]))
    assert isinstance(found, compat.SlogdetResult)
    same(found, tuple(torch.slogdet(torch.from_numpy(ARRAYS["s"]))))
    assert compat.slogdet(paddle.zeros([2, 2])).logabsdet.item() == -np.inf


def test_types_of_pairs():
    x = paddle.to_tensor(X)
    assert type(compat.max(x, 1)) is compat.MinMaxRetType and type(compat.min(x, 1)) is compat.MinMaxRetType
    assert type(compat.median(x, 1)) is compat.MedianRetType and type(compat.sort(x)) is compat.SortRetType
    assert compat.max(x, 1)._fields == compat.sort(x)._fields == ("values", "indices")


def test_medians_lie_where_their_indices_say():
    for f, a in ((compat.median, X), (compat.nanmedian, NAN)):
        values, indices = f(paddle.to_tensor(a), 1)
        np.testing.assert_array_equal(np.take_along_axis(a, indices.numpy()[:, None], 1)[:, 0], values.numpy())


def test_results_are_written():
    x, v, i = paddle.to_tensor(X), paddle.zeros([1]), paddle.zeros([1], "int64")
    for call in (compat.max, compat.min, compat.median, compat.sort):
        found = call(x, 1, out=(v, i))
        assert found.values is v and found.indices is i and v.tolist() == call(x, 1)[0].tolist()
    assert compat.max(x, out=v) is v and v.item() == X.max()
    s = compat.nn.functional.softmax(x, 0, out=v)
    assert s is v and v.shape == x.shape


@pytest.mark.parametrize("dim", [None, 1])
@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian"])
def test_gradients(name, dim):
    a = np.array([[1.0, 2.0, 2.0], [0.0, 0.0, -1.0]], "float32")
    x = paddle.to_tensor(a, stop_gradient=False)
    t = torch.from_numpy(a.copy()).requires_grad_()
    args = () if dim is None else (dim,)
    made, want = getattr(compat, name)(x, *args), getattr(torch, name)(t, *args)
    (made if dim is None else made.values).sum().backward()
    (want if dim is None else want.values).sum().backward()
    if dim is None or name in ("max", "min"):
        if "median" not in name:
            np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy())
    np.testing.assert_allclose(x.grad.numpy().sum(), t.grad.numpy().sum())


@pytest.mark.parametrize(
    "call",
    ["max(x, axis=1)", "max(x, (0, 1))", "max(x, 1.0)", "max(x, 1, False, 2)", "max(x, True)", "min(x, foo=1)",
     "max(x, x, dim=1)", "median(x, axis=1)", "sort(x, axis=1)", "split(x, 2, axis=1)", "split(x, 1.5)",
     "unique(x, axis=0)", "equal(x, 1)", "nn.functional.softmax(x, axis=1)", "nn.functional.pad(x, 'a')",
     "nn.Linear(2, 3, weight_attr=None)", "nn.Softmax(axis=0)", "nn.AvgPool1d(2, exclusive=True)",
     "nn.functional.unfold(x, 2, strides=1)"],
)  # fmt: skip
def test_type_errors(call):
    with pytest.raises(TypeError):
        eval("C." + call, {"C": compat, "x": paddle.to_tensor(X)})


@pytest.mark.parametrize(
    "call",
    ["max(x, 2)", "split(x, -1)", "split(x, [1, 1])", "sort(x, 5)", "nn.functional.pad(x, (1,))", "max(x[:0])",
     "nn.functional.pad(x, (1,) * 6)", "nn.functional.pad(x, (1, 1), 'mirror')", "nn.MultiheadAttention(4, 3)",
     "nn.functional.scaled_dot_product_attention(x, x, x, x, 0.0, True)", "nn.functional.linear(x, x[:2, :2])"],
)  # fmt: skip
def test_value_errors(call):
    with pytest.raises((ValueError, IndexError)):
        eval("C." + call, {"C": compat, "x": paddle.to_tensor(X)})


def test_linear_starts_within_its_bound_and_says_what_it_is():
    paddle.seed(3)
    layer = compat.nn.Linear(16, 8)
    for parameter in (layer.weight, layer.bias):
        assert 0.1 < float(parameter.abs().max()) <= 0.25
    assert repr(layer) == "Linear(in_features=16, out_features=8, bias=True)" == repr(torch.nn.Linear(16, 8))
    assert compat.nn.Linear(2, 3, False, dtype="float64").weight.dtype == paddle.float64
    assert compat.nn.Linear(2, 3, bias=False).bias is None
    before = layer.weight.numpy().copy(), layer.bias.numpy().copy()
    layer.reset_parameters()
    for old, new in zip(before, (layer.weight, layer.bias), strict=True):
        assert (old != new.numpy()).all() and (new.abs() <= 0.25).all() and not new.stop_gradient


@pytest.mark.parametrize(
    "made", [{}, {"bias": False}, {"kdim": 3, "vdim": 5}, {"add_bias_kv": True}, {"add_zero_attn": True},
             {"batch_first": True}]
)  # fmt: skip
@pytest.mark.parametrize(
    "called", [{}, {"need_weights": False}, {"average_attn_weights": False}, {"attn_mask": 2}, {"attn_mask": 3},
               {"key_padding_mask": True}, {"attn_mask": 2, "key_padding_mask": True}]
)  # fmt: skip
def test_multihead_attention(made, called):
    torch.manual_seed(1)
    theirs = torch.nn.MultiheadAttention(4, 2, **made)
    ours = compat.nn.MultiheadAttention(4, 2, **made)
    state = {k: v.numpy() for k, v in theirs.state_dict().items()}
    if "kdim" in made:  # the reference has a bias for each of the three weights
        biases = np.split(state.pop("in_proj_bias"), 3)
        state |= dict(zip(("q_proj_bias", "k_proj_bias", "v_proj_bias"), biases, strict=True))
    assert sorted(ours.state_dict()) == sorted(state)
    ours.set_state_dict({k: paddle.to_tensor(v) for k, v in state.items()})
    kdim, vdim = made.get("kdim", 4), made.get("vdim", 4)
    shapes = [(2, 3, 4), (2, 5, kdim), (2, 5, vdim)]  # batch, length, dim
    arrays = [np.random.standard_normal(s).astype("float32") for s in shapes]
    if not made.get("batch_first"):
        arrays = [a.swapaxes(0, 1).copy() for a in arrays]
    masks = {}
    if "attn_mask" in called:
        masks["attn_mask"] = np.triu(np.ones((3, 5), bool), 2)
        if called["attn_mask"] == 3:
            masks["attn_mask"] = np.random.standard_normal((4, 3, 5)).astype("float32")
    if "key_padding_mask" in called:
        masks["key_padding_mask"] = np.array([[0, 0, 0, 1, 1], [0, 0, 0, 0, 1]], bool)
    flags = {k: v for k, v in called.items() if "mask" not in k}
    want = theirs(*map(torch.from_numpy, arrays), **{k: torch.from_numpy(m) for k, m in masks.items()}, **flags)
    got = ours(*map(paddle.to_tensor, arrays), **{k: paddle.to_tensor(m) for k, m in masks.items()}, **flags)
    same(got[0], want[0], 1e-4)
    assert (got[1] is None) == (want[1] is None)
    if got[1] is not None:
        same(got[1], want[1], 1e-4)


def test_multihead_attention_without_a_batch_and_causal():
    layer = compat.nn.MultiheadAttention(4, 2)
    x = paddle.to_tensor(np.random.standard_normal((3, 4)).astype("float32"))
    out, weights = layer(x, x, x, is_causal=True)
    assert out.shape == (3, 4) and weights.shape == (3, 3)
    assert float(weights.triu(1).abs().max()) == 0.0
    assert repr(layer).replace("\n", "") == (
        "MultiheadAttention(  (out_proj): Linear(in_features=4, out_features=4, bias=True))"
    )


def test_seed_differs():
    assert compat.seed() != compat.seed()
    compat.seed()
    a = paddle.rand([3])
    assert a.tolist() != paddle.rand([3]).tolist()


def test_functions_are_captured():
    x = paddle.to_tensor(X)
    for f in (
        lambda x: compat.max(x, 1),
        lambda x: compat.sort(x, 0),
        lambda x: compat.split(x, 2),
        lambda x: compat.nn.functional.pad(x, (1, 1)),
        lambda x: compat.nn.functional.softmax(x),
    ):
        for a, b in zip(paddle.jit.to_static(f)(x), f(x), strict=True):
            assert a.tolist() == b.tolist()


# --- this package as torch -----------------------------------------------------------------------------------------


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """Modules that import torch when they are imported, and when they are called."""
    text = textwrap.dedent("""
        import torch
        def again():
            import torch
            return torch
    """)
    for name in ("mod_a", "mod_b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
    (tmp_path / "mod_a" / "below.py").write_text("import torch.nn as nn\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("paddle.compat.proxy._blocked", {"tvm_ffi"})
    yield
    for name in [n for n in sys.modules if n.startswith(("mod_a", "mod_b"))]:
        del sys.modules[name]


def imported():
    import torch as found

    return found


def test_torch_is_this_package_while_it_is_enabled():
    before = list(sys.meta_path)
    paddle.enable_compat()
    try:
        found = imported()
        assert found is not torch and found.sin is paddle.sin and found.Tensor is paddle.Tensor
        assert found.__name__ == "torch" and found.__version__ == paddle.__version__
        import torch.nn as nn
        import torch.nn.functional as F
        from torch import Tensor
        from torch.nn.init import kaiming_uniform_

        assert Tensor is paddle.Tensor and kaiming_uniform_ is paddle.nn.init.kaiming_uniform_
        assert found.nn is nn and nn.functional is F and found.nn.init.__name__ == "torch.nn.init"
        assert nn.Linear is compat.nn.Linear and nn.AvgPool2d is compat.nn.AvgPool2D and nn.Conv2d is paddle.nn.Conv2D
        assert (
            nn.Module is paddle.nn.Layer and F.pad is compat.nn.functional.pad and F.relu is paddle.nn.functional.relu
        )
        assert found.device("cpu") == "cpu" and found.relu is paddle.nn.functional.relu
        assert "sin" in dir(found) and "MultiheadAttention" in dir(nn)
        with pytest.raises(ModuleNotFoundError, match="nothing_here"):
            importlib.import_module("torch.nothing_here")
        with pytest.raises(AttributeError):
            found.nothing_here  # noqa: B018
        found.mine = 3
        assert found.mine == 3 and not hasattr(paddle, "mine")
    finally:
        paddle.disable_compat()
    assert sys.meta_path == before and imported() is torch
    paddle.disable_compat()
    assert imported() is torch


def test_names_that_packages_for_pytorch_use_when_they_are_imported():
    with paddle.use_compat_guard():
        found = imported()
        from torch.torch_version import TorchVersion, __version__

        assert found.device | int | None and isinstance(found.device("cpu"), found.device)
        assert found.device("cuda", 1).index == 1
        assert found.version.hip is found.version.xpu is None
        assert found.version.__version__ == found.__version__ and found.version.debug is False
        assert found.version.cuda is None or paddle.is_compiled_with_cuda()
        assert TorchVersion("2.4") < TorchVersion("2.11") <= __version__ == paddle.__version__
        assert TorchVersion("2.4.0+cpu") == "2.4" and TorchVersion("2.4") >= (2, 4) and TorchVersion("2.4") != "2.5"
        assert len({TorchVersion("2.4"), TorchVersion("2.4.0")}) == 1 and TorchVersion("3") > "2.99"
        x = paddle.to_tensor([1.0, 3.0])
        out = paddle.zeros([2])
        assert found.pow(2.0, x).tolist() == [2, 8] and found.pow(x, 2).tolist() == [1, 9]
        assert found.pow(2.0, x, out=out) is out and out.tolist() == [2, 8]
        from torch.utils._pytree import tree_leaves, tree_map

        assert tree_map(lambda a, b: a + b, {"a": [1, (2,)]}, {"a": [3, (4,)]}) == {"a": [4, (6,)]}
        assert tree_leaves([1, {"b": 2}]) == [1, 2]
        for mark in (found.compiler.disable, found.compiler.disable(recursive=False)):
            outside = mark(lambda x: [x * 2.0, found.compiler.is_compiling()])
            inside = paddle.jit.to_static(lambda x, f=outside: f(x + 1.0)[0] if not f(x)[1] else x)
            assert inside(x).tolist() == [4.0, 8.0]
        with pytest.raises(ValueError, match="takes streams of other libraries"):
            found.cuda.ExternalStream(77777, "cpu")
        assert found.distributed.ProcessGroup is type(paddle.distributed.new_group([0]))
        assert found._C._GLIBCXX_USE_CXX11_ABI is True
        if not paddle.cuda.is_available():
            with pytest.raises(ValueError, match="gpu"):
                found._C._cuda_getCurrentRawStream(0)


def test_it_is_disabled_as_often_as_it_was_enabled():
    paddle.enable_compat()
    paddle.enable_compat()
    paddle.disable_compat()
    try:
        assert imported().sin is paddle.sin
    finally:
        paddle.disable_compat()
    assert imported() is torch


def test_guards_nest():
    with paddle.use_compat_guard():
        assert imported().sin is paddle.sin
        with paddle.use_compat_guard(enable=False):
            assert imported() is torch
            with compat.use_torch_proxy_guard():
                assert imported().sin is paddle.sin
            assert imported() is torch
        assert imported().sin is paddle.sin
    assert imported() is torch
    with pytest.raises(ZeroDivisionError), paddle.use_compat_guard():
        raise ZeroDivisionError
    assert imported() is torch


def test_a_scope_holds_for_what_is_in_it(modules):
    with paddle.use_compat_guard(scope="mod_a"):
        from torch import sin  # not in the scope

        assert sin is torch.sin
    with paddle.use_compat_guard(scope={"mod_a"}):
        a = importlib.import_module("mod_a")
        assert a.torch.sin is paddle.sin and a.again().sin is paddle.sin
        below = importlib.import_module("mod_a.below")
        assert below.nn.Linear is compat.nn.Linear and a.torch.nn is below.nn
    assert imported() is torch and a.again() is torch
    with paddle.use_compat_guard(scope=[]):
        assert imported() is torch


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("first", ["mod_a", "mod_b"])
@pytest.mark.parametrize("kind", ["scope", "blocked"])
def test_each_module_gets_its_own_whoever_was_first(modules, monkeypatch, installed, first, kind):
    """Of two modules one gets this package, now and in later imports, the other PyTorch, or nothing without it."""
    loaded = {name: sys.modules[name] for name in list(sys.modules) if name.partition(".")[0] == "torch"}
    for name in loaded:
        monkeypatch.delitem(sys.modules, name)
    if not installed:
        monkeypatch.setitem(sys.modules, "torch", None)

    def others():
        if installed:
            return importlib.import_module("mod_b").again()
        sys.modules.pop("mod_b", None)
        with pytest.raises(ModuleNotFoundError, match="torch"):
            importlib.import_module("mod_b")
        return None

    if installed:
        sys.modules.update(loaded)
    if kind == "blocked":
        compat.extend_torch_proxy_blocked_modules(["mod_b"])
    with paddle.use_compat_guard(scope="mod_a" if kind == "scope" else None):
        for name in (first, "mod_a", "mod_b", "mod_a"):
            if name == "mod_a":
                a = importlib.import_module("mod_a")
                assert a.torch.sin is paddle.sin and a.again() is a.torch
                assert a.torch.nn.functional.relu is paddle.nn.functional.relu
            else:
                assert others() is (torch if installed else None)
    assert sys.modules.get("torch") is (torch if installed else None)
    assert a.torch.linalg.norm is paddle.linalg.norm  # looked up later, it does not take PyTorch's place
    assert not isinstance(sys.modules.get("torch.linalg"), type(a.torch))


def test_threads_get_their_own(modules, monkeypatch):
    """While one imports, another does not take its modules away."""
    begun, go, made, got = threading.Event(), threading.Event(), compat.proxy._spec, {}

    def slowly(name, family):
        if name == "torch.nn.functional":
            begun.set()
            go.wait(10)
        return made(name, family)

    def importing(importer):
        found = {"__name__": importer}
        exec("import torch.nn.functional as F", found)
        got[importer] = found["F"].relu

    monkeypatch.setattr(compat.proxy, "_spec", slowly)
    with paddle.use_compat_guard(scope="mod_a"):
        threads = [threading.Thread(target=importing, args=[name]) for name in ("mod_a", "mod_b")]
        threads[0].start()
        assert begun.wait(10)
        threads[1].start()
        threads[1].join(0.05)
        go.set()
        for thread in threads:
            thread.join()
    assert got == {"mod_a": paddle.nn.functional.relu, "mod_b": torch.nn.functional.relu}


def test_a_scope_that_changes_is_told(modules):
    with paddle.use_compat_guard(scope="mod_a"):
        with pytest.warns(UserWarning, match=r"extended by \['mod_b'\]"):
            paddle.enable_compat(scope="mod_b")
        assert importlib.import_module("mod_a").torch.sin is paddle.sin
        assert importlib.import_module("mod_b").torch.sin is paddle.sin
        with pytest.warns(UserWarning, match="everywhere from now on"):
            paddle.enable_compat()
        assert imported().sin is paddle.sin
        with pytest.warns(UserWarning, match="not obeyed"):
            paddle.enable_compat(scope="mod_b")
        assert imported().sin is paddle.sin
        paddle.enable_compat(scope="mod_b", silent=True)
        for _ in range(4):
            paddle.disable_compat()


def test_blocked_modules_import_pytorch(modules):
    with paddle.use_compat_guard():
        compat.extend_torch_proxy_blocked_modules(["mod_b"])
        assert importlib.import_module("mod_b").torch is not None
        assert not hasattr(sys.modules["mod_b"].torch, "to_tensor")


def test_wrong_arguments_change_nothing():
    before = list(sys.meta_path)
    for error, kwargs in (
        (TypeError, {"scope": 3}),
        (TypeError, {"scope": [3]}),
        (AssertionError, {"backend": "jax"}),
        (TypeError, {"blocked_modules": [3]}),
        (TypeError, {"level": 2}),
    ):
        with pytest.raises(error):
            paddle.enable_compat(**kwargs)
    with pytest.raises(TypeError):
        paddle.enable_compat("mod_a")
    with pytest.raises(TypeError):
        compat.extend_torch_proxy_blocked_modules(3)
    assert sys.meta_path == before
