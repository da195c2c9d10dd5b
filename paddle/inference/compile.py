"""Models as machine code ahead of their use: ``python -m paddle.inference.compile MODEL --out libmodel.so``.

The library has the interface of ``umiak_inference.h`` and needs no Python. Its sizes are fixed: those of the model, or
given by ``--sizes``, once for each set of them.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paddle.inference import loading
from paddle.inference.native.folders import HEADERS
from paddle.static import saving
from paddle.static.extract import with_inputs
from paddle.static.program import managed
from umiak import __version__
from umiak.backends.cpu.aot.errors import LinkError, Uncompilable
from umiak.backends.cpu.aot.lowering import symbols_of_sizes
from umiak.backends.cpu.aot.model import build
from umiak.backends.cpu.aot.tables import Ports
from umiak.backends.cpu.aot.targets import NAMES
from umiak.ir.expr import Sym
from umiak.runtime.program_tracer import outside

OP = "compile"
SIZE = r"\d+(?:\.\.\d+)?"
MOST_SETS, MOST_COMBINATIONS = 64, 1 << 14


def compile_model(
    model: str, out: str, *, parameters: str | None = None, target: str = "native", sizes: Sequence[str] = (),
    cc: str | None = None,
) -> Path:  # fmt: skip
    """Compile a saved model for a processor.

    Args:
        model: the file of the program, what its name begins with, or the folder of the model.
        out: the library, ``<name>.so``, with the weights inside of it; or a folder for library, weights and headers.
        parameters: the file of the parameters, by default the one beside the program.
        target: the processor: ``native`` is this machine's.
        sizes: sets of shapes of inputs whose sizes the model leaves open, each as ``"x=1x3x48x320,y=1"``. In place of a
            size may stand a range, ``"x=1..8x3x48x320"``: a set for each number.
        cc: the command of the C compiler, by default the one that is installed.

    Returns:
        The library.

    Raises:
        ValueError: a model, or sizes of it, that cannot be compiled; no such target.
        FileNotFoundError: there is no such model.
        RuntimeError: the C compiler is missing, or has failed.
    """
    read = _read(model, parameters)
    with outside():
        contents, _ = saving._contents(OP, read.program, None, read.fetched)
        contents = with_inputs(contents, read.program._tracer.feeds)
        values = {
            key: read.scope._place_of(x, make=False) if managed(x) else x
            for key, x in ((key, contents.program.captured[key]) for key in contents.kept)
        }
        shapes = [shapes for text in (sizes or [""]) for shapes in _sets(contents, text)]
        path = Path(out)
        inside = path.suffix == ".so"
        name = re.sub(r"\W", "_", path.stem.removeprefix("lib") if inside else path.name) or "model"
        library = path if inside else path / f"lib{name}.so"
        if not inside:
            shutil.copytree(HEADERS, path, dirs_exist_ok=True)
        build(
            contents.program, Ports(contents.feeds, contents.fetched), values, shapes, name=name, target=target,
            library=library, weights_file=None if inside else path / f"{name}.weights", cc=cc, include=HEADERS,
            version=__version__,
        )  # fmt: skip
    return library


def _read(model: str, parameters: str | None) -> loading.Model:
    program, beside = loading.files_of(model)
    return loading.from_files(program, beside if parameters is None else parameters)


def _sets(contents: Any, text: str) -> list[list[tuple[int, ...]]]:
    """The sets of shapes of all inputs, in order, that a text stands for: one for each number of a range. Sizes that
    have to be equal go together."""
    given: dict[str, list[range]] = {}
    for part in filter(None, text.split(",")):
        name, _, shape = part.rpartition("=")
        if not name or not re.fullmatch(rf"{SIZE}(x{SIZE})*|", shape):
            raise ValueError(f"[{OP}] requires sizes as name=1x3x48x320 or name=1..8x3x48x320, got {part!r}")
        given[name] = [_range(n) for n in shape.split("x")] if shape else []
    if unknown := set(given) - set(contents.feeds):
        raise ValueError(f"[{OP}] requires sizes of the inputs {contents.feeds}, got those of {sorted(unknown)}")
    ranges: list[range] = []
    ranks = []
    for name, argument in zip(contents.feeds, contents.program.arguments(), strict=True):
        sizes = tuple(argument.meta.shape)
        if name not in given and any(type(n) is Sym for n in sizes):
            shown = ["?" if type(n) is Sym else n for n in sizes]
            raise ValueError(f"[{OP}] requires sizes of {name!r}, which the model has as {shown}, got none: --sizes")
        own = given.get(name, [range(n, n + 1) for n in sizes if type(n) is int])
        if len(own) != len(sizes):
            raise ValueError(f"[{OP}] requires {len(sizes)} sizes of {name!r}, got {len(own)}")
        ranges += own
        ranks.append(len(sizes))
    if math.prod(map(len, ranges)) > MOST_COMBINATIONS:
        raise ValueError(f"[{OP}] requires at most {MOST_COMBINATIONS} combinations of sizes, got {text!r}")
    sets, refused = [], None
    for sizes in itertools.product(*ranges):
        rest = iter(sizes)
        shapes = [tuple(itertools.islice(rest, rank)) for rank in ranks]
        try:
            symbols_of_sizes(contents.program, shapes)
        except Uncompilable as error:
            refused = error
        else:
            sets.append(shapes)
    if not sets and refused is not None:
        raise refused
    if len(sets) > MOST_SETS:
        raise ValueError(f"[{OP}] requires at most {MOST_SETS} sets of sizes, got {len(sets)} in {text!r}")
    return sets


def _range(text: str) -> range:
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m paddle.inference.compile", description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="the file of the program, what its name begins with, or the model's folder")
    parser.add_argument("--params", help="the file of its parameters (default: the one beside it)")
    parser.add_argument("--out", required=True, help="<name>.so, or a folder for library, weights and headers")
    parser.add_argument("--target", default="native", choices=NAMES, help="the processor (default: this machine's)")
    parser.add_argument(
        "--sizes", action="append", default=[], metavar="NAME=1x3x48x320[,…]",
        help="shapes of inputs whose sizes are open, once for each set of them; 1..8 stands for each of the sizes",
    )  # fmt: skip
    parser.add_argument("--cc", help="the command of the C compiler")
    given = parser.parse_args(arguments)
    try:
        library = compile_model(
            given.model, given.out, parameters=given.params, target=given.target, sizes=given.sizes, cc=given.cc
        )
    except (Uncompilable, LinkError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(library)
    return 0


if __name__ == "__main__":
    sys.exit(main())
