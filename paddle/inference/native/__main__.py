"""``python -m paddle.inference.native build FOLDER``; ``… include`` prints where the headers are."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from paddle.inference.native.building import build
from paddle.inference.native.folders import HEADERS


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m paddle.inference.native", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build", help="compile libumiak_inference.so")
    building.add_argument("folder", help="where it goes")
    building.add_argument("--cc", help="the command of the C compiler")
    commands.add_parser("include", help="print the folder of the headers")
    given = parser.parse_args(arguments)
    if given.command == "include":
        print(HEADERS)
        return 0
    try:
        print(build(given.folder, given.cc))
    except (RuntimeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
