"""Attention by kernels as a driver gets them, run by the emulator of blocks of threads, against the host."""

from __future__ import annotations

import attention_reference as reference
import numpy as np
import pytest

from umiak import ops as F
from umiak.compiler.attention import kernels
from umiak.core.array import from_numpy, host_values

N = 37


@pytest.fixture(autouse=True)
def small_tiles():
    kernels.TILE.set(16)
    yield
    kernels.TILE.set(0)


def test_flashmask_needs_no_host(device, cuda):
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
