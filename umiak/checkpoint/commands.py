"""The command line: ``python -m paddle.distributed.flex_checkpoint {inspect,verify,convert,diff}``."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from umiak.checkpoint import commit
from umiak.checkpoint import strict_json as sj
from umiak.checkpoint.aoa.syntax import LONGEST_TEXT
from umiak.checkpoint.box import Box
from umiak.checkpoint.data_model import TensorInfo
from umiak.checkpoint.errors import CheckpointError
from umiak.checkpoint.files import read_whole
from umiak.checkpoint.formats import hf, native
from umiak.checkpoint.manifest import Manifest, nbytes
from umiak.checkpoint.verify import check_files, verify
from umiak.util.errors import op_error

UNEQUAL, FAILED = 1, 2  # exit codes


def open_path(path: str, uid: int | None = None) -> tuple[str, Manifest]:
    """A folder and the manifest of what ``path`` names: a checkpoint's folder, or one file of tensors."""
    if not os.path.isfile(path):
        return path, commit.open_checkpoint(path, uid)
    folder, name = os.path.split(os.path.abspath(path))
    if name.endswith(hf.INDEX):
        return folder, hf.open_folder(folder)
    if not name.endswith(".distcp"):
        return folder, hf.open_files(folder, [name], complete=False)
    stored = tuple(native.read_blocks(folder, name))
    infos = {s.block.key: TensorInfo(s.block.key, s.block.global_shape, s.block.dtype) for s in stored}
    return folder, Manifest(0, 1, stored, infos, files={name: os.path.getsize(path)})


def human(size: float) -> str:
    """A size in bytes, for reading."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def table(rows: Sequence[Sequence[object]], headings: Sequence[str]) -> str:
    """Rows in columns that line up."""
    cells = [list(headings), *([str(c) for c in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headings))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in cells)


@contextlib.contextmanager
def bar(title: str, shown: bool) -> Iterator[Callable[[int, int], object] | None]:
    """A progress bar over bytes, where the error stream is a terminal."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm

    with tqdm(desc=title, unit="B", unit_scale=True) as meter:

        def step(done: int, total: int) -> None:
            meter.total = total
            meter.update(done)

        yield step


def _inspect(a: argparse.Namespace) -> int:
    folder, manifest = open_path(a.path, a.uid)
    rows: list[dict[str, Any]] = []
    for key, info in sorted(manifest.infos.items()):
        blocks = manifest.blocks(key)
        full = Box.full(info.shape)
        rows.append(
            {
                "key": key,
                "shape": list(info.shape),
                "dtype": info.dtype,
                "bytes": sum(nbytes(s.block) for s in blocks if s.replica == 0),
                "blocks": [
                    {
                        "file": s.file,
                        "begin": s.begin,
                        "offset": list(s.block.box.offset),
                        "shape": list(s.block.box.shape),
                        "flat": s.block.flat and list(s.block.flat),
                        "replica": s.replica,
                        "checksum": s.checksum,
                    }
                    for s in blocks
                ],
                "whole": len(blocks) == 1 and blocks[0].block.box == full and blocks[0].block.flat is None,
            }
        )
    there = {"folder": folder, "uid": manifest.uid, "world_size": manifest.world_size, "files": dict(manifest.files)}
    if a.json:
        print(json.dumps({**there, "tensors": rows, "extra": dict(manifest.extra)}, indent=2))
        return 0
    shown = [(r["key"], r["shape"], r["dtype"], human(r["bytes"]), len(r["blocks"]), _files(r["blocks"])) for r in rows]
    print(table(shown, ("tensor", "shape", "dtype", "size", "blocks", "file")))
    print()
    print(table([(name, human(size)) for name, size in sorted(manifest.files.items())], ("file", "size")))
    elements = sum(math.prod(info.shape) for info in manifest.infos.values())
    size = human(sum(r["bytes"] for r in rows))
    ranks = f"checkpoint {manifest.uid} of {manifest.world_size} ranks"
    print(f"\n{ranks}: {len(rows)} tensors, {elements:,} elements, {size}")
    return 0


def _files(blocks: list[dict[str, Any]]) -> str:
    names = sorted({b["file"] for b in blocks})
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _verify(a: argparse.Namespace) -> int:
    with bar("verify", a.progress) as progress:
        if os.path.isfile(a.path):
            report = check_files(*open_path(a.path), None, progress)
        else:
            report = verify(a.path, a.uid, progress)
    states = {state: report.count(state) for state in ("ok", "unchecked", "missing", "truncated", "corrupted")}
    if a.json:
        bad = [{"file": f.file, "key": f.key, "state": f.state, "detail": f.detail} for f in report.bad]
        print(json.dumps({"uid": report.uid, "ok": report.ok, "counts": states, "bad": bad}, indent=2))
    else:
        if report.bad:
            print(table([(f.state, f.file, f.key or "", f.detail) for f in report.bad], ("", "file", "tensor", "what")))
        print(", ".join(f"{n} {state}" for state, n in states.items() if n) or "no blocks")
    return 0 if report.ok else UNEQUAL


