"""The formats: files that are whole, how they are damaged, how they are read, and what must come of it."""

from __future__ import annotations

import argparse
import collections
import datetime
import decimal
import fractions
import gzip
import hashlib
import io
import json
import os
import pickle
import random
import shutil
import struct
import types
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as peer_save

import paddle
from paddle.inference.compile import compile_model
from paddle.static.extract import extracted
from paddle.static.formats import parameters, record
from paddle.static.formats.cut import from_data
from paddle.static.formats.files import read_program, read_values
from paddle.static.formats.legacy.translate import read_pdmodel
from paddle.static.program_file import dumps
from tests.fuzz.files import documents, messages
from tests.fuzz.files import mutate as m
from tests.support import native_libraries
from umiak.backends.cpu.aot.weights_file import MAGIC, file_of
from umiak.checkpoint import manifest
from umiak.checkpoint.aoa import compile_aoa
from umiak.checkpoint.box import Box
from umiak.checkpoint.commands import read_statements
from umiak.checkpoint.commit import Saving, open_checkpoint
from umiak.checkpoint.convert import convert
from umiak.checkpoint.data_model import Block, TensorInfo
from umiak.checkpoint.formats import native
from umiak.checkpoint.safetensors import load_safetensors
from umiak.core.array import to_numpy
from umiak.util.disk_cache import DiskCache

ROOT = Path(__file__).parents[3]
WEIGHTS_HEADER = len(MAGIC) + 16


class Wrong(Exception):
    """A file was read as something that it does not hold."""


def same(a: Any, b: Any) -> bool:
    """Whether two things that were loaded are the same, to the bit."""
    if isinstance(a, paddle.Tensor):
        a = a.numpy()
    if isinstance(b, paddle.Tensor):
        b = b.numpy()
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(v, b[k]) for k, v in a.items())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


class Format:
    """``samples`` are whole files. What is read of a damaged one is the sample, or nothing: ``read`` raises ValueError.

    ``sealed``: checksums tell. Otherwise anything may be read that does no harm.
    """

    mutators: Sequence[m.Mutator] = m.BYTES
    sealed = True

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.samples = self.make()
        self.whole = [self.read(data) for data in self.samples]

    def make(self) -> list[bytes]:
        raise NotImplementedError

    def read(self, data: bytes) -> Any:
        raise NotImplementedError

    def mutated(self, r: random.Random) -> tuple[int, bytes]:
        i = r.randrange(len(self.samples))
        data = self.samples[i]
        for _ in range(r.choice((1, 1, 1, 2, 3))):
            data = r.choice(self.mutators)(r, data, self.samples)[: 2 * m.LARGEST]
        return i, data

    def file(self, name: str, data: bytes) -> str:
        path = os.path.join(self.folder, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def run(self, i: int, data: bytes) -> tuple[str, int]:
        """ "loaded" or "refused", and the size of the file, which was made of sample ``i``."""
        try:
            found = self.read(data)
        except ValueError:
            return "refused", len(data)
        if self.sealed and not same(self.whole[i], found):
            raise Wrong(f"sample {i} was read as something else")
        return "loaded", len(data)


def states() -> list[Any]:
    r = np.random.default_rng(0)
    w = r.standard_normal((3, 5)).astype(np.float32)
    return [
        {"w": paddle.to_tensor(w), "b": paddle.to_tensor(w[0]).astype("bfloat16"), "LR": {"step": 3, "rate": 0.1}},
        {"model": {"w": paddle.to_tensor(w)}, "list": [paddle.to_tensor(3), (1, 2.5, "text", None, True, 2**70)]},
        {
            "scale": paddle.to_tensor([32768.0]),
            "incr_count": 1,
            "use": {1, 2},
            "bytes": b"ab" * 40,
            "o": OrderedDict(a=1),
        },
        paddle.to_tensor(r.integers(0, 9, (100, 20))),
    ]


class Pdparams(Format):
    """What ``paddle.save`` writes, with its checksum."""

    mutators = (*m.BYTES, m.opcodes, m.opcodes)

    def make(self) -> list[bytes]:
        out = []
        for state in states():
            for protocol in (2, 4):
                file = io.BytesIO()
                paddle.save(state, file, protocol)
                out.append(file.getvalue())
        return out

    def read(self, data: bytes) -> Any:
        if len(data) % 2:
            return paddle.load(io.BytesIO(data))
        return paddle.load(self.file("x.pdparams", data))


class Pickles(Pdparams):
    """Pickles of others, without one."""

    mutators = (m.opcodes, m.opcodes, m.opcodes, m.flip, m.number, m.splice, m.repeat)
    sealed = False

    def make(self) -> list[bytes]:
        r = np.random.default_rng(0)
        plain = {
            "w": r.standard_normal((3, 5)), "f": r.integers(0, 9, (3, 2)).T, "s": np.float32(2), "z": 1j,
            "sets": ({1, "a"}, frozenset([2, (1, 2)])), "bytes": (b"a", bytearray(b"b")), "o": OrderedDict(a=[1, 2]),
            (1, 2.5): np.dtype("f4"), "UnpackBigParamInfor@@": {"w": {"OriginShape": (15,), "slices": ["w"]}},
        }  # fmt: skip
        objects = {
            "at": datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=1), "x")),
            "n": (decimal.Decimal("1.5"), fractions.Fraction(1, 3), range(1, 9), slice(1, 2), ..., Path("a/b")),
            "d": collections.defaultdict(list, a=[1]), "c": collections.Counter("aab"), "q": collections.deque([1], 3),
            "s": argparse.Namespace(a=types.SimpleNamespace(b=np.ones(2))), "o": np.array([1, None, [2]], object),
            "r": np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]), "t": (paddle.float32, paddle.CPUPlace()),
        }  # fmt: skip
        dumped = [pickle.dumps(x, protocol) for x, first in ((plain, 0), (objects, 2)) for protocol in range(first, 6)]
        return dumped + super().make()


