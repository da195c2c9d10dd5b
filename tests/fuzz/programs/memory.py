"""The judge: PyTorch in float64 for values and gradients, and memory as what it is.

A *cell* is memory; its contents are an immutable torch tensor with a history. A *view* is an array of positions in it,
so that NumPy says what slicing or transposing selects. A write replaces the cell's tensor by one with other elements.
So every value has the derivative that mathematics gives it, whatever was written meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tests.fuzz.programs import formulas


class Cell:
    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.version = 0
        self.input_grad = False  # that of an input that wants a gradient: written to in no_grad only
        self.frozen = False  # what shares this memory is not said: nothing may write to it any more


class View:
    """Positions in a cell. ``relative``: within the parent; None for the whole cell."""

    def __init__(self, cell: Cell, positions: np.ndarray, parent: View | None, relative: np.ndarray | None) -> None:
        self.cell = cell
        self.positions = positions
        self.parent = parent
        self.relative = relative
        self.read: tuple[int, torch.Tensor] | None = None

    def tensor(self) -> torch.Tensor:
        """The value now: one tensor until the cell is written to, so that hooks on it see every use."""
        if self.parent is None:
            return self.cell.tensor
        if self.read is None or self.read[0] != self.cell.version:
            with torch.enable_grad():  # whoever reads it first
                chosen = self.parent.tensor().reshape(-1)[torch.from_numpy(self.relative.reshape(-1))]
                self.read = self.cell.version, chosen.reshape(self.relative.shape)
        return self.read[1]


class Variable:
    """What a name of the program stands for."""

    def __init__(self, view: View) -> None:
        self.at = view

    @property
    def t(self) -> torch.Tensor:
        return self.at.tensor()

    @property
    def n(self) -> np.ndarray:
        return array_of(self.t)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.at.positions.shape

    @property
    def cell(self) -> Cell:
        return self.at.cell

    def _look(self, how: Callable[[np.ndarray], Any]) -> Any:
        count = int(np.prod(self.shape))
        relative = how(np.arange(count).reshape(self.shape))
        if isinstance(relative, (tuple, list)):
            return [self._part(r) for r in relative]
        return self._part(relative)

    def _part(self, relative: np.ndarray) -> View:
        relative = np.array(relative, order="C")
        return View(self.cell, self.at.positions.reshape(-1)[relative], self.at, relative)

    def view(self, how: Callable[[np.ndarray], Any]) -> Any:
        found = self._look(how)
        return [Variable(v) for v in found] if isinstance(found, list) else Variable(found)

    def turn(self, how: Callable[[np.ndarray], Any]) -> None:
        self.at = self._look(how)

    def unclear(self) -> Variable:
        """Whether the result is a view or a copy is not said: nothing may be written to either."""
        self.cell.frozen = True
        return self

    def write(self, value: Any) -> None:
        cell, places = self.cell, self.at.positions.reshape(-1)
        if cell.frozen:
            raise Unclear("memory that others may share")
        if len(np.unique(places)) != len(places):
            raise Unclear("elements that share memory")
        old = cell.tensor
        value = torch.as_tensor(value).to(old.dtype).expand(self.shape).reshape(-1)
        flat = old.reshape(-1)
        new = flat.index_put((torch.from_numpy(places),), value).reshape(old.shape)
        if not torch.is_grad_enabled() and old.requires_grad:
            # The history is that of the old value.
            with torch.enable_grad():
                new = old - old.detach() + new
        cell.tensor = new
        cell.version += 1


class Unclear(Exception):
    """What the statement means is not agreed upon."""


class Noise:
    """What rounding does to results and to their gradients, larger: shows how far a program magnifies it."""

    def __init__(self, seed: int, size: float) -> None:
        self.rng = np.random.default_rng(seed)
        self.backward = np.random.default_rng([seed, 1])
        self.size = size

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if x.is_complex() and self.size:
            return torch.view_as_complex(self(torch.view_as_real(x.resolve_conj())).contiguous())
        if not self.size or not x.dtype.is_floating_point or not x.numel():
            return x
        a, b = torch.from_numpy(self.rng.uniform(-1, 1, (2, *x.shape)))
        y = x * (1 + self.size * a) + 0.1 * self.size * b
        if y.requires_grad:
            # A gradient that comes of saved results, such as y * (1 - y), has their rounding even where it is near 0.
            c = torch.from_numpy(self.backward.uniform(-1, 1, tuple(y.shape)))
            y.register_hook(lambda g: g + 0.1 * self.size * c)
        return y


def make(tensor: torch.Tensor, frozen: bool = False) -> Variable:
    if tensor.dtype is torch.int32:
        tensor = tensor.long()
    cell = Cell(tensor)
    cell.frozen = frozen
    return Variable(View(cell, np.arange(tensor.numel()).reshape(tuple(tensor.shape)), None, None))


class Judge:
    """Names that the judge's text uses."""

    def __init__(self, noise: Noise | None = None, draws: list[np.ndarray] | None = None, seed: int = 0) -> None:
        self.noise = noise or Noise(0, 0.0)
        self.draws = draws  # what the program drew, in order; None: anything
        self.drawn = 0
        self.rng = np.random.default_rng(seed)

    def names(self) -> dict[str, Any]:
        return {"torch": torch, "np": np, "F": torch.nn.functional, "made": self.made, "draw": self.draw,
                "noisy": self.noisy, "at_least": at_least, "unbound": unbound,
                "strided": strided, "L": formulas}  # fmt: skip

    def made(self, tensor: Any) -> Variable:
        return make(self.noisy(tensor))

    def noisy(self, value: Any) -> torch.Tensor:
        """A result; what is written is one, too, so that a value which is 0 by a write is not taken to be 0 exactly."""
        return self.noise(torch.as_tensor(value))

    def draw(self, shape: Any, kind: str) -> torch.Tensor:
        """The numbers that the program drew here, which cannot be derived."""
        if self.draws is not None:
            found = self.draws[self.drawn]
            self.drawn += 1
            return torch.from_numpy(found)
        shape = tuple(int(s) for s in shape)
        if kind == "mask":
            return torch.from_numpy((self.rng.random(shape) < 0.5).astype(np.float64))
        return torch.from_numpy(self.rng.random(shape) if kind == "uniform" else self.rng.standard_normal(shape))


def array_of(x: torch.Tensor) -> np.ndarray:
    return x.detach().resolve_conj().resolve_neg().numpy()


def at_least(x: torch.Tensor, low: float) -> torch.Tensor:
    return x.abs() + low


def unbound(i: np.ndarray, axis: int) -> list[np.ndarray]:
    return [np.take(i, k, axis) for k in range(i.shape[axis])]


def strided(i: np.ndarray, sizes: list[int], strides: list[int], offset: int) -> np.ndarray:
    """Elements in row-major order at steps of them."""
    at = np.zeros(sizes, np.int64) + offset
    for axis, (n, step) in enumerate(zip(sizes, strides, strict=True)):
        at += step * np.arange(n).reshape([-1] + [1] * (len(sizes) - axis - 1))
    return i.reshape(-1)[at]
