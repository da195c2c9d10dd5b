"""Random programs of views, writes through them and in-place changes of shape, made with PyTorch and run with Paddle.

A program is a list of steps over a growing list of tensors; each step names an operation, the tensor it works on, and
numbers. PyTorch, which is asked while the program is made, says which steps are refused and what the values are.
"""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import numpy as np
import torch

import paddle

SHAPE = (2, 3)


class Step(NamedTuple):
    op: str
    at: int  # which tensor
    args: tuple = ()

    def __repr__(self) -> str:
        return f"Step({self.op!r}, {self.at}, {self.args!r})"


# --- what steps mean in either library; `t` is the list of tensors ---------------------------------------------------


def _number(value: float) -> Any:
    return paddle.to_tensor(np.float64(value))


def _paddle_write(t: list, s: Step, x: Any) -> None:
    if s.op == "set":
        index, value = s.args
        x[index] = _number(value) if isinstance(value, float) else t[value].sum()
    elif s.op == "copy_":
        x.copy_(t[s.args[0]] * 1.0)
    elif s.op == "put":
        index, value = s.args
        x[paddle.to_tensor(index)] = _number(value)
    elif s.op in ("add_", "multiply_", "subtract_"):
        getattr(x, s.op)(t[s.args[0]])
    elif s.op == "scale":
        x.multiply_(_number(s.args[0]))
    else:
        getattr(x, s.op)()


def _torch_write(t: list, s: Step, x: Any) -> None:
    if s.op == "set":
        index, value = s.args
        x[index] = value if isinstance(value, float) else t[value].sum()
    elif s.op == "copy_":
        x.copy_(t[s.args[0]] * 1.0)
    elif s.op == "put":
        index, value = s.args
        x[torch.tensor(index)] = value
    elif s.op in ("add_", "multiply_", "subtract_"):
        getattr(x, {"add_": "add_", "multiply_": "mul_", "subtract_": "sub_"}[s.op])(t[s.args[0]])
    elif s.op == "scale":
        x.mul_(s.args[0])
    else:
        getattr(x, s.op)()


VIEWS = {
    "index": (lambda x, i: x[i], lambda x, i: x[i]),
    "transpose": (lambda x, a, b: paddle.swapaxes(x, a, b), lambda x, a, b: x.transpose(a, b)),
    "unsqueeze": (lambda x, a: paddle.unsqueeze(x, a), lambda x, a: x.unsqueeze(a)),
    "squeeze": (lambda x, a: paddle.squeeze(x, a), lambda x, a: x.squeeze(a)),
    "expand": (lambda x, s: paddle.expand(x, s), lambda x, s: x.expand(s).clone()),
    "reshape": (lambda x, s: paddle.reshape(x, s), lambda x, s: x.reshape(s)),
    "unfold": (lambda x, a, n, k: x.unfold(a, n, k), lambda x, a, n, k: x.unfold(a, n, k)),
    "diagonal": (lambda x: paddle.diagonal(x), lambda x: x.diagonal()),
    "part": (lambda x, a, i: paddle.unbind(x, a)[i], lambda x, a, i: x.select(a, i)),
    "detach": (lambda x: x.detach(), lambda x: x.detach()),
}
FRESH = {
    "sin": (lambda x: paddle.sin(x), lambda x: x.sin()),
    "exp": (lambda x: paddle.exp(x), lambda x: x.exp()),
    "square": (lambda x: x * x, lambda x: x * x),
    "double": (lambda x: x * 2.0, lambda x: x * 2.0),
}
SHAPES = {
    "transpose_": (lambda x, a, b: x.swapaxes_(a, b), lambda x, a, b: x.transpose_(a, b)),
    "permute_": (
        lambda x, a, b: x.transpose_([b if d == a else a if d == b else d for d in range(x.ndim)]),
        lambda x, a, b: x.transpose_(a, b),
    ),
    "t_": (lambda x: x.t_(), lambda x: x.t_()),
    "unsqueeze_": (lambda x, a: x.unsqueeze_(a), lambda x, a: x.unsqueeze_(a)),
    "squeeze_": (lambda x, a: x.squeeze_(a), lambda x, a: x.squeeze_(a)),
}
WRITES = (
    "set",
    "copy_",
    "put",
    "add_",
    "multiply_",
    "subtract_",
    "scale",
    "sin_",
    "exp_",
    "zero_",
    "square_",
    "sigmoid_",
)


