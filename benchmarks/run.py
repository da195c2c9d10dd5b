"""Runs rows of the table and prints it: ``python -m run``, in this folder.

Ours and the peer's are measured by turns in this process, pinned to one core; README.md says how and why.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import platform
import re
import sys
import traceback
from importlib.metadata import version
from pathlib import Path

import measure
from rows import ROWS, Outcome

README = Path(__file__).with_name("README.md")
MODULES = ("eager", "growth", "startup")
HEADING = "| row | what | target | ours | the other | ratio, or growth | | command |"
TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end of table -->)", re.DOTALL)
EMPTY = Outcome("–", "–", "–", False)


def line(name: str, outcome: Outcome | None) -> str:
    row = ROWS[name]
    shown = outcome or EMPTY
    verdict = "–" if outcome is None else "pass" if outcome.passed else "**miss**"
    cells = (f"`{name}`", row.what, row.target, shown.ours, shown.other, shown.figure, verdict)
    return "| " + " | ".join(cells) + f" | `python -m run --row {name}` |"


def table(lines: list[str]) -> str:
    return "\n".join([HEADING, "|" + "---|" * (HEADING.count("|") - 1), *lines])


def conditions() -> str:
    """What the figures depend on."""
    model = "unknown processor"
    for text in Path("/proc/cpuinfo").read_text().splitlines():
        if text.startswith("model name"):
            model = text.partition(":")[2].strip()
            break
    versions = f"Python {platform.python_version()}, PyTorch {version('torch')}, Umiak {version('umiak')}"
    return f"{model}, one core; {versions}; {datetime.date.today()}."


def write(measured: dict[str, Outcome]) -> None:
    """Put the measured rows into README.md; those that were not measured keep their figures."""
    text = README.read_text()
    found = TABLE.search(text)
    if found is None:
        raise ValueError(f"{README.name} requires the markers of the table, got none")
    kept = {part.split("`")[1]: part for part in found[0].splitlines() if part.startswith("| `")}
    lines = [line(name, measured[name]) if name in measured else kept.get(name, line(name, None)) for name in ROWS]
    shown = f"{table(lines)}\n\n{'Last run: ' + conditions() if measured else 'Not run yet.'}\n\n"
    README.write_text(text[: found.start()] + shown + text[found.end() :])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m run", description=__doc__.splitlines()[0])
    parser.add_argument("--row", action="append", metavar="NAME", help="run this row (may be repeated); all by default")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument("--rounds", type=int, default=41, help="rounds of each side (default %(default)s)")
    parser.add_argument("--round-ms", type=float, default=2.0, help="length of a round (default %(default)s)")
    parser.add_argument("--core", type=int, help="core to run on (default: the last one)")
    parser.add_argument("--check", action="store_true", help="only see that the rows run; measures nothing")
    parser.add_argument("--write", action="store_true", help="put the figures into README.md")
    parser.add_argument("--breakdown", action="store_true", help="what `import paddle` spends its time on")
    options = parser.parse_args(argv)

    if options.check and options.write:
        parser.error("--check measures nothing that could be written")
    if options.breakdown:
        import startup

        print(startup.breakdown())
        return 0
    for module in MODULES:
        importlib.import_module(module)
    if options.list:
        print("\n".join(ROWS))
        return 0
    names = options.row or list(ROWS)
    for name in names:
        if name not in ROWS:
            parser.error(f"there is no row {name!r}; there are {', '.join(ROWS)}")

    settings = measure.Settings(options.rounds, options.round_ms / 1e3)
    if options.check:
        settings = measure.Settings(2, 1e-5)
    core = measure.pin(options.core)
    noisy = None if options.check else measure.noise()
    if noisy:
        settings.warnings.append(noisy)
    import umiak

    if "site-packages" not in umiak.__file__ and not options.check:
        settings.warnings.append("umiak is an editable install, which looks for work at every import: use `make bench`")

    measured: dict[str, Outcome] = {}
    failed = []
    if not options.check:
        print(table([]))
    with measure.one_thread():
        for name in names:
            try:
                measured[name] = ROWS[name].measure(settings)
                print(f"{name} runs" if options.check else line(name, measured[name]), flush=True)
            except Exception:
                failed.append(name)
                print(f"row {name} failed:\n{traceback.format_exc()}", file=sys.stderr)
    if not options.check:
        print(f"\ncore {core}: {conditions()}")
        for text in dict.fromkeys(settings.warnings):
            print(f"warning: {text}", file=sys.stderr)
    if options.write:
        if settings.warnings:
            print("nothing is written: figures with warnings do not go into the table", file=sys.stderr)
            return 1
        write(measured)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
