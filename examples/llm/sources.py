"""Sources of weights (``model.Source``): files of a Hugging Face directory, random numbers; and back to such files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from config import BadModel, Config
from linear import Dense, Lora, Quantised

import paddle
from paddle import nn
from umiak.checkpoint.checksum import checksum
from umiak.checkpoint.errors import CheckpointError
from umiak.checkpoint.formats.hf import index_text, open_folder, shard_name
from umiak.checkpoint.safetensors import save_safetensors

# Bytes of an element of a matrix, without scales.
BYTES = {"float32": 4.0, "bfloat16": 2.0, "int8": 1.0, "int4": 0.5}
DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


class Files:
    """The tensors in the safetensors files of a directory. Headers are read and checked, data are not yet.

    Raises:
        BadModel: no such file, one of several missing or cut off, a header that lies, a tensor twice.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.stored = {stored.block.key: stored for stored in open_folder(str(folder)).stored}
        except (CheckpointError, OSError) as error:
            raise BadModel(folder, "whole safetensors files", str(error).replace(f"{folder}/", "")) from None

    def check(self, name: str, shape: list[int]) -> None:
        """Refuse a tensor that is missing or other than this."""
        stored = self.stored.get(name)
        if stored is None:
            raise BadModel(self.folder, f"a tensor {name!r} {shape}, which config.json tells of", "none of this name")
        if list(stored.block.global_shape) != shape:
            got = f"{list(stored.block.global_shape)} in {stored.file}"
            raise BadModel(self.folder, f"{name!r} with the shape {shape} of config.json", got)
        if stored.block.dtype not in DTYPES:
            raise BadModel(
                self.folder, f"{name!r} of a dtype of {list(DTYPES)}", f"{stored.block.dtype} in {stored.file}"
            )

    def read(self, name: str, shape: list[int], dtype: str) -> paddle.Tensor:
        """Read a tensor, in this dtype."""
        stored = self.stored[name]
        kind = np.dtype(DTYPES[stored.block.dtype])
        size = math.prod(shape) * kind.itemsize
        data = np.fromfile(self.folder / stored.file, np.uint8, size, offset=stored.begin)
        if data.size != size:
            raise BadModel(self.folder / stored.file, f"all bytes of {name!r}", "the end of the file")
        if stored.checksum and checksum(data) != stored.checksum:
            raise BadModel(self.folder / stored.file, f"{name!r} with the checksum of what was written", "another")
        return paddle.to_tensor(data.view(kind).reshape(shape)).astype(dtype)


class Check:
    """Looks whether all weights are there as the config tells, and no others; counts the bytes that they will take.

    Nothing is allocated. A config that tells of a million layers fails at the first that is not there.
    """

    dtype = "float32"

    def __init__(self, files: Files, weights: str = "float32") -> None:
        self.files, self.weights = files, weights
        self.names: set[str] = set()
        self.bytes = 0

    def _check(self, name: str, bytes_each: float, *shape: int) -> None:
        self.files.check(name, list(shape))
        if name not in self.names or self.weights in ("int8", "int4"):  # where a head is not the embedding itself
            self.bytes += int(math.prod(shape) * bytes_each)
        self.names.add(name)

    def matrix(self, name: str, outputs: int, inputs: int, bias: bool = False) -> nn.Layer:
        if self.weights in ("int8", "int4") and (outputs % 16 or inputs % 16):
            required = f"{name!r} with sizes that are multiples of 16, as {self.weights} needs"
            raise BadModel(self.files.folder, required, [outputs, inputs])
        self._check(f"{name}.weight", BYTES[self.weights], outputs, inputs)
        if bias:
            self._check(f"{name}.bias", 4, outputs)
        return nn.Layer()

    def rows(self, name: str, count: int, width: int) -> None:
        self._check(f"{name}.weight", 4 if self.weights == "float32" else 2, count, width)

    def vector(self, name: str, size: int) -> None:
        self._check(f"{name}.weight", 4, size)

    def finish(self, config: Config) -> None:
        """Refuse tensors that nothing asked for: such a model would compute something else."""
        tied = {"lm_head.weight"} if config.tie_word_embeddings else set()
        unknown = self.files.stored.keys() - self.names - tied
        unknown = {n for n in unknown if not n.endswith("rotary_emb.inv_freq")}  # which old files carry
        if unknown:
            raise BadModel(self.files.folder, "the tensors that config.json tells of alone", f"{min(unknown)!r} too")


