"""Latency of a model by each way to run it: from Python, C, C++ and Java, and over HTTP.

The programs are those of ``examples/inference``, compiled here. Each runs a model, prints what it gives, runs it a
hundred times more and prints the mean by the clock on the wall. Programs and Python's take turns, start anew each time,
and must give the same; the fastest of each count. Python, libraries and servers have the row's core, and the client of
a server the others.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from inference_models import saved
from measure import Settings
from models.inference import MODELS
from rows import Outcome, add_row, add_section, duration

LATENCY = add_section("latency", "Models by each way to run them: time of a run", figure="÷ Python's")
EXAMPLES = Path(__file__).parents[1] / "examples" / "inference"
ROUNDS, SAME = 7, 1e-3
JAVA = 22  # the first with foreign functions
COMPILERS = {".c": "cc", ".cc": "c++"}


@dataclass(frozen=True)
class Model:
    """A saved model with one input of float32, for one image or sequence."""

    name: str

    @property
    def prefix(self) -> str:
        return str(Path(saved(self.name), self.name))

    @property
    def input(self) -> tuple[str, list[int]]:
        ((name, x),) = MODELS[self.name].inputs(1).items()
        return name, [*x.shape]

    @property
    def sizes(self) -> str:
        return "x".join(map(str, self.input[1]))


@cache
def embedded(model: Model) -> Path:
    """The library that embeds the interpreter, which runs any model."""
    from paddle.inference.native.building import build

    return Path(build(Path(saved(model.name), "native")))


@cache
def compiled(model: Model) -> Path:
    """A library of a model for this processor."""
    from paddle.inference.compile import compile_model

    sizes = f"{model.input[0]}={model.sizes}"
    return Path(compile_model(model.prefix, f"{saved(model.name)}/lib{model.name}.so", sizes=[sizes]))


@cache
def program(source: Path, library: Path) -> Path:
    """An example in C or C++, compiled and linked to a library."""
    from paddle.inference.native.folders import HEADERS

    made = library.with_name(f"{library.stem}_{source.suffix[1:]}")
    options = ["-O2", f"-I{HEADERS}", source, "-o", made, library, f"-Wl,-rpath,{library.parent}", "-pthread"]
    subprocess.run([COMPILERS[source.suffix], *options], check=True)
    return made


@cache
def java() -> str | None:
    """A Java that has foreign functions and compiles what it runs; None where there is none."""
    for binary in filter(None, [shutil.which("java"), *map(str, Path("/usr/lib/jvm").glob("*/bin/java"))]):
        said = subprocess.run([binary, "-version"], capture_output=True, text=True, check=False).stderr
        version = re.search(r'version "(\d+)', said)
        if version is None or int(version[1]) < JAVA:
            continue
        modules = subprocess.run([binary, "--list-modules"], capture_output=True, text=True, check=False).stdout
        if "jdk.compiler@" in modules:
            return binary
    return None


def in_python(model: Model) -> list[Any]:
    return [sys.executable, EXAMPLES / "python/predict.py", model.prefix, f"{model.input[0]}={model.sizes}"]


def in_c(library: Callable[[Model], Path], model: Model) -> list[Any]:
    files = [model.prefix] if library is embedded else []
    return [program(EXAMPLES / "c/predict.c", library(model)), *files, f"{model.input[0]}={model.sizes}"]


def in_cpp(library: Callable[[Model], Path], model: Model) -> list[Any]:
    files = [f"{model.prefix}.json", f"{model.prefix}.pdiparams"] if library is embedded else ["-", "-"]
    name, shape = model.input
    return [program(EXAMPLES / "cpp/predict.cc", library(model)), *files, name, *shape]


def in_java(library: Callable[[Model], Path], model: Model) -> list[Any]:
    name, shape = model.input
    options = ["--enable-native-access=ALL-UNNAMED", EXAMPLES / "java/Predict.java"]
    return [java(), *options, library(model), model.prefix if library is embedded else "-", name, *shape]


@contextmanager
def server(core: int, model: Model) -> Iterator[str]:
    """The port of a server of a model."""
    command = [sys.executable, "-m", "paddle.inference.serve", model.prefix, "--port", "0", "--threads", "1"]
    with subprocess.Popen(pinned([core], command), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r":(\d+)\n", process.stdout.readline())
            if found is None:
                raise RuntimeError(f"[latency] requires a server that listens, got exit code {process.wait()}")
            yield found[1]
        finally:
            process.terminate()


def pinned(cores: Sequence[int], command: Sequence[Any]) -> list[str]:
    return ["taskset", "-c", ",".join(map(str, cores)), *map(str, command)]


@dataclass(frozen=True)
class Run:
    """What a program printed: its outputs, and the seconds of a run."""

    names: list[str]
    numbers: np.ndarray
    seconds: float


def run(command: Sequence[str]) -> Run:
    done = subprocess.run(command, capture_output=True, text=True)
    said = re.findall(r"([\d.]+) ms", done.stderr)
    if done.returncode or not said:
        raise RuntimeError(f"[latency] requires {' '.join(command)} to print its latency, got\n{done.stderr}")
    lines = [line.rpartition("] ") for line in done.stdout.splitlines()]
    numbers = [float(x) for *_, text in lines for x in text.split()]
    return Run([line[0] for line in lines], np.array(numbers), float(said[-1]) / 1e3)


def same(wanted: Run, got: Run) -> None:
    if wanted.names != got.names or wanted.numbers.shape != got.numbers.shape:
        raise RuntimeError(f"[latency] requires the outputs {wanted.names}, got {got.names}")
    difference = np.abs(wanted.numbers - got.numbers).max() / max(np.abs(wanted.numbers).max(), 1e-6)
    if not difference <= SAME:
        raise RuntimeError(f"[latency] requires outputs that differ from Python's by {SAME:g}, got {difference:.2g}")


@dataclass(frozen=True)
class Way:
    what: str
    command: Callable[[Model], list[Any]] | None  # None: over HTTP
    java: bool = False


WAYS = {
    "c-embedded": Way("C, the interpreter embedded", partial(in_c, embedded)),
    "c-compiled": Way("C, compiled ahead of time", partial(in_c, compiled)),
    "cpp-embedded": Way("C++, the interpreter embedded", partial(in_cpp, embedded)),
    "cpp-compiled": Way("C++, compiled ahead of time", partial(in_cpp, compiled)),
    "java-embedded": Way("Java, the interpreter embedded", partial(in_java, embedded), java=True),
    "java-compiled": Way("Java, compiled ahead of time", partial(in_java, compiled), java=True),
    "http": Way("HTTP, one client, bytes", None),
}
NAMES, CHECKED = ("mobilenet_v3", "gru"), "gru"


def latency(way: Way, model: Model, settings: Settings) -> Outcome:
    """The time of a run in one way, and from Python."""
    if settings.check and (model.name != CHECKED or (way.java and java() is None)):
        return Outcome("–", "–", "–", False)
    if way.java and java() is None:
        raise RuntimeError(
            f"[latency] requires a JDK of {JAVA} or later, as java in the path or in /usr/lib/jvm, got none"
        )
    python = pinned([settings.core], in_python(model))
    elsewhere = sorted({*settings.cores} - {settings.core}) or [settings.core]
    started: AbstractContextManager[str] = server(settings.core, model) if way.command is None else nullcontext("")
    with started as port:
        if way.command is None:
            command = pinned(elsewhere, [sys.executable, EXAMPLES / "python/ask.py", port, model.sizes])
        else:
            command = pinned([settings.core], way.command(model))
        runs: dict[bool, list[Run]] = {True: [], False: []}
        for i in range(1 if settings.check else ROUNDS):
            for ours in (True, False) if i % 2 else (False, True):
                runs[ours].append(run(command if ours else python))
    same(runs[False][0], runs[True][0])
    ours, other = (min(r.seconds for r in runs[kind]) for kind in (True, False))
    return Outcome(duration(ours), duration(other), f"{ours / other:.3g}×", True, other / ours)


for _name in NAMES:
    for _kind, _way in WAYS.items():
        add_row(
            f"latency-{_name}-{_kind}",
            f"{MODELS[_name].what}, batch 1, f32; {_way.what}; the other: Python's predictor",
            "the outputs of Python's",
            partial(latency, _way, Model(_name)),
            LATENCY,
        )
