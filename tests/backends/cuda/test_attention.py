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


# Registers of kernels by role, type and size of heads, as ptxas 13.5 says. But for what is named none spills.
USAGE = {
    ("forward", F32, 64): {"sm_80": 124, "sm_90": 107, "sm_100": 108},
    ("query_gradient", F32, 64): {"sm_80": 95, "sm_90": 96, "sm_100": 96},
    ("key_gradient", F32, 64): {"sm_80": 118, "sm_90": 123, "sm_100": 127},
    ("key_gradient", F32, 128): {"sm_80": 121, "sm_90": 123, "sm_100": 127},
    ("key_gradient", BF16, 128): {"sm_80": 121, "sm_90": 123, "sm_100": 127},
    ("forward", BF16, 64): {"sm_80": 195, "sm_90": 191, "sm_100": 197, "sm_90a": 200},
    ("forward", BF16, 128): {"sm_80": 219, "sm_90": 221, "sm_100": 217, "sm_90a": 200},
    ("forward", BF16, 256): {"sm_80": 240, "sm_90": 254, "sm_100": 243, "sm_90a": 241},
}
SPILLED = {("forward", BF16, 128, "sm_90a"): 24}  # bytes
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
    assert used.spills <= SPILLED.get((*key, arch), 0) and used.registers <= min(USAGE[key][arch] + 8, 255)


def usage(kernel, arch):
    version = max(78, ptx.OLDEST_VERSION[arch])  # 7.8: named barriers
    return assembler.usage(ptx.assemble(ptx.render(kernel, arch), arch, version), arch)


@pytest.mark.slow
@pytest.mark.parametrize("arch", SHARED)
@pytest.mark.parametrize("dim", [64, 128, 256])
@pytest.mark.parametrize(
    ("kind", "dropout"), [(None, False), (forms.BOOLEAN, False), (forms.ADDED, False), (forms.COLUMNS, True)]
)
def test_other_masks_do_not_spill(kind, dropout, dim, arch):
    """But for a few bytes of large heads where little but the last key is looked at."""
    if assembler.path() is None:
        pytest.skip(f"requires ptxas, which {assembler.PACKAGE} has")
    kernels.TILE.set(0)
    most = {(None, 256, "sm_90"): 16, (None, 128, "sm_90a"): 60}
    used = usage(kernel_of("forward", BF16, dim, arch, kind, dropout), arch)
    assert used.spills <= (0 if dropout else most.get((kind, dim, arch), 0))
