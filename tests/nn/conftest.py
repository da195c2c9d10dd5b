"""What the tests of layers share: the same computation here and in the peer, values and gradients."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import paddle

# Helper modules of these tests, and those that several folders share, are imported by name.
for folder in (Path(__file__).parent, Path(__file__).parents[1] / "support"):
    sys.path.insert(0, str(folder))


def _flat(results: Any) -> list:
    return list(results) if isinstance(results, (tuple, list)) else [results]


def agree(
    ours: Callable,
    theirs: Callable,
    *arrays: np.ndarray | None,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    frozen: Sequence[int] = (),
) -> None:
    """Compare results, and gradients for every floating array that is not ``frozen``."""
    mine = [None if a is None else paddle.to_tensor(a) for a in arrays]
    peer = [None if a is None else torch.from_numpy(np.array(a)) for a in arrays]
    wanted = [i for i, a in enumerate(arrays) if a is not None and a.dtype.kind == "f" and i not in frozen]
    for i in wanted:
        mine[i].stop_gradient = False
        peer[i].requires_grad_(True)
    got, expected = _flat(ours(*mine)), _flat(theirs(*peer))
    assert len(got) == len(expected)
    for g, e in zip(got, expected):
        assert list(g.shape) == list(e.shape)
        close(g.numpy(), e.detach().numpy(), rtol, atol)
    g, e = got[0], expected[0]
    if not wanted or g.stop_gradient:
        assert not wanted or not e.requires_grad
        return
    # A weight that differs from element to element.
    seed = np.cos(np.arange(g.numpy().size)).reshape(g.shape).astype(g.numpy().dtype)
    (g * paddle.to_tensor(seed)).sum().backward()
    (e * torch.from_numpy(seed)).sum().backward()
    for i in wanted:
        there = peer[i].grad
        here = mine[i].grad
        assert (here is None) == (there is None), f"gradient of operand {i}"
        if here is not None:
            close(here.numpy(), there.numpy(), rtol, atol, f"gradient of operand {i}")


def close(got: np.ndarray, want: np.ndarray, rtol: float, atol: float, what: str = "") -> None:
    """Terms of a sum may cancel: what is left is as exact as the largest of its kind."""
    finite = np.abs(want[np.isfinite(want)])
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol * max(1.0, finite.max(initial=0.0)), err_msg=what)


@pytest.fixture(name="agree")
def agree_fixture() -> Callable:
    return agree


@pytest.fixture(name="close")
def close_fixture() -> Callable:
    return close