class Safetensors(Format):
    """What this package writes, with checksums."""

    def arrays(self) -> dict[str, np.ndarray]:
        r = np.random.default_rng(0)
        return {
            "w": r.standard_normal((3, 5)).astype(np.float32),
            "n": r.integers(0, 9, 7),
            "e": np.zeros((0, 3), np.int8),
        }

    def make(self) -> list[bytes]:
        path = os.path.join(self.folder, "x.safetensors")
        out = []
        for keys in (["w"], ["w", "n", "e"]):
            paddle.save({k: paddle.to_tensor(self.arrays()[k]) for k in keys}, path)
            with open(path, "rb") as f:
                out.append(f.read())
        return out

    def read(self, data: bytes) -> Any:
        tensors, metadata = load_safetensors(self.file("x.safetensors", data))
        return {k: to_numpy(t) for k, t in tensors.items()}, metadata


def header(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The JSON of a safetensors file changed, under a length that agrees."""
    n = int.from_bytes(data[:8], "little")
    if not 0 < n <= len(data) - 8:
        return m.flip(r, data, others)
    text = m.json_text(r, data[8 : 8 + n], others)
    return struct.pack("<Q", len(text)) + text + data[8 + n :]


class ForeignSafetensors(Safetensors):
    """What the package that defines the format writes, and headers that lie."""

    mutators = (header, header, header, m.flip, m.number, m.truncate, m.splice)
    sealed = False

    def make(self) -> list[bytes]:
        return [peer_save(self.arrays(), {"a": "b"}), peer_save({"w": self.arrays()["w"]}), *super().make()]


class Folder(Format):
    """A checkpoint of two ranks in a folder, of which ``target`` is the damaged file."""

    target = "0.metadata.json"
    format = "native"

    def make(self) -> list[bytes]:
        r = np.random.default_rng(0)
        w, n = r.standard_normal((6, 5)).astype(np.float32), r.integers(0, 9, (4,))
        run = os.path.join(self.folder, "run")
        first = Saving.begin(run, 0, 0, 2)
        second = Saving.begin(run, 0, 1, 2, first.claim)
        for part, rows in ((first, slice(0, 3)), (second, slice(3, 6))):
            box = Box((rows.start, 0), (3, 5))
            items = [(Block("w", "float32", (6, 5), box), w[rows])]
            if part is first:
                items.append((Block("n", "int64", (4,), Box.full((4,))), n))
            part.write(items, format=self.format)
        infos = {"w": TensorInfo("w", (6, 5), "float32"), "n": TensorInfo("n", (4,), "int64")}
        first.commit([first.prepare(), second.prepare()], infos, {"w": ("m", "w")}, {"step": 3})
        with open(os.path.join(run, self.target), "rb") as f:
            return [f.read()]

    def read(self, data: bytes) -> Any:
        run = os.path.join(self.folder, "run")
        self.file(os.path.join("run", self.target), data)
        found = paddle.distributed.load_merged_state_dict(run)
        part = paddle.distributed.ShardedWeight("w", paddle.zeros([6, 2]), (6, 2), (6, 5), (0, 1))
        paddle.distributed.load_state_dict({"w": part}, run)
        return {k: found[k].numpy() for k in sorted(found)}, part.local_tensor.numpy()


class Manifests(Folder):
    """Manifests under the checksum that they were written with."""


def resealed(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The body of a manifest changed, under a checksum that agrees."""
    head = manifest._HEAD.match(data)
    if head is None:
        return data
    body = r.choice((m.json_text, m.json_text, m.json_text, m.flip))(r, data[head.end() : -2], others)
    return b'{"checksum":"%s","body":%s}\n' % (manifest._digest(body), body)


class HostileManifests(Folder):
    """Manifests whose writer lies and seals it."""

    mutators = (resealed,)
    sealed = False

    def read(self, data: bytes) -> Any:
        try:
            return super().read(data)
        except (KeyError, TypeError) as error:  # as documented, where a tensor is not there, or is of another dtype
            if "[checkpoint] requires" in str(error):
                raise ValueError(str(error)) from error
            raise


class Shards(Folder):
    """A file of one rank."""

    target = "1_0.distcp"

    def read(self, data: bytes) -> Any:
        found = super().read(data)
        native.read_blocks(os.path.join(self.folder, "run"), self.target)
        return found


class SafetensorsShards(Folder):
    target = "0_0.safetensors"
    format = "safetensors"


def resealed_index(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The index of a native file changed, under a checksum and lengths that agree."""
    begin, length = int.from_bytes(data[8:16], "little"), int.from_bytes(data[16:24], "little")
    if begin + length > len(data) or begin < native.PAGE:
        return m.flip(r, data, others)
    text = m.json_text(r, data[begin : begin + length], others)
    return native.first_page(begin, text) + data[native.PAGE : begin] + text


class HostileShards(Shards):
    """A file of one rank whose index lies, looked at by itself."""

    mutators = (resealed_index,)
    sealed = False

    def read(self, data: bytes) -> Any:
        self.file(os.path.join("run", self.target), data)
        return native.read_blocks(os.path.join(self.folder, "run"), self.target)


class Index(Format):
    """The index of a folder as Hugging Face has them."""

    mutators = (m.json_text, m.json_text, m.json_text, *m.BYTES)

    def make(self) -> list[bytes]:
        source, target = (os.path.join(self.folder, name) for name in ("source", "run"))
        paddle.distributed.save_state_dict({k: paddle.arange(12.0).reshape([3, 4]) for k in "abc"}, source)
        convert(source, open_checkpoint(source), target, max_shard_size=60)
        with open(os.path.join(target, "model.safetensors.index.json"), "rb") as f:
            return [f.read()]

    def read(self, data: bytes) -> Any:
        self.file("run/model.safetensors.index.json", data)
        found = paddle.distributed.load_merged_state_dict(os.path.join(self.folder, "run"))
        return {k: found[k].numpy() for k in sorted(found)}


class Statements(Format):
    """AOA statements, as a text and as the JSON of an ``aoa_config``."""

    mutators = (m.statements, m.statements, m.statements, m.json_text, *m.BYTES)
    sealed = False

    def make(self) -> list[bytes]:
        qkv = ", ".join(f"l.$LAYER_ID.{n}^T" for n in "qkv")
        rows = [
            "x -> y", f"{qkv} -> b.$LAYER_ID.qkv, fused_qkv, num_heads=4, num_key_value_groups=2",
            "l.$LAYER_ID.gate, l.$LAYER_ID.up -> b.$LAYER_ID.gu, fused_ffn",
            "l.0.e.*.w -> stacked, axis=0", "x -> c, d, axis=0", "z -> t, permute='[1,0]'", "t -> f, dtype='float16'",
            "p[0:3] -> joined, axis=1", "z -> _",
        ]  # fmt: skip
        text = "\n".join(rows)
        return [text.encode(), json.dumps({"aoa_statements": rows}).encode(), "\n".join(rows[:3]).encode()]

    def sources(self) -> dict[str, TensorInfo]:
        shapes = {"x": (4, 6), "z": (2, 3), "p_0": (2, 3), "p_1": (2, 3), "p_2": (2, 3)}
        for i in range(3):
            shapes |= {
                f"l.{i}.q": (8, 6),
                f"l.{i}.k": (4, 6),
                f"l.{i}.v": (4, 6),
                f"l.{i}.gate": (6, 8),
                f"l.{i}.up": (6, 8),
            }
            shapes |= {f"l.{i}.e.{e}.w": (2, 3) for e in range(4)}
        return {k: TensorInfo(k, s, "float32", (Box.full(s),)) for k, s in shapes.items()}

    def read(self, data: bytes) -> Any:
        path = self.file("a.json" if data[:1] in (b"{", b"[") else "a.aoa", data)
        rows, reverse = read_statements(path)
        sources = self.sources()
        layout = compile_aoa(rows, sources, reverse=reverse)
        return [layout.pieces(key) for key in list(layout.targets)[:50] if len(layout.sources_of(key)) < 1000]


class CacheEntries(Format):
    """Entries of the cache of machine code: the payload or nothing, and never an error."""

    def make(self) -> list[bytes]:
        self.cache = DiskCache(os.path.join(self.folder, "cache"))
        self.cache.put("k", bytes(range(256)) * 8)
        self.path = self.cache._path(hashlib.sha256(b"k").digest())
        with open(self.path, "rb") as f:
            return [f.read()]

    def read(self, data: bytes) -> Any:
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "wb") as f:
            f.write(data)
        try:
            payload = self.cache.get("k")
        except ValueError as error:
            raise Wrong("an error instead of nothing") from error
        if payload is None:
            raise ValueError("no entry")
        return payload


FROM_DATA = "detection", "proposals", "decoder"  # programs that predictors cut


class Pdmodel(Format):
    """Programs that the reference's version 2 wrote, read with their values."""

    mutators = (*m.BYTES, messages.fields, messages.fields, messages.fields, messages.fields)
    sealed = False
    files: tuple[str, ...] = ("legacy_programs",)

    def make(self) -> list[bytes]:
        self.sample = 0
        self.values, programs = [], []
        for file in self.files:
            recorded = np.load(ROOT / f"tests/data/{file}.npz")
            names = [k for k in recorded.files if k.endswith("/program") and k.partition("/")[0] not in FROM_DATA]
            self.values += [recorded[k.removesuffix("program") + "values"].tobytes() for k in names]
            programs += [recorded[k].tobytes() for k in names]
        return programs

    def mutated(self, r: random.Random) -> tuple[int, bytes]:
        self.sample, data = super().mutated(r)
        return self.sample, data

    def read(self, data: bytes) -> Any:
        if data in self.samples:
            self.sample = self.samples.index(data)
        module = read_pdmodel(data)
        if sum(1 for _ in module.block.walk()) < 500:
            names = record.parameter_names(module)
            record.program_of(module, parameters.read(self.values[self.sample], names))


class PackedPdmodel(Pdmodel):
    """The same over sequences that are packed in rows, decoders of translation among them."""

    files = ("sequence_programs", "decoding_programs", "rare_programs")

    def read(self, data: bytes) -> Any:
        try:
            super().read(data)
        except ValueError as error:
            if not from_data(error):
                raise


class Pir(Format):
    """Programs that the reference's version 3 wrote."""

    mutators = (documents.nodes, documents.nodes, documents.nodes, documents.nodes, m.json_text, m.flip, m.truncate)
    sealed = False

    def make(self) -> list[bytes]:
        rows = gzip.decompress((ROOT / "tests/data/saved_operators.jsonl.gz").read_bytes()).splitlines()
        recorded = [row for row in map(json.loads, rows) if not row["name"].startswith("eager")]
        samples = [json.dumps(row["program"]) for row in recorded[::2]]
        samples += [(ROOT / f"tests/data/saved_layers/{n}.json").read_text() for n in ("control", "methods", "narrow")]
        return [text.encode() for text in samples if len(text) < 12_000]

    def read(self, data: bytes) -> Any:
        module = read_program(data, "load")
        if sum(1 for _ in module.block.walk()) < 500:
            record.program_of(module, None)


class Values(Format):
    """Values of parameters that the reference wrote."""

    sealed = False

    def make(self) -> list[bytes]:
        return [np.load(ROOT / "tests/data/saved_values.npz")["all"].tobytes()]

    def read(self, data: bytes) -> Any:
        read_values(data, [chr(97 + i) for i in range(16)], "load")


class OwnProgram(Format):
    """Programs in operators of ours, under the checksum that they were written with."""

    mutators = (m.json_text, m.json_text, *m.BYTES)

    def make(self) -> list[bytes]:
        program, startup = paddle.static.Program(), paddle.static.Program()
        paddle.enable_static()
        with paddle.static.program_guard(program, startup):
            x = paddle.static.data("x", [None, 4])
            y = paddle.static.nn.cond(x.sum() > 0, lambda: paddle.nn.Linear(4, 3)(x), lambda: x[:, :3] * 2.0)
            contents, _ = extracted("f", program._tracer, [x], [paddle.nn.functional.softmax(y)])
        paddle.disable_static()
        return [dumps(contents)]

    def read(self, data: bytes) -> Any:
        return str(read_program(data, "load").program)


class CompiledWeights(Format):
    """The file of weights of a model compiled ahead of time, read by its library: from the file and from memory."""

    def make(self) -> list[bytes]:
        paddle.seed(0)
        net = paddle.nn.Sequential(paddle.nn.Conv2D(3, 8, 3), paddle.nn.Flatten(), paddle.nn.Linear(32, 5))
        prefix = native_libraries.save(
            Path(self.folder) / "model", native_libraries.evaluating(lambda: net), [("x", [2, 3, 4, 4], "float32")]
        )
        self.library = native_libraries.Native(compile_model(str(prefix), os.path.join(self.folder, "built")))
        self.x = np.random.default_rng(0).standard_normal((2, 3, 4, 4)).astype("float32")
        return [(Path(self.folder) / "built/built.weights").read_bytes()]

    def read(self, data: bytes) -> Any:
        ways = (
            lambda: self.library.create(self.file("weights", data)), lambda: self.library.create_from_memory(data),
        )  # fmt: skip
        found = []
        for create in ways:
            try:
                predictor = create()
            except native_libraries.NativeError as error:
                if error.status != native_libraries.INVALID_MODEL:
                    raise
                found.append(None)
                continue
            found.append([y.copy() for y in predictor.run(self.x)])
            predictor.close()
        if not same(*found):
            raise Wrong("a file and the same bytes in memory were read as different things")
        if found[0] is None:
            raise ValueError
        return found[0]


def resealed_weights(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Weights changed, under a header that agrees with them."""
    return file_of(r.choice(m.BYTES)(r, data[WEIGHTS_HEADER:], others))


class HostileWeights(CompiledWeights):
    """Weights whose writer lies and seals it: the library knows those that it was built with."""

    mutators = (resealed_weights,)


FORMATS: dict[str, type[Format]] = {
    "pdparams": Pdparams,
    "pickle": Pickles,
    "safetensors": Safetensors,
    "safetensors of others": ForeignSafetensors,
    "manifest": Manifests,
    "manifest that lies": HostileManifests,
    "native shard": Shards,
    "native shard that lies": HostileShards,
    "safetensors shard": SafetensorsShards,
    "index": Index,
    "statements": Statements,
    "cache entry": CacheEntries,
    "pdmodel": Pdmodel,
    "pdmodel of sequences": PackedPdmodel,
    "pir": Pir,
    "pdiparams": Values,
    "own program": OwnProgram,
    "compiled weights": CompiledWeights,
    "compiled weights that lie": HostileWeights,
}


def make(name: str, folder: str) -> Format:
    warnings.simplefilter("ignore")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, mode=0o700)
    return FORMATS[name](folder)
