"""One expression on the same data in both frameworks: what is compared, first in its values, then in its time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from measure import Settings, Side
from rows import Pair, faster

import paddle

Arrays = Mapping[str, np.ndarray]
OURS = {"paddle": paddle, "F": paddle.nn.functional}
THEIRS = {"torch": torch, "F": torch.nn.functional}
TOLERANCE = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 2e-2, "float16": 2e-3, "complex64": 1e-5}


@dataclass(frozen=True)
class Case:
    """``ours`` and ``theirs`` are expressions over ``inputs()``, made tensors, and OURS or THEIRS.

    ``setup`` is run before, on either side (``theirs_setup`` where PyTorch spells it otherwise). ``dtype`` is what
    floating inputs are cast to. ``theirs`` may be left out where both are spelled alike. ``tolerance``: of the results,
    against the largest of them; None where they are not comparable (random numbers).
    """

    name: str
    ours: str
    inputs: Callable[[], Arrays]
    theirs: str = ""
    factor: float = 0.0
    setup: str = ""
    theirs_setup: str = ""
    dtype: str = ""
    tolerance: float | None = 0.0
    what: str = ""
    names: Mapping[str, Any] = field(default_factory=dict)  # more names of ours
    peer: str = "PyTorch"  # whose ``theirs`` is

    def add(self, section: str) -> None:
        text = self.what or f"`{self.ours}`"
        faster(self.name, text, self.factor, section=section, peer=self.peer)(self.pair)

    def pair(self, settings: Settings) -> Pair:
        arrays = dict(self.inputs())
        mine = {**OURS, **self.names, **{k: self.mine(a) for k, a in arrays.items()}}
        peers = {**THEIRS, **{k: self.peers(a) for k, a in arrays.items()}}
        exec(self.setup, mine)
        exec(self.theirs_setup or self.setup, peers)
        for names in (mine, peers):
            del names["__builtins__"]  # which exec brings
        theirs = self.theirs or self.ours
        if self.tolerance is not None:
            self.compare(eval(self.ours, dict(mine)), eval(theirs, dict(peers)))
        return Side(self.ours, mine), Side(theirs, peers)

    def mine(self, a: np.ndarray) -> Any:
        x = paddle.to_tensor(a)
        return x.astype(self.dtype) if self.dtype and a.dtype.kind == "f" else x

    def peers(self, a: np.ndarray) -> Any:
        x = torch.tensor(a)
        return x.to(getattr(torch, self.dtype)) if self.dtype and a.dtype.kind == "f" else x

    def compare(self, got: Any, want: Any) -> None:
        """Both sides give the same, or the row does not run."""
        if isinstance(want, tuple | list):
            if len(got) != len(want):
                raise RuntimeError(f"[{self.name}] requires {len(want)} results, got {len(got)}")
            for a, b in zip(got, want, strict=True):
                self.compare(a, b)
            return
        a, b = plain(got), plain(want)
        if a.shape != b.shape:
            raise RuntimeError(f"[{self.name}] requires the shape {b.shape}, got {a.shape}")
        tolerance = self.tolerance or TOLERANCE.get(str(want.dtype).removeprefix("torch."), 0.0)
        with np.errstate(invalid="ignore"):
            off = np.abs(a - b) if a.dtype.kind == "c" else np.abs(a.astype("f8") - b.astype("f8"))
        off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, off)
        finite = np.abs(b)[np.isfinite(b)]
        limit = tolerance * max(1.0, float(finite.max()) if finite.size else 1.0)
        worst = float(off.max()) if off.size else 0.0
        if not worst <= limit:
            raise RuntimeError(f"[{self.name}] requires equal results within {limit:g}, got a difference of {worst:g}")


def plain(x: Any) -> np.ndarray:
    """A result as an array that NumPy can compute with."""
    if isinstance(x, torch.Tensor):
        x = x.detach()
        return (x.float() if x.dtype in (torch.bfloat16, torch.float16) else x).resolve_conj().numpy()
    if not isinstance(x, paddle.Tensor):
        return np.asarray(x)
    x = x.detach()
    return (x.astype("float32") if x.dtype in (paddle.bfloat16, paddle.float16) else x).numpy()


# --- data ------------------------------------------------------------------------------------------------------------


def normal(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    made = np.random.default_rng(seed).standard_normal(shape)
    if dtype.startswith("complex"):
        made = made + 1j * np.random.default_rng(seed + 1).standard_normal(shape)
    return made.astype(dtype)


def positive(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random(shape) + 0.5).astype(dtype)


def ints(high: int, *shape: int, dtype: str = "int64", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, high, shape).astype(dtype)


def shuffled(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    """Rows of distinct numbers."""
    whole = np.tile(np.arange(columns, dtype="float32"), (rows, 1))
    return np.random.default_rng(seed).permuted(whole, axis=1)


def bools(*shape: int, share: float = 0.5, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape) < share
