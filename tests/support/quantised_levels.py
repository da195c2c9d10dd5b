"""Levels that the reference makes, and what it makes of them again: ``tests/data/quantised_levels.json``.

``python tests/support/quantised_levels.py`` in an environment of the reference writes them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent.parent / "data" / "quantised_levels.json"

# shape, axis, bits, whether ties go away from 0
CASES = [
    ((2, 6), -1, 8, False),
    ((2, 6), -1, 8, True),
    ((3, 4), 0, 8, False),
    ((3, 4), 1, 4, True),
    ((2, 3, 2), 1, 6, False),
    ((5,), -1, 4, False),
]


def operands(case: int) -> tuple[np.ndarray, np.ndarray]:
    """Halves among the elements, so that some are ties."""
    shape, axis, bits, _ = CASES[case]
    rng = np.random.default_rng(case)
    levels = 2 ** (bits - 1) - 1
    x = (rng.integers(-2 * levels - 3, 2 * levels + 3, shape) / 2).astype(np.float32)
    scale = rng.choice([levels, levels / 2, levels * 1.7], 1 if axis == -1 else shape[axis]).astype(np.float32)
    return x, scale


def recorded() -> list[dict]:
    return json.loads(DATA.read_text())


def record() -> None:
    import paddle
    from paddle import _legacy_C_ops as kernels

    found = []
    for i, (_, axis, bits, away) in enumerate(CASES):
        x, scale = map(paddle.to_tensor, operands(i))
        zero = paddle.zeros(scale.shape)
        highest = 2 ** (bits - 1) - 1
        given = ("quant_axis", axis, "bit_length", bits, "qmin", -highest - 1, "qmax", highest)
        y = kernels.quantize_linear(x, scale, zero, *given, "round_type", int(away))
        z = kernels.dequantize_linear(y, scale, zero, *given)
        found.append({"levels": y.numpy().tolist(), "values": z.numpy().tolist()})
    DATA.write_text(json.dumps(found, indent=None) + "\n")


if __name__ == "__main__":
    sys.exit(record())
