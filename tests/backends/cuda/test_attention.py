"""Attention by kernels as a driver gets them, run by the emulator of blocks of threads, against the host."""

from __future__ import annotations

import assembler
import attention_reference as reference
import numpy as np
import pytest

from umiak import ops as F
from umiak.compiler.attention import form as forms
from umiak.compiler.attention import kernels
from umiak.compiler.loop.types import BF16, F32, I32
from umiak.compiler.render import ptx
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, host_values

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


# Registers and bytes spilled of forward kernels, by type and size of heads, as ptxas 13.5 says.
USAGE = {
    (F32, 64): {"sm_80": (80, 0), "sm_90": (78, 0), "sm_100": (80, 0)},
    (BF16, 64): {"sm_80": (255, 148), "sm_90": (255, 24), "sm_100": (255, 48)},
    (BF16, 128): {"sm_80": (255, 452), "sm_90": (255, 472), "sm_100": (255, 456)},
}
SHARED = {"sm_80": 163 << 10, "sm_90": 227 << 10, "sm_100": 227 << 10}  # bytes of a block


def forward_form(stored, dim):
    inputs = (("query", stored), ("key", stored), ("value", stored), ("mask", I32), (forms.BLOCKS, None))
    outputs = ((forms.RESULT, stored), ("lse", F32))
    return forms.Form(inputs, outputs, F32, dim, dim, forms.COLUMNS, False, width=16 // stored.bytes)


@pytest.mark.parametrize("arch", SHARED)
@pytest.mark.parametrize(
    ("stored", "dim"), [(F32, 64), *(pytest.param(*key, marks=pytest.mark.slow) for key in USAGE if key[0] is BF16)]
)
def test_registers(stored, dim, arch):
    if assembler.path() is None:
        pytest.skip(f"requires ptxas, which {assembler.PACKAGE} has")
    kernels.TILE.set(0)
    kernel = kernels.kernels(kernels.tiled(forward_form(stored, dim), SHARED[arch], 4096))[-1]
    text = ptx.assemble(ptx.render(kernel, arch), arch, max(78, ptx.OLDEST_VERSION[arch]))  # 7.8: named barriers
    used, (registers, spilled) = assembler.usage(text, arch), USAGE[stored, dim][arch]
    assert used.registers <= min(registers + 8, 255) and used.spills <= spilled