class Reader:
    """Reads weights as they are asked for, into float32, bfloat16, int8 or int4.

    With integers, rows of the embedding are bfloat16, vectors and activations float32; a head of 4 bits would cost more
    quality than all other matrices together, so it has 8.
    """

    def __init__(self, files: Files, weights: str = "float32") -> None:
        self.files, self.weights = files, weights
        self.stored = "float32" if weights == "float32" else "bfloat16"
        self.dtype = "bfloat16" if weights == "bfloat16" else "float32"
        self.given: dict[str, Any] = {}

    def rows(self, name: str, count: int, width: int) -> paddle.Tensor:
        return self._give(name, self.files.read(f"{name}.weight", [count, width], self.stored))

    def vector(self, name: str, size: int) -> paddle.Tensor:
        return self._give(name, self.files.read(f"{name}.weight", [size], self.dtype))

    def matrix(self, name: str, outputs: int, inputs: int, bias: bool = False) -> nn.Layer:
        shared = self.given.get(name)  # the head, where it is the embedding
        weight = self.files.read(f"{name}.weight", [outputs, inputs], self.stored) if shared is None else shared
        offset = self.files.read(f"{name}.bias", [outputs], self.dtype) if bias else None
        if self.weights == self.stored:
            layer: nn.Layer = Dense(weight, offset)
        else:
            is_head = name in ("lm_head", "model.embed_tokens")
            layer = Quantised(weight, offset, "int8" if is_head else self.weights)
        return layer if shared is not None else self._give(name, layer)

    def _give(self, name: str, value: Any) -> Any:
        self.given[name] = value
        return value


class Random:
    """Random weights, for tests and measurements. Matrices keep the variance of what they are applied to."""

    dtype = "float32"

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.given: dict[str, Any] = {}

    def _normal(self, scale: float, *shape: int) -> paddle.Tensor:
        return paddle.to_tensor(self.rng.standard_normal(shape, np.float32) * np.float32(scale))

    def rows(self, name: str, count: int, width: int) -> paddle.Tensor:
        return self._give(name, self._normal(width**-0.5, count, width))

    def vector(self, name: str, size: int) -> paddle.Tensor:
        return self._give(name, 1 + self._normal(0.1, size))

    def matrix(self, name: str, outputs: int, inputs: int, bias: bool = False) -> nn.Layer:
        if name in self.given:
            return Dense(self.given[name])
        weight = self._normal(inputs**-0.5, outputs, inputs)
        return self._give(name, Dense(weight, self._normal(0.1, outputs) if bias else None))

    _give = Reader._give


class Adapted:
    """Another source, with an adapter at each of the matrices whose last name is among ``targets``."""

    def __init__(self, source: Reader | Random, rank: int, alpha: float, targets: tuple[str, ...]) -> None:
        self.source, self.rank, self.alpha, self.targets = source, rank, alpha, targets
        self.dtype = source.dtype
        self.rows, self.vector = source.rows, source.vector

    def matrix(self, name: str, outputs: int, inputs: int, bias: bool = False) -> nn.Layer:
        base = self.source.matrix(name, outputs, inputs, bias)
        if name.rpartition(".")[2] not in self.targets:
            return base
        layer = Lora(base, inputs, outputs, self.rank, self.alpha)
        self.source.given[name] = layer
        return layer


def published(given: dict[str, Any]) -> dict[str, paddle.Tensor]:
    """Tensors under the names of the files, adapters merged, of what a source has given."""
    out = {}
    for name, value in given.items():
        layer = value.merged() if isinstance(value, Lora) else value
        out[f"{name}.weight"] = layer.weight if isinstance(layer, Dense) else layer
        if isinstance(layer, Dense) and layer.bias is not None:
            out[f"{name}.bias"] = layer.bias
    return out


def write(folder: Path, config: Config, given: dict[str, Any], shard: int = 4 << 30) -> None:
    """Write ``config.json`` and weights in files of about ``shard`` bytes, with an index where there are several."""
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[dict[str, paddle.Tensor]] = [{}]
    room = shard
    for name, value in published(given).items():
        size = value.size * value.element_size()
        if parts[-1] and size > room:
            parts.append({})
            room = shard
        parts[-1][name] = value
        room -= size
    names = ["model.safetensors"] if len(parts) == 1 else [shard_name(i + 1, len(parts)) for i in range(len(parts))]
    for name, part in zip(names, parts):
        save_safetensors(part, folder / name, {"format": "pt"})  # without it `transformers` refuses the file
    if len(parts) > 1:
        total = sum(v.size * v.element_size() for part in parts for v in part.values())
        index = index_text(total, {key: name for name, part in zip(names, parts) for key in part})
        (folder / "model.safetensors.index.json").write_bytes(index)
    config.write(folder)