def _apply(t: list, s: Step, which: int) -> None:
    x = t[s.at]
    if s.op in VIEWS:
        t.append(VIEWS[s.op][which](x, *s.args))
    elif s.op in FRESH:
        t.append(FRESH[s.op][which](x, *s.args))
    elif s.op in SHAPES:
        SHAPES[s.op][which](x, *s.args)
    elif s.op == "quietly":
        with paddle.no_grad() if which == 0 else torch.no_grad():
            _apply(t, s.args[0], which)
    else:
        (_paddle_write, _torch_write)[which](t, s, x)


class Result(NamedTuple):
    values: list[np.ndarray]
    gradients: list[np.ndarray] | None  # None where backward refused
    refused: list[int]
    error: str = ""


def _leaves(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(SHAPE), rng.standard_normal(SHAPE)]


def _weights(k: int, shape: Any) -> np.ndarray:
    n = int(np.prod(shape, dtype=int))
    return np.cos(1.0 + k + 0.7 * np.arange(n)).reshape(shape)


def run_torch(steps: list[Step], leaves: list[np.ndarray]) -> Result:
    xs = [torch.tensor(a, requires_grad=True) for a in leaves]
    t = [xs[0] * 1.0, xs[1] * 1.0]
    refused = []
    for k, s in enumerate(steps):
        try:
            _apply(t, s, 1)
        except RuntimeError:
            refused.append(k)
    values = [v.detach().numpy().copy() for v in t]
    loss = sum((v * torch.tensor(_weights(k, v.shape))).sum() for k, v in enumerate([*t, *xs]))
    try:
        loss.backward()
    except RuntimeError as e:
        return Result(values, None, refused, str(e))
    return Result(values, [np.zeros(SHAPE) if x.grad is None else x.grad.numpy() for x in xs], refused)


def _total(t: list) -> Any:
    total = paddle.zeros([], dtype="float64")
    for k, v in enumerate(t):
        total = total + (v * paddle.to_tensor(_weights(k, v.shape))).sum()
    return total


def run_paddle(steps: list[Step], leaves: list[np.ndarray], skip: list[int], captured: bool = False) -> Result:
    """The same; ``skip``: steps that are not to be tried."""
    refused: list[int] = []

    def program(a: Any, b: Any) -> Any:
        t = [a * 1.0, b * 1.0]
        refused.clear()
        for k, s in enumerate(steps):
            if captured and k in skip:
                continue
            try:
                _apply(t, s, 0)
            except RuntimeError:
                if captured:
                    raise
                refused.append(k)
        return _total([*t, a, b]), [v * 1.0 for v in t]

    xs = [paddle.to_tensor(a, stop_gradient=False) for a in leaves]
    loss, out = (paddle.jit.to_static(program) if captured else program)(*xs)
    values = [np.array(v.numpy()) for v in out]
    try:
        loss.backward()
    except RuntimeError as e:
        return Result(values, None, refused, str(e))
    return Result(values, [np.zeros(SHAPE) if x.grad is None else x.grad.numpy() for x in xs], refused)


