"""Models of PaddlePaddle 2.6 over packed sequences, and in its older operators, give what they gave there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paddle import inference

RECORDED = np.load(Path(__file__).parents[1] / "data/sequence_programs.npz")
NAMES = sorted({key.partition("/")[0] for key in RECORDED.files})


def arrays(begin: str) -> dict[str, np.ndarray]:
    """Arrays by what their names end with."""
    return {k[len(begin) + 1 :]: RECORDED[k] for k in RECORDED.files if k.startswith(f"{begin}/")}


def offsets(name: str, of: str) -> list[list[int]]:
    return [level.tolist() for _, level in sorted(arrays(f"{name}/{of}").items())]


def predictor(folder: Path, name: str) -> Any:
    (folder / "m.pdmodel").write_bytes(RECORDED[f"{name}/program"].tobytes())
    values = RECORDED[f"{name}/values"].tobytes()
    if values:
        (folder / "m.pdiparams").write_bytes(values)
    config = inference.Config(str(folder / "m.pdmodel"), str(folder / "m.pdiparams") if values else "")
    made = inference.create_predictor(config)
    for key, x in arrays(f"{name}/in").items():
        handle = made.get_input_handle(key)
        handle.copy_from_cpu(x)
        handle.set_lod(offsets(name, f"lod/{key}"))
    return made


@pytest.mark.parametrize("name", NAMES)
def test_a_program(tmp_path: Path, name: str) -> None:
    made = predictor(tmp_path, name)
    assert sorted(made.get_input_names()) == sorted(arrays(f"{name}/in"))
    assert len(made.get_output_names()) == len(arrays(f"{name}/out"))
    for _ in range(2):
        made.run()
        for i, output in enumerate(made.get_output_names()):
            handle = made.get_output_handle(output)
            y, z = handle.copy_to_cpu(), RECORDED[f"{name}/out/{i}"]
            assert y.shape == z.shape
            assert y.dtype == z.dtype
            np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-5)
            if handle.lod():
                assert handle.lod() == offsets(name, f"outlod/{i}")
