"""Values of parameters of every dtype, as PaddlePaddle writes them.

    cd / && PYTHON_OF_THE_REFERENCE .../saved_values.py .../tests/data/saved_values.npz

The archive has a file of all of them (``all``), a file for each (``file:<name>``) and their elements
(``value:<name>``), of types that NumPy does not have as bytes.
"""

from __future__ import annotations

import os
import sys
import tempfile

import numpy as np

# Name, dtype and shape; a name decides the place in the file of all.
VALUES = [
    ("a.w_0", "bool", [3]), ("b", "int8", [2, 2]), ("c", "uint8", [5]), ("d", "int16", [1]), ("e", "int32", [2, 0, 3]),
    ("f", "int64", []), ("g", "float16", [3, 1]), ("h", "bfloat16", [2, 3]), ("i", "float32", [200, 2]),
    ("j", "float64", [1, 1, 1, 1, 2]), ("k", "complex64", [2]), ("l", "complex128", [2]), ("m", "float8_e4m3fn", [4]),
    ("n", "float8_e5m2", [4]), ("o", "float32", []), ("p", "float32", [0]),
]  # fmt: skip


def record(path: str) -> None:
    """Write the archive."""
    import paddle

    rng = np.random.RandomState(0)
    tensors = {name: paddle.to_tensor(rng.standard_normal(shape) * 3).cast(dtype) for name, dtype, shape in VALUES}
    found = {}
    with tempfile.TemporaryDirectory() as folder:

        def saved(chosen: dict) -> np.ndarray:
            target = os.path.join(folder, "x")
            dense = [x.get_tensor() for x in chosen.values()]
            paddle.base.core.save_combine_func(dense, list(chosen), target, True, False, False)
            return np.fromfile(target, "uint8")

        found["all"] = saved(tensors)
        for name, x in tensors.items():
            found[f"file:{name}"] = saved({name: x})
            of_bits = {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
            short = next((v for k, v in of_bits.items() if str(x.dtype).endswith(k)), None)
            found[f"value:{name}"] = (x if short is None else x.view(short)).numpy()
    np.savez_compressed(path, **found)


if __name__ == "__main__":
    record(sys.argv[1])
