"""Runs rows of the tables and prints them: ``python -m run``, in this folder.

Ours and the peer's are measured by turns in this process, pinned to one core; README.md says how and why. The exit code
is 0 when all targets are met, 1 when a row did not run or nothing could be written, 2 when a target is missed.
With ``--against`` it is 1 when there was nothing to compare with, and 2 when a ratio is worth a warning.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import platform
import re
import sys
import traceback
from importlib.metadata import version
from pathlib import Path

import baseline
import measure
from rows import ROWS, SECTIONS, Outcome, Section

README = Path(__file__).with_name("README.md")
MODULES = (
    "eager",
    "captured",
    "varying",
    "growth",
    "startup",
    "kernels",
    "operations",
    "functions",
    "losses",
    "audio",
    "sparse",
    "vision_ops",
    "matmul",
    "attention_plain",
    "attention_masks",
    "attention_rates",
    "threads",
    "branches",
    "compile_times",
    "decode",
    "language_model",
    "recurrent",
    "training",
    "image_transforms",
    "vision_models",
    "custom_operators",
    "inference",
    "inference_models",
    "latency",
    "interchange",
    "devices",
    "data",
    "model",
    "data_parallel",
    "collectives",
    "checkpoint",
    "checkpoint_plan",
    "checkpoint_reshard",
)
EMPTY = Outcome("–", "–", "–", False)
FAILED, MISSED = 1, 2
ROUNDS = 41


def line(name: str, outcome: Outcome | None) -> str:
    row = ROWS[name]
    shown = outcome or EMPTY
    verdict = "–" if outcome is None else "pass" if outcome.passed else "**miss**"
    cells = (f"`{name}`", row.what, row.target, shown.ours, shown.other, shown.figure, verdict)
    return "| " + " | ".join(cells) + f" | `python -m run --row {name}` |"


def table(section: Section, lines: list[str]) -> str:
    heading = f"| row | what | target | ours | the other | {section.figure} | | command |"
    return "\n".join([heading, "|" + "---|" * (heading.count("|") - 1), *lines])


def conditions() -> str:
    """Return what the figures depend on."""
    versions = f"Python {platform.python_version()}, PyTorch {version('torch')}, Umiak {version('umiak')}"
    return f"{measure.processor()}, one core; {versions}; {datetime.date.today()}."


def rows_of(section: Section) -> list[str]:
    return [name for name, row in ROWS.items() if row.section == section.name]


def verdict(section: Section, measured: dict[str, Outcome]) -> tuple[str, bool]:
    """The mean of a section, once every row of it is measured."""
    names = rows_of(section)
    return section.verdict([measured[n] for n in names]) if all(n in measured for n in names) else ("", True)


def write(measured: dict[str, Outcome]) -> None:
    """Put the measured rows into README.md; those that were not measured keep their figures."""
    text = README.read_text()
    for section in SECTIONS.values():
        names = rows_of(section)
        if measured and not any(name in measured for name in names):
            continue
        found = re.search(rf"(?<=<!-- table {section.name} -->\n).*?(?=<!-- end of table -->)", text, re.DOTALL)
        if found is None:
            raise ValueError(f"{README.name} requires the markers of table {section.name!r}, got none")
        if section.below is not None:
            if measured and not all(n in measured for n in names):
                continue  # such a table is of one run
            names = [n for n in names if measured and (measured[n].ratio or 0) < section.below]
        kept = {part.split("`")[1]: part for part in found[0].splitlines() if part.startswith("| `")}
        lines = [line(n, measured[n]) if n in measured else kept.get(n, line(n, None)) for n in names]
        mean, _ = verdict(section, measured)
        notes = [part for part in (mean, f"Last run: {conditions()}" if measured else "Not run yet.") if part]
        shown = "\n\n".join([table(section, lines), *notes]) + "\n\n"
        text = text[: found.start()] + shown + text[found.end() :]
    README.write_text(text)


def options_of(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m run", description=__doc__.splitlines()[0])
    parser.add_argument("--row", action="append", metavar="NAME", help="run this row (may be repeated); all by default")
    parser.add_argument("--section", action="append", metavar="NAME", help="run the rows of this table (likewise)")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument("--rounds", type=int, help=f"rounds of each side (default {ROUNDS})")
    parser.add_argument("--round-ms", type=float, default=2.0, help="length of a round (default %(default)s)")
    parser.add_argument("--core", type=int, help="core to run on (default: the last one)")
    parser.add_argument("--fastest", action="store_true", help="figures of the fastest rounds, for a busy machine")
    parser.add_argument("--check", action="store_true", help="only see that the rows run; measures nothing")
    parser.add_argument("--write", action="store_true", help="put the figures into README.md")
    stored = {"nargs": "?", "type": Path, "const": baseline.STORED, "metavar": "FILE"}
    parser.add_argument(
        "--against", **stored, help=f"compare ratios with stored ones (default {baseline.STORED.name}), in short rounds"
    )
    parser.add_argument("--store", **stored, help="put the ratios of this processor there")
    parser.add_argument("--breakdown", action="store_true", help="what `import paddle` spends its time on")
    options = parser.parse_args(argv)
    if options.write and (options.check or options.fastest):
        parser.error("--write requires figures of all rounds, got --check or --fastest")
    if options.store and (options.check or options.fastest or options.against):
        parser.error("--store requires figures of all rounds, got --check, --fastest or --against")
    if options.against and (options.check or options.write):
        parser.error("--against requires a run of its own, got --check or --write")
    if options.breakdown:
        return options
    for module in MODULES:
        importlib.import_module(module)
    for kind, given, known in (("section", options.section, SECTIONS), ("row", options.row, ROWS)):
        for name in given or ():
            if name not in known:
                parser.error(f"there is no {kind} {name!r}; there are {', '.join(known)}")
    options.whole = not (options.row or options.section)  # the rows are not chosen by the user
    if options.whole and (options.against or options.store):
        options.row = [*baseline.ROWS]
    wanted = options.row or options.section
    options.names = [
        n for n, row in ROWS.items() if not wanted or n in (options.row or ()) or row.section in (options.section or ())
    ]
    return options


def settings_of(options: argparse.Namespace) -> measure.Settings:
    cores = tuple(sorted(os.sched_getaffinity(0)))
    core = measure.pin(options.core)
    if options.check:
        return measure.Settings(2, 1e-5, core, cores, check=True)
    settings = measure.Settings(options.rounds or ROUNDS, options.round_ms / 1e3, core, cores, options.fastest)
    if options.against:
        settings.rounds, settings.row_s = options.rounds or baseline.ROUNDS, baseline.ROW_S
    # A load average remembers what came before, such as tests; a short comparison asks for what is now.
    noisy = measure.busy(core) if options.against else measure.noise()
    if noisy:
        settings.warnings.append(noisy)
    import umiak

    if "site-packages" not in umiak.__file__:
        settings.warnings.append("umiak is an editable install, which looks for work at every import: use `make bench`")
    return settings


def outcome_of(name: str, settings: measure.Settings) -> Outcome | None:
    """A row measured; None, and a report, if it did not run."""
    try:
        return ROWS[name].measure(settings)
    except Exception:
        print(f"row {name} failed:\n{traceback.format_exc()}", file=sys.stderr)
        return None


def ratio_of(name: str, settings: measure.Settings) -> float | None:
    outcome = outcome_of(name, settings)
    return None if outcome is None else outcome.ratio


def against(options: argparse.Namespace, settings: measure.Settings) -> int:
    """Compare ratios with those of an earlier day."""
    try:
        known = baseline.read(options.against)
    except ValueError as error:
        print(error, file=sys.stderr)
        return FAILED
    processor = measure.processor()
    stored = known.get(processor, {})
    names = [*dict.fromkeys([*options.names, *(stored if options.whole else ())])]
    measured: dict[str, float] = {}
    for name in names if stored else ():
        ratio = ratio_of(name, settings) if name in ROWS else None
        if ratio is not None and baseline.fell(name, stored, ratio):
            ratio = max(ratio, ratio_of(name, settings) or 0.0)  # a moment of the machine does not come twice
        if ratio is not None:
            measured[name] = ratio
    lines, found = baseline.report(processor, known, names, measured)
    print("\n".join(lines))
    for text in (*disturbances(settings), *found):
        print(f"warning: {text}")
    return 0 if not found else MISSED if measured else FAILED


def disturbances(settings: measure.Settings) -> list[str]:
    """Return why the figures are not to be trusted."""
    if settings.away <= measure.QUIET:
        return settings.warnings
    return [*settings.warnings, f"the process was off its core for {settings.away:.0%} of a measurement"]


def main(argv: list[str] | None = None) -> int:
    options = options_of(argv)
    if options.breakdown:
        import startup

        print(startup.breakdown())
        return 0
    if options.list:
        print("\n".join(options.names))
        return 0
    settings = settings_of(options)
    measured: dict[str, Outcome] = {}
    failed, missed = [], []
    with measure.one_thread():
        if options.against:
            return against(options, settings)
        for section in SECTIONS.values():
            names = [name for name in options.names if ROWS[name].section == section.name]
            if names and not options.check:
                print(f"\n### {section.title}\n\n{table(section, [])}")
            for name in names:
                outcome = outcome_of(name, settings)
                if outcome is None:
                    failed.append(name)
                    continue
                measured[name] = outcome
                if not outcome.passed:
                    missed.append(name)
                print(f"{name} runs" if options.check else line(name, outcome), flush=True)
            mean, reached = verdict(section, measured)
            if mean and not options.check:
                print(f"\n{mean}")
                missed += [] if reached else [f"mean of {section.name}"]
    if options.check:
        return FAILED if failed else 0
    print(f"\ncore {settings.core}: {conditions()}")
    if missed:
        print(f"missed: {', '.join(missed)}")
    warnings = disturbances(settings)
    for text in warnings:
        print(f"warning: {text}", file=sys.stderr)
    if options.write or options.store:
        if warnings or not measured:
            reason = "figures with warnings are not kept" if measured else "no row ran"
            print(f"nothing is written: {reason}", file=sys.stderr)
            return FAILED
        if options.write:
            write(measured)
        if options.store:
            ratios = {name: x.ratio for name, x in measured.items() if x.ratio is not None}
            baseline.store(options.store, measure.processor(), ratios)
    return FAILED if failed else MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
