"""Checks that several ranks make together: functions of (rank, size) in a module, whose names start with ``check_``.

One start of the processes runs all checks of a module, for all workers of a run. They agree after each of them whether
it passed everywhere, and stop at the first that did not.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.shared import once

ROOT = Path(__file__).parents[2]
NOT_RUN = "not run, as an earlier check failed"
LIMIT = 60.0  # seconds that a collective may take: ranks compile their kernels, and share the machine with others


def checks(module: str, virtual: bool = False) -> list[str]:
    """The checks of a module, in its order; those that virtual ranks can make."""
    found = {name: check for name, check in vars(importlib.import_module(module)).items() if name.startswith("check_")}
    return [name for name, check in found.items() if not (virtual and hasattr(check, "shares_nothing"))]


def processes_only(check: Callable) -> Callable:
    """A check that changes what virtual ranks share: warnings and flags."""
    check.shares_nothing = True  # type: ignore[attr-defined]
    return check


def simulate(n: int, module: str, name: str) -> None:
    """One check on virtual ranks."""
    from umiak import comm

    check = getattr(importlib.import_module(module), name)

    def work() -> None:
        world = comm.world()
        check(world.rank, world.size)

    comm.simulate(work, n, timeout=600.0)


@functools.cache
def run_ranks(n: int, module: str, names: tuple[str, ...]) -> dict[str, list[str]]:
    """Run checks of a module on ``n`` ranks: for each its failures, by rank. One rank is this process."""
    if n == 1:
        return _alone(module, names)
    return once(f"ranks {n} {module} {' '.join(names)}", lambda: _processes(n, module, names))


def _processes(n: int, module: str, names: tuple[str, ...]) -> dict[str, list[str]]:
    pytest.importorskip("mpi4py")
    program = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        pytest.skip("mpiexec is not there")
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "-n", str(n), sys.executable, "-W", "error", "-m", "tests.support.ranks", module, folder]
        command += names
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
        said = f"{done.stdout}{done.stderr}"[-4000:]
        results = [_read(Path(folder) / f"{rank}.json") for rank in range(n)]
    out = {}
    for name in names:
        failures = [f"rank {r}:\n{found.get(name, 'ended before')}" for r, found in enumerate(results)]
        out[name] = [f for r, f in enumerate(failures) if results[r].get(name, "ended before") is not None]
        if out[name]:
            out[name].append(f"exit status {done.returncode}; output:\n{said}")
    return out


def assert_passes(n: int, module: str, name: str, together: Sequence[str] = ()) -> None:
    """One check on ``n`` ranks, with one start of the processes for those that run ``together``, or for all."""
    failures = run_ranks(n, module, tuple(together or checks(module)))[name]
    assert not failures, "\n".join(failures)


def _read(path: Path) -> dict[str, str | None]:
    return json.loads(path.read_text()) if path.exists() else {}


def _alone(module: str, names: Sequence[str]) -> dict[str, list[str]]:
    from umiak.core import context

    former = context.new_rank(0).activate()
    try:
        results = _run(module, names, lambda found: None)
    finally:
        former.activate()
    return {name: [] if text is None else [text] for name, text in results.items()}


def _run(module: str, names: Sequence[str], report: Callable[[dict], None]) -> dict[str, str | None]:
    """This rank's part: what went wrong in each check, None where nothing did."""
    import paddle
    from umiak import comm

    paddle.distributed.init_parallel_env()
    world = comm.world()
    control = comm.new()  # agrees on results, whatever the checks have left on the world
    assert control is not None
    where = importlib.import_module(module)
    results: dict[str, str | None] = {}
    former = paddle.get_flags("FLAGS_comm_timeout_s")
    good = True
    for name in names:
        paddle.set_flags({"FLAGS_comm_timeout_s": LIMIT})
        text = None if good else NOT_RUN
        if good:
            paddle.seed(7)
            try:
                getattr(where, name)(world.rank, world.size)
            except Exception:
                text = traceback.format_exc()
            paddle.set_flags({"FLAGS_comm_timeout_s": 3 * LIMIT})
            good = all(control.gather_objects(text is None))
        results[name] = text
        report(results)
    paddle.set_flags(former)
    return results


def main(module: str, folder: str, *names: str) -> None:
    """What each process runs."""
    from umiak import comm

    rank = comm.start().rank
    _run(module, names, lambda found: (Path(folder) / f"{rank}.json").write_text(json.dumps(found)) and None)
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
