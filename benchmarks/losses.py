"""Losses with their gradients: one expression that computes both."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import Case, ints, normal, positive
from rows import add_section

LOSSES = add_section("losses", "Losses and their gradients", mean=1.3)
LOWEST = 1.0


def case(name: str, loss: str, theirs: str = "", inputs: Any = None, **more: Any) -> None:
    """Rows of a loss of ``x`` alone and with its gradient."""
    theirs = theirs or loss
    Case(f"loss-{name}", loss, inputs, theirs, LOWEST, tolerance=1e-4, **more).add(LOSSES)
    Case(
        f"loss-{name}-grad", f"paddle.grad({loss}, x)[0]", inputs, f"torch.autograd.grad({theirs}, x)[0]", LOWEST,
        # PyTorch's gradients of CTC are that far from those in float64.
        tolerance=2e-3 if name.startswith("ctc") else 1e-4,
        setup="x.stop_gradient = False", theirs_setup="x.requires_grad_()", **more,
    ).add(LOSSES)  # fmt: skip


def classes(rows: int, columns: int) -> Any:
    return lambda: {"x": normal(rows, columns), "i": ints(columns, rows)}


def pair(positive_target: bool = False) -> Any:
    made = positive if positive_target else normal
    return lambda: {"x": normal(1024, 1024), "y": made(1024, 1024, seed=1)}


def smoothed() -> dict[str, Any]:
    return {"x": normal(4096, 512), "i": ints(512, 4096)}


def sequences(time: int, rows: int, many: int, longest: int) -> Any:
    def made() -> dict[str, Any]:
        lengths = np.random.default_rng(1).integers(longest // 2, longest + 1, rows)
        return {
            "x": normal(time, rows, many),
            "y": ints(many - 1, rows, longest) + 1,
            "t": np.full(rows, time),
            "u": lengths,
        }

    return made


for size in ((4096, 512), (1024, 32000), (64, 10)):
    text = "{} × {}".format(*size)
    case("cross-entropy-{}x{}".format(*size), "F.cross_entropy(x, i)", inputs=classes(*size),
         what=f"`F.cross_entropy`, {text}")  # fmt: skip
case("cross-entropy-smooth", "F.cross_entropy(x, i, label_smoothing=0.1)", inputs=smoothed,
     what="`F.cross_entropy(label_smoothing=0.1)`, 4096 × 512")  # fmt: skip
case("nll", "F.nll_loss(x, i)", inputs=classes(4096, 512), what="`F.nll_loss`, 4096 × 512")
for name, call, target in (
    ("bce-logits", "F.binary_cross_entropy_with_logits(x, y)", True),
    ("mse", "F.mse_loss(x, y)", False),
    ("l1", "F.l1_loss(x, y)", False),
    ("smooth-l1", "F.smooth_l1_loss(x, y)", False),
):
    case(name, call, inputs=pair(target), what=f"`{call}`, a million")
case("kl-div", "F.kl_div(x, y, 'batchmean')", "F.kl_div(x, y, reduction='batchmean')", pair(True),
     what="`F.kl_div(x, y, 'batchmean')`, a million")  # fmt: skip
case("mse-64", "F.mse_loss(x, y)", inputs=lambda: {"x": normal(64), "y": normal(64, seed=1)}, what="`F.mse_loss`, 64")
for time, rows, many, longest in ((100, 32, 64, 20), (400, 8, 32, 80), (50, 64, 1000, 10)):
    case(f"ctc-{time}x{rows}x{many}", "F.ctc_loss(x, y, t, u, reduction='sum')",
         "F.ctc_loss(F.log_softmax(x, 2), y, t, u, reduction='sum')", sequences(time, rows, many, longest),
         what=f"`F.ctc_loss`, {time} times, {rows} rows, {many} classes, labels up to {longest}")  # fmt: skip
