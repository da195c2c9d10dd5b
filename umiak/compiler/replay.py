"""Compile logged compilations again and report differences: ``python -m umiak.compiler.replay FOLDER``.

Ends with status 0 where every stage came out as logged, 1 where something differs.
"""

from __future__ import annotations

import argparse
import difflib
import os
from collections.abc import Iterator
from typing import NamedTuple

from umiak.compiler import compilation_log


class Difference(NamedTuple):
    """One stage that did not come out as logged; None where a side lacks it."""

    kernel: str
    stage: str
    before: str | None
    after: str | None

    def text(self) -> str:
        """A unified diff."""
        before, after = ((side or "").splitlines() for side in (self.before, self.after))
        title = f"{self.kernel} {self.stage}"
        diff = "\n".join(difflib.unified_diff(before, after, f"{title} (logged)", f"{title} (now)", lineterm=""))
        return diff or f"{title}: logged {self.before!r:.60}, now {self.after!r:.60}"


def replay(folder: str | os.PathLike[str]) -> Iterator[tuple[str, list[Difference]]]:
    """For every log its kernel's name and the stages that differ."""
    for one in compilation_log.read(folder):
        before, after = one["stages"], compilation_log.recompile(one)
        yield (
            one["name"],
            [
                Difference(one["name"], stage, before.get(stage), after.get(stage))
                for stage in sorted(before.keys() | after.keys())
                if before.get(stage) != after.get(stage)
            ],
        )


def main(arguments: list[str] | None = None) -> int:
    """Replay the log that the command line names; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m umiak.compiler.replay", description=__doc__)
    parser.add_argument("folder", help="where FLAGS_log_compilations wrote")
    count = changed = 0
    for _, differences in replay(parser.parse_args(arguments).folder):
        count += 1
        changed += bool(differences)
        for difference in differences:
            print(difference.text())
    print(f"{count} compilations, {changed} of them differ")
    return int(changed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