def read_statements(path: str) -> tuple[list[str], bool]:
    """AOA statements of a file: one to a line, ``#`` begins a line of comment; or the JSON of an ``aoa_config``."""
    text = read_whole(path, LONGEST_TEXT, "statements").decode()
    if path.endswith(".json"):
        config = sj.parse(text.encode(), path)
        if isinstance(config, list):
            config = {"aoa_statements": config}
        if not isinstance(config, dict) or not isinstance(config.get("aoa_statements"), list):
            raise op_error(ValueError, "convert", f"a list 'aoa_statements' in {path}", "none")
        return config["aoa_statements"], bool(config.get("aoa_config_reverse", False))
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")], False


def _convert(a: argparse.Namespace) -> int:
    from umiak.checkpoint.convert import convert, parse_size

    folder, manifest = open_path(a.source, a.uid)
    statements, reverse = read_statements(a.aoa) if a.aoa else (None, False)
    with bar("convert", a.progress) as progress:
        files = convert(
            folder,
            manifest,
            a.target,
            format=a.format,
            statements=statements,
            reverse=a.reverse or reverse,
            max_shard_size=parse_size(a.max_shard_size),
            uid=a.target_uid,
            progress=progress,
        )
    print(f"{a.target}: {', '.join(files)}")
    return 0


def _diff(a: argparse.Namespace) -> int:
    from umiak.checkpoint.compare import compare
    from umiak.checkpoint.convert import Contents

    with contextlib.ExitStack() as stack:
        one, other = (
            stack.enter_context(Contents(*open_path(path, uid)))
            for path, uid in ((a.one, a.uid), (a.other, a.other_uid))
        )
        differences = compare(one, other, stack.enter_context(bar("diff", a.progress)))
        count = len(one.infos)
    if a.json:
        print(json.dumps([vars(d) for d in differences], indent=2))
    elif differences:
        print(table([(d.key, d.kind, d.detail) for d in differences], ("tensor", "differs in", "how")))
    else:
        print(f"no difference in {count} tensors")
    return UNEQUAL if differences else 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; each command sets ``run``, which returns the exit status."""
    top = argparse.ArgumentParser("python -m paddle.distributed.flex_checkpoint", description="Look at checkpoints.")
    commands = top.add_subparsers(required=True, metavar="command")

    def command(name: str, run: Callable[[argparse.Namespace], int], help: str) -> argparse.ArgumentParser:
        parser = commands.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        parser.set_defaults(run=run)
        return parser

    def common(parser: argparse.ArgumentParser, machine: bool = True) -> None:
        parser.add_argument("--uid", type=int, help="which checkpoint of the folder (default: the newest complete one)")
        if machine:
            parser.add_argument("--json", action="store_true", help="print JSON")

    forms = "a checkpoint's folder, a folder of safetensors files, or one file"
    made = command("inspect", _inspect, "list tensors, their shapes, dtypes, sizes and files")
    made.add_argument("path", help=forms)
    common(made)
    made = command("verify", _verify, "read everything and compare checksums; exit code 1 where something is damaged")
    made.add_argument("path", help=forms)
    common(made)
    made.add_argument("--no-progress", dest="progress", action="store_false", help="no progress bar")
    made = command("convert", _convert, "write a checkpoint in another format or layout")
    made.add_argument("source", help=forms)
    made.add_argument("target", help="a folder")
    common(made, machine=False)
    made.add_argument("--aoa", metavar="FILE", help="AOA statements, one to a line, or an aoa_config as .json")
    made.add_argument("--reverse", action="store_true", help="use the statements the other way round")
    made.add_argument("--format", choices=("hf", "safetensors", "native"), default="hf", help="(default: hf)")
    made.add_argument("--max-shard-size", default="5GB", metavar="SIZE", help="of files of hf (default: 5GB)")
    made.add_argument("--target-uid", type=int, help="the new checkpoint's uid (default: the next free one)")
    made.add_argument("--no-progress", dest="progress", action="store_false", help="no progress bar")
    made = command("diff", _diff, "compare two checkpoints of any formats; exit code 1 where they differ")
    made.add_argument("one", help=forms)
    made.add_argument("other", help=forms)
    common(made)
    made.add_argument("--other-uid", type=int, help="which checkpoint of the second folder")
    made.add_argument("--no-progress", dest="progress", action="store_false", help="no progress bar")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 1 where something is damaged or differs, 2 where the command failed."""
    a = parser().parse_args(arguments)
    try:
        return a.run(a)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (CheckpointError, OSError, ValueError, KeyError, TypeError) as error:
        print(f"error: {error.args[0] if isinstance(error, KeyError) else error}", file=sys.stderr)
        return FAILED
