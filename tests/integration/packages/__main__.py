"""Run the programs of this folder here and in the reference framework, and compare what they give.

    ORACLE_PYTHON=.venv/oracle/bin/python python -m tests.integration.packages [--record] [PROGRAM ...]

``--record`` writes what the reference gives into ``tests/data/packages.json``, which the tests compare with. Beside
``make oracle`` the reference's environment needs: opencv-python-headless, scipy, scikit-learn, pyyaml, soundfile, tqdm,
visualdl, llvmlite, and a NumPy before 2.4, with which the reference counts flops.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.results import differences

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
DATA = ROOT / "tests" / "data" / "packages.json"
FOLDER = Path(os.environ.get("PACKAGES", Path(sys.prefix, "packages")))  # where the Makefile installs them
# Steps of training on few samples multiply what sums in another order differ by.
TOLERANCES = {"paddleaudio": 2e-4, "paddleseg": 2e-3, "paddlespeech": 2e-3, "rapidocr": 1e-4}


def run(python: str, name: str, folder: str | Path) -> Any:
    """The result of a program in the environment of an interpreter; what it writes lies in ``folder``."""
    target = Path(folder, "results.json")
    path = [str(FOLDER), str(ROOT / "tests" / "programs"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    command = [python, str(HERE / "facts.py"), name, str(target)]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return json.loads(target.read_text())


def kept() -> dict[str, Any]:
    """What the reference gives, by program."""
    return json.loads(DATA.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", help="by default all")
    parser.add_argument("--record", action="store_true", help="keep what the reference gives for the tests")
    options = parser.parse_args()
    reference = os.environ.get("ORACLE_PYTHON")
    if not reference:
        parser.error("ORACLE_PYTHON must name the Python of an environment that has the reference (or: make oracle)")
    failed = False
    theirs = kept() if DATA.exists() else {}
    for name in options.programs or TOLERANCES:
        with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there:
            theirs[name] = run(reference, name, there)
            lines = differences(run(sys.executable, name, here), theirs[name], TOLERANCES[name])
        failed |= bool(lines)
        print(f"{name}: {'; '.join(lines) or 'the same'}")
    if options.record:
        DATA.write_text(json.dumps(theirs, indent=1, sort_keys=True) + "\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
