"""Models that PaddlePaddle 2.6 ran, of files that ``sequence_programs`` describes, in predictors of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from paddle import inference

DATA = Path(__file__).parents[1] / "data"


class Recorded:
    """Recorded programs: what they were fed and what they gave."""

    def __init__(self, name: str) -> None:
        self.file = np.load(DATA / f"{name}.npz")
        self.names = sorted({key.partition("/")[0] for key in self.file.files})

    def __getitem__(self, key: str) -> np.ndarray:
        return self.file[key]

    def arrays(self, begin: str) -> dict[str, np.ndarray]:
        """Arrays by what their names end with."""
        return {k[len(begin) + 1 :]: self.file[k] for k in self.file.files if k.startswith(f"{begin}/")}

    def offsets(self, name: str, of: str) -> list[list[int]]:
        """Offsets of an input (``lod/x``) or a result (``outlod/0``), the outermost level first."""
        return [level.tolist() for _, level in sorted(self.arrays(f"{name}/{of}").items())]

    def write(self, folder: Path, name: str) -> tuple[str, str]:
        """Write a model's files; return their names, the second one empty where there are no parameters."""
        (folder / "m.pdmodel").write_bytes(self.file[f"{name}/program"].tobytes())
        values = self.file[f"{name}/values"].tobytes()
        if values:
            (folder / "m.pdiparams").write_bytes(values)
        return str(folder / "m.pdmodel"), str(folder / "m.pdiparams") if values else ""

    def predictor(self, folder: Path, name: str) -> Any:
        """A predictor that has been given what was fed."""
        made = inference.create_predictor(inference.Config(*self.write(folder, name)))
        for key, x in self.arrays(f"{name}/in").items():
            handle = made.get_input_handle(key)
            handle.copy_from_cpu(x)
            handle.set_lod(self.offsets(name, f"lod/{key}"))
        return made

    def check(self, name: str, made: Any, but: frozenset[int] = frozenset()) -> None:
        """Compare results and their offsets (``but`` of some) with the recorded ones."""
        assert len(made.get_output_names()) == len(self.arrays(f"{name}/out"))
        for i, output in enumerate(made.get_output_names()):
            handle = made.get_output_handle(output)
            y, z = handle.copy_to_cpu(), self.file[f"{name}/out/{i}"]
            assert (y.shape, y.dtype) == (z.shape, z.dtype), output
            np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-5)
            if i not in but:
                assert handle.lod() == self.offsets(name, f"outlod/{i}"), output