def differences(steps: list[Step], leaves: list[np.ndarray], eps: float = 1e-6) -> list[np.ndarray]:
    """Gradients by central differences, of what PyTorch computes."""

    def loss(leaves: list[np.ndarray]) -> float:
        with torch.no_grad():
            t = [torch.tensor(a) for a in leaves]
            for s in steps:
                with contextlib.suppress(RuntimeError):
                    _apply(t, s, 1)
            t += [torch.tensor(a) for a in leaves]
            return float(sum((v * torch.tensor(_weights(k, v.shape))).sum() for k, v in enumerate(t)))

    out = []
    for i in range(len(leaves)):
        g = np.zeros(SHAPE)
        for at in np.ndindex(*SHAPE):
            ends = []
            for sign in (1, -1):
                moved = [x.copy() for x in leaves]
                moved[i][at] += sign * eps
                ends.append(loss(moved))
            g[at] = (ends[0] - ends[1]) / (2 * eps)
        out.append(g)
    return out


# --- making programs -------------------------------------------------------------------------------------------------


def _overlapping(x: torch.Tensor) -> bool:
    places = torch.arange(100_000)[: x.untyped_storage().nbytes() // 8].as_strided(
        x.shape, x.stride(), x.storage_offset()
    )
    return len(set(places.reshape(-1).tolist())) < places.numel()


def _shares(x: torch.Tensor, y: torch.Tensor) -> bool:
    return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()


def _draw(rng: np.random.Generator, t: list, quiet: bool) -> Step | None:
    at = int(rng.integers(len(t)))
    x = t[at]

    def pick(items: Any) -> Any:
        items = list(items)
        return items[int(rng.integers(len(items)))]

    kind = rng.random()
    if kind < 0.35:
        op = pick(VIEWS)
        if op == "detach" and not quiet:
            return None
        if op == "index":
            if not x.ndim:
                return None
            index = tuple(
                pick([int(rng.integers(n)), slice(None), slice(0, max(1, n - 1)), slice(0, n, 2)])
                for n in x.shape[: int(rng.integers(1, x.ndim + 1))]
            )
            return Step(op, at, (index,))
        if op == "transpose":
            return Step(op, at, tuple(int(i) for i in rng.integers(0, x.ndim, 2))) if x.ndim else None
        if op == "unsqueeze":
            return Step(op, at, (int(rng.integers(x.ndim + 1)),)) if x.ndim < 4 else None
        if op == "squeeze":
            ones = [a for a, n in enumerate(x.shape) if n == 1]
            return Step(op, at, (pick(ones),)) if ones else None
        if op == "expand":
            if x.ndim > 3 or x.numel() > 12:
                return None
            return Step(op, at, ((pick([1, 2]), *(pick([2, 3]) if n == 1 else n for n in x.shape)),))
        if op == "reshape":
            shape = pick([(x.numel(),), (1, x.numel()), (*x.shape, 1), tuple(x.shape)])
            return Step(op, at, (shape,))
        if op == "unfold":
            axes = [a for a, n in enumerate(x.shape) if n >= 2]
            return Step(op, at, (pick(axes), 2, 1)) if axes and x.ndim < 4 else None
        if op == "diagonal":
            return Step(op, at) if x.ndim >= 2 else None
        if op == "part":
            axes = [a for a, n in enumerate(x.shape) if n]
            if not axes:
                return None
            a = pick(axes)
            return Step(op, at, (a, int(rng.integers(x.shape[a]))))
        return Step(op, at)
    if kind < 0.45:
        return Step(pick(FRESH), at) if x.is_contiguous() else None  # PyTorch's results have the strides of operands
    if kind < 0.6:
        op = pick(SHAPES)
        if op in ("transpose_", "permute_"):
            return Step(op, at, tuple(int(i) for i in rng.integers(0, x.ndim, 2))) if x.ndim else None
        if op == "t_":
            return Step(op, at) if x.ndim == 2 else None
        if op == "unsqueeze_":
            return Step(op, at, (int(rng.integers(x.ndim + 1)),)) if x.ndim < 4 else None
        ones = [a for a, n in enumerate(x.shape) if n == 1]
        return Step(op, at, (pick(ones),)) if ones else None
    op = pick(WRITES)
    if _overlapping(x) and op != "set":
        return None  # PyTorch refuses the least part of it
    if op == "set":
        if not x.ndim or 0 in x.shape:
            return None
        index = tuple(
            pick([int(rng.integers(n)), slice(None), slice(0, max(1, n - 1))])
            for n in x.shape[: int(rng.integers(1, x.ndim + 1))]
        )
        if _overlapping(x[index]):
            return None
        return Step(op, at, (index, float(rng.standard_normal()) if rng.random() < 0.4 else int(rng.integers(len(t)))))
    if op == "put":
        return Step(op, at, ([0], float(rng.standard_normal()))) if x.ndim and x.shape[0] else None
    if op in ("copy_", "add_", "multiply_", "subtract_"):
        same = [i for i, y in enumerate(t) if y.shape == x.shape]
        if op != "copy_":  # PyTorch refuses operands that overlap what is written, but for the same elements
            same = [
                i for i in same
                if not _shares(t[i], x) or (t[i].stride() == x.stride() and t[i].storage_offset() == x.storage_offset())
            ]  # fmt: skip
        return Step(op, at, (pick(same),)) if same else None
    return Step(op, at, (float(rng.standard_normal()),) if op == "scale" else ())


