"""Attention by kernels as a driver gets them, run by the emulator of blocks of threads, against the host."""

from __future__ import annotations

import assembler
import attention_reference as reference
import numpy as np
import pytest

from umiak import ops as F
from umiak.compiler.attention import form as forms
from umiak.compiler.attention import kernels
from umiak.compiler.loop.types import BF16, BOOL, F32, I32
from umiak.compiler.render import ptx
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, host_values
from umiak.core.place import Place

N = 37


@pytest.fixture(autouse=True)
def small_tiles():
    kernels.TILE.set(16)
    yield
    kernels.TILE.set(0)


@pytest.mark.parametrize("is_persistent", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_flashmask_needs_no_host(device, cuda, is_persistent, monkeypatch):
    monkeypatch.setattr(kernels.PERSISTENT, "value", is_persistent)
    rng = np.random.default_rng(0)
    q, k, v, grad = (rng.standard_normal((1, N, heads, 8)).astype("float32") for heads in (4, 2, 2, 4))
    mask = reference.families(N)["share_question"]
    given = [from_numpy(x, device) for x in (q, k, v, mask.indices, grad)]
    out, lse = F.attention_train(*given[:4], causal=True, scale=0.4)
    gradients = F.attention_grad(*given[:3], out, lse, given[4], given[3], causal=True, scale=0.4)
    expected = reference.attention(q, k, v, mask.visible(), 0.4, grad)
    names = ("out", "lse", "query", "key", "value")
    for name, x in zip(names, (out, lse, *gradients[:3]), strict=True):
        np.testing.assert_allclose(host_values(x), expected[name], rtol=1e-5, atol=1e-5, err_msg=name)
    assert cuda.host.read() == {}


@pytest.mark.parametrize("dtype", [dt.bfloat16, pytest.param(dt.float16, marks=pytest.mark.slow)])
def test_tensor_cores_multiply_16_bits(device, cuda, dtype):
    """A warp for 16 queries and one that copies; rows that are copied 16 bytes at once."""
    rng = np.random.default_rng(0)
    q, k, v = (F.cast(from_numpy(rng.standard_normal((1, N, heads, 16)), device), dtype=dtype) for heads in (4, 2, 2))
    mask = reference.families(N)["global_sliding"]
    out, lse = F.attention_train(q, k, v, from_numpy(mask.indices, device), causal=mask.causal, scale=0.25)
    q, k, v, out, lse = (host_values(x).astype(np.float64) for x in (q, k, v, out, lse))
    expected = reference.attention(q, k, v, mask.visible(), 0.25, np.zeros_like(q))
    np.testing.assert_allclose(lse, expected["lse"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(out, expected["out"], rtol=2e-2, atol=1e-2)
    assert cuda.host.read() == {}


@pytest.mark.parametrize(
    ("tile", "dim", "family", "dtype"),
    [
        (64, 40, "global_sliding", dt.bfloat16), pytest.param(128, 64, "document", dt.float16, marks=pytest.mark.slow),
        pytest.param(64, 256, "causal", dt.bfloat16, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_four_warps_multiply_together(device, cuda, tile, dim, family, dtype):
    """On a device of compute capability 9.0; heads that do not fill their panels, ends of tiles behind the last key."""
    kernels.TILE.set(tile)
    rng, count = np.random.default_rng(0), tile + 20
    q, k, v = (
        F.cast(from_numpy(rng.standard_normal((1, count, heads, dim)), device), dtype=dtype) for heads in (2, 1, 1)
    )
    mask = reference.families(count)[family]
    before = len(cuda.driver.launched)
    out, lse = F.attention_train(q, k, v, from_numpy(mask.indices, device), causal=mask.causal, scale=0.1)
    q, k, v, out, lse = (host_values(x).astype(np.float64) for x in (q, k, v, out, lse))
    expected = reference.attention(q, k, v, mask.visible(), 0.1, np.zeros_like(q))
    np.testing.assert_allclose(lse, expected["lse"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(out, expected["out"], rtol=2e-2, atol=1e-2)
    assert cuda.host.read() == {}
    assert [name for name, *_ in cuda.driver.launched[before:] if f"_{tile}_x8_grouped" in name]


@pytest.mark.parametrize("kind", ["boolean", "added", "dropout"])
def test_tensor_cores_and_what_else_hides_scores(device, cuda, kind):
    """Against the host, which is tested by itself."""
    rng = np.random.default_rng(0)
    host = Place("cpu", 0)
    q, k, v = (rng.standard_normal((2, n, heads, 16)) for n, heads in ((N, 4), (N + 9, 2), (N + 9, 2)))
    mask, more = None, {}
    if kind == "boolean":
        mask = rng.random((N, N + 9)) < 0.4
    elif kind == "added":
        mask = np.where(rng.random((2, 1, N, N + 9)) < 0.3, -np.inf, rng.standard_normal((2, 1, N, N + 9)))
    else:
        more = {"dropout": True, "p": 0.3, "seed": 5, "offset": 8}
    found = []
    for place in (host, device):
        given = [F.cast(from_numpy(x, place), dtype=dt.bfloat16) for x in (q, k, v)]
        if mask is not None:
            given.append(from_numpy(mask, place))
            given[3] = given[3] if kind == "boolean" else F.cast(given[3], dtype=dt.bfloat16)
        found.append(F.attention_train(*given, causal=mask is None, scale=0.25, **more))
    for x, y in zip(*found, strict=True):
        x, y = (host_values(z).astype(np.float64) for z in (x, y))
        np.testing.assert_allclose(y, x, rtol=2e-2, atol=2e-2)
    assert cuda.host.read() == {}


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("tile", "dims", "family", "dtype", "softcap"),
    [
        (16, (16, 16), "global_sliding", dt.bfloat16, 0.0),
        pytest.param(16, (24, 16), "share_question", dt.float16, 2.0, marks=SLOW),
        pytest.param(32, (144, 144), "document", dt.bfloat16, 0.0, marks=SLOW),  # keys' and values' by two kernels
        pytest.param(64, (40, 64), "causal_document", dt.bfloat16, 0.0, marks=SLOW),  # from here on four warps together
        pytest.param(64, (160, 144), "full", dt.bfloat16, 1.5, marks=SLOW),
        pytest.param(128, (64, 64), "prefix", dt.float16, 0.0, marks=SLOW),
    ],
)
@pytest.mark.parametrize("with_lse", [True, pytest.param(False, marks=SLOW)])
def test_gradients_of_16_bits(device, cuda, tile, dims, family, dtype, softcap, with_lse):
    """Products of tensor cores, within the rounding of weights and gradients of scores."""
    kernels.TILE.set(tile)
    count, (dim, value_dim) = tile + 21, dims
    rng = np.random.default_rng(0)
    shapes = ((4, dim), (2, dim), (2, value_dim), (4, value_dim))
    given = [from_numpy(rng.standard_normal((1, count, heads, size)), device) for heads, size in shapes]
    q, k, v, grad = (F.cast(x, dtype=dtype) for x in given)
    mask = reference.families(count)[family]
    indices = from_numpy(mask.indices, device)
    words = {"causal": mask.causal, "scale": dim**-0.5, "softcap": softcap}
    of_lse = rng.standard_normal((1, 4, count)).astype("float32") if with_lse else None
    more = () if of_lse is None else (None, from_numpy(of_lse, device))
    before = len(cuda.driver.launched)
    out, lse = F.attention_train(q, k, v, indices, **words)
    gradients = F.attention_grad(q, k, v, out, lse, grad, indices, *more, **words)
    q, k, v, grad, *gradients = (host_values(x).astype(np.float64) for x in (q, k, v, grad, *gradients[:3]))
    expected = reference.attention(q, k, v, mask.visible(), words["scale"], grad, of_lse, softcap)
    unit = 2.0 ** (-8 if dtype is dt.bfloat16 else -11)
    for name, x in zip(("query", "key", "value"), gradients, strict=True):
        assert np.abs(x - expected[name]).max() < 2 * unit * np.abs(expected[name]).max(), name
    assert cuda.host.read() == {}
    launched = [name for name, *_ in cuda.driver.launched[before:]]
    roles = ["query", "value", "key"] if sum(dims) > 256 else ["query", "key"]
    kind = "_x8_grouped" if tile >= 64 else "_x8"
    assert [name for name in launched if f"_{tile}{kind}" in name and "_gradient_" in name] == [
        name for role in roles for name in launched if name.startswith(f"attention_{role}_gradient_")
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "softcap"),
    [  # a cap does not go with an added mask: check_softcap
        (kind, cap)
        for kind in ("boolean", "added", "dropout", "dropped blocks", "nothing seen")
        for cap in (0.0, 1.5)
        if not cap or kind != "added"
    ],
)
@pytest.mark.parametrize("tile", [16, 64])
def test_gradients_of_16_bits_and_what_else_hides_scores(device, cuda, tile, kind, softcap):
    """Against the host, which is tested by itself."""
    kernels.TILE.set(tile)
    rng = np.random.default_rng(0)
    host, queries, keys = Place("cpu", 0), tile + 21, tile + 30
    shapes = ((queries, 4), (keys, 2), (keys, 2), (queries, 4))
    arrays = [rng.standard_normal((2, n, heads, 16)) for n, heads in shapes]
    mask, blocks, more = None, None, {"causal": True, "softcap": softcap, "scale": 0.25}
    if kind == "boolean":
        mask = rng.random((queries, keys)) < 0.4
    elif kind == "added":
        mask = np.where(rng.random((2, 1, queries, keys)) < 0.3, -np.inf, rng.standard_normal((2, 1, queries, keys)))
    elif kind == "dropout":
        more |= {"dropout": True, "p": 0.3, "seed": 5, "offset": 8}
    else:
        mask = np.full((2, 1, keys, 1), queries if kind == "dropped blocks" else 5, np.int32)
        blocks = rng.integers(0, 2, (2, 1, 1, 1)).astype(np.int32)
    found = []
    for place in (host, device):
        q, k, v, grad = (F.cast(from_numpy(x, place), dtype=dt.bfloat16) for x in arrays)
        given = [None if x is None else from_numpy(x, place) for x in (mask, blocks)]
        if kind == "added":
            given[0] = F.cast(given[0], dtype=dt.bfloat16)
        out, lse = F.attention_train(q, k, v, *given, **more)
        found.append(F.attention_grad(q, k, v, out, lse, grad, *given, **more)[:3])
    for x, y in zip(*found, strict=True):
        x, y = (host_values(z).astype(np.float64) for z in (x, y))
        np.testing.assert_allclose(y, x, rtol=2e-2, atol=2e-2 * np.abs(x).max())
    assert cuda.host.read() == {}


# Registers of kernels by role, type and size of heads, as ptxas 13.5 says; of those whose warps have different numbers,
# the ones that they begin with. None spills.
USAGE = {
    ("forward", F32, 64): {"sm_80": 124, "sm_90": 107, "sm_100": 108},
    ("query_gradient", F32, 64): {"sm_80": 95, "sm_90": 96, "sm_100": 96},
    ("key_gradient", F32, 64): {"sm_80": 118, "sm_90": 123, "sm_100": 127},
    ("key_gradient", F32, 128): {"sm_80": 121, "sm_90": 123, "sm_100": 127},
    ("query_gradient", BF16, 64): {"sm_80": 197, "sm_90": 196, "sm_100": 195, "sm_90a": 199},
    ("key_gradient", BF16, 64): {"sm_80": 207, "sm_90": 204, "sm_100": 204, "sm_90a": 216},
    ("query_gradient", BF16, 96): {"sm_80": 197, "sm_90": 195, "sm_100": 195, "sm_90a": 219},
    ("key_gradient", BF16, 96): {"sm_80": 253, "sm_90": 248, "sm_100": 248, "sm_90a": 218},
    ("query_gradient", BF16, 128): {"sm_80": 229, "sm_90": 227, "sm_100": 227, "sm_90a": 221},
    ("key_gradient", BF16, 128): {"sm_80": 246, "sm_90": 246, "sm_100": 248, "sm_90a": 219},
    ("forward", BF16, 64): {"sm_80": 195, "sm_90": 191, "sm_100": 197, "sm_90a": 168},
    ("forward", BF16, 128): {"sm_80": 219, "sm_90": 221, "sm_100": 217, "sm_90a": 168},
    ("forward", BF16, 256): {"sm_80": 240, "sm_90": 254, "sm_100": 243, "sm_90a": 241},
}
QUICK = {("key_gradient", F32, 64): "sm_80", ("forward", BF16, 64): "sm_90"}
SHARED = {"sm_80": 163 << 10, "sm_90": 227 << 10, "sm_100": 227 << 10, "sm_90a": 227 << 10}  # bytes of a block


def kernel_of(role, stored, dim, arch, kind=forms.COLUMNS, dropout=False):
    mask = (("mask", {forms.COLUMNS: I32, forms.BOOLEAN: BOOL, forms.ADDED: stored, None: None}[kind]),)
    mask = (*mask, (forms.BLOCKS, None))
    inputs, outputs = [(x, stored) for x in ("query", "key", "value")], ((forms.RESULT, stored), ("lse", F32))
    if role != "forward":
        inputs += [("out", stored), ("lse", F32), ("grad", stored)]
        mask = (*mask, ("grad_lse", None))
        outputs = tuple((f"{x}_gradient", stored) for x in ("query", "key", "value"))
    form = forms.Form(
        (*inputs, *mask), outputs, F32, dim, dim, kind, dropout, width=16 // stored.bytes, together=arch == "sm_90a"
    )
    (found,) = [k for k in kernels.kernels(kernels.tiled(form, SHARED[arch], 4096)) if f"_{role}_{stored}" in k.name]
    return found


@pytest.mark.parametrize(
    ("key", "arch"),
    [
        pytest.param(key, arch, marks=() if QUICK.get(key) == arch else pytest.mark.slow)
        for key in USAGE for arch in USAGE[key]
    ],
    ids=str,
)  # fmt: skip
def test_registers(key, arch):
    if assembler.path() is None:
        pytest.skip(f"requires ptxas, which {assembler.PACKAGE} has")
    kernels.TILE.set(0)
    used = usage(kernel_of(*key, arch), arch)
    assert not used.spills and used.registers <= min(USAGE[key][arch] + 8, 255)


def usage(kernel, arch):
    version = max(78, ptx.OLDEST_VERSION[arch])  # 7.8: named barriers
    return assembler.usage(ptx.assemble(ptx.render(kernel, arch), arch, version), arch)


@pytest.mark.slow
@pytest.mark.parametrize("arch", SHARED)
@pytest.mark.parametrize(
    ("role", "dim"),
    [("forward", 64), ("forward", 128), ("forward", 256)]
    + [(f"{x}_gradient", dim) for x in ("query", "key") for dim in (32, 64, 96, 128)],
)
@pytest.mark.parametrize(
    ("kind", "dropout"), [(None, False), (forms.BOOLEAN, False), (forms.ADDED, False), (forms.COLUMNS, True)]
)
def test_other_masks_do_not_spill(kind, dropout, role, dim, arch):
    """But for a few bytes of large heads where little but the last key is looked at, for old drivers."""
    if assembler.path() is None:
        pytest.skip(f"requires ptxas, which {assembler.PACKAGE} has")
    kernels.TILE.set(0)
    used = usage(kernel_of(role, BF16, dim, arch, kind, dropout), arch)
    assert used.spills <= (32 if (kind, dropout, dim, arch) == (None, False, 256, "sm_90") else 0)