def make(seed: int, length: int = 8, quiet: bool = False) -> list[Step]:
    """A program; ``quiet``: with detached aliases and writes in ``no_grad``."""
    rng = np.random.default_rng(seed)
    leaves = _leaves(seed)
    t = [torch.tensor(a) for a in leaves]
    steps: list[Step] = []
    while len(steps) < length:
        s = _draw(rng, t, quiet)
        if s is None:
            continue
        with contextlib.suppress(RuntimeError):
            _apply(t, s, 1)
        if any(v.numel() > 200 or not torch.isfinite(v).all() or v.abs().max() > 1e4 for v in t if v.numel()):
            break
        if quiet and (s.op in WRITES or s.op in SHAPES) and rng.random() < 0.3:
            s = Step("quietly", s.at, (s,))
        steps.append(s)
    return steps


def check(seed: int, steps: list[Step] | None = None, captured: bool = True, length: int = 8) -> str:
    """What is wrong with a program, or nothing."""
    steps = make(seed, length) if steps is None else steps
    leaves = _leaves(seed)
    want = run_torch(steps, leaves)
    for mode in (False, True) if captured else (False,):
        name = "captured" if mode else "eager"
        try:
            got = run_paddle(steps, leaves, want.refused, mode)
        except Exception as e:
            return f"{name}: {type(e).__name__}: {e}"
        if not mode and got.refused != want.refused:
            return f"{name}: steps {got.refused} refused, PyTorch refuses {want.refused}"
        for k, (a, b) in enumerate(zip(got.values, want.values, strict=True)):
            if a.shape != b.shape or not np.allclose(a, b, rtol=1e-9, atol=1e-9):
                return f"{name}: tensor {k} is {a.tolist()}, PyTorch has {b.tolist()}"
        if got.gradients is None and (mode or want.gradients is not None):
            return f"{name}: backward refused: {got.error}"
        if got.gradients is None:
            continue
        right = want.gradients if want.gradients is not None else differences(steps, leaves)
        tight = 1e-8 if want.gradients is not None else 1e-4
        for k, (a, b) in enumerate(zip(got.gradients, right, strict=True)):
            if not np.allclose(a, b, rtol=tight, atol=tight * max(1.0, float(np.abs(b).max()))):
                return f"{name}: gradient {k} is {a.tolist()}, right is {b.tolist()}"
    return ""


def shrink(seed: int, steps: list[Step], captured: bool = True) -> list[Step]:
    """A shorter program that still fails."""

    def fails(candidate: list[Step]) -> bool:
        try:
            return bool(check(seed, candidate, captured))
        except Exception:
            return False

    k = 0
    while k < len(steps):
        candidate = steps[:k] + steps[k + 1 :]
        if fails(candidate):
            steps = candidate
        else:
            k += 1
    return steps
