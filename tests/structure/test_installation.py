"""What is said of installing: which Pythons, which packages, which commands. Read, not run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import build_requirements

ROOT = Path(__file__).parents[2]
PROJECT = build_requirements.read()["project"]
EXTRAS = PROJECT["optional-dependencies"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += sorted((ROOT / "examples").rglob("*.md"))
SPEAKING = [*PAGES, *(p for folder in ("umiak", "paddle", "examples") for p in sorted((ROOT / folder).rglob("*.py")))]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split())
COMMAND = re.compile(r"pip install ([^`\n,()\"#]+)")


# This folder, or a wheel that was built in it; either with extras.
OURS = re.compile(r"(?:\.|dist/(?:umiak|paddlepaddle)-\S*\.whl)(?:\[(.*)\])?")


def bare(requirement: str) -> str:
    """The name in a requirement, as package indexes compare it."""
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")


def required(extra: str) -> set[str]:
    """The packages of an extra, those of the extras that it names included."""
    names = set()
    for requirement in EXTRAS[extra]:
        inner = re.fullmatch(r"umiak\[(.*)\]", requirement)
        names |= set().union(*map(required, inner[1].split(","))) if inner else {bare(requirement)}
    return names


OPTIONAL = set().union(*map(required, EXTRAS))


def unknown(command: str) -> list[str]:
    """What a ``pip install`` line names that is neither ours, with extras that we have, nor an optional package."""
    found = []
    words = iter(command.replace("'", "").split())
    for word in words:
        here = OURS.fullmatch(word)
        if word == "-r":
            found += [f for f in [next(words)] if not (ROOT / f).is_file()]
        elif here is not None:
            found += [e for e in (here[1] or "").split(",") if e and e not in EXTRAS]
        elif not word.startswith("-") and bare(word) not in OPTIONAL:
            found.append(word)
    return found


def test_the_check_sees_packages_that_are_on_no_index():
    assert unknown("'.[distributed,plot]'") == unknown(". mpich 'mpi4py>=4'") == []
    assert unknown("--no-deps -r examples/sentence_embedding/requirements.txt") == []
    assert unknown("dist/umiak-*.whl 'dist/umiak-0.1.0-cp311-cp311-linux_x86_64.whl[vision]'") == []
    assert unknown("'dist/umiak-*.whl[rocm]'") == ["rocm"]
    assert unknown("'umiak[distributed]'") == ["umiak[distributed]"]
    assert unknown("-r nothing.txt '.[rocm]'") == ["nothing.txt", "rocm"]


def test_install_commands_work_from_a_checkout():
    lines = [(p, m[1].strip()) for p in SPEAKING for m in COMMAND.finditer(p.read_text())]
    literal = [(p, c) for p, c in lines if "{" not in c]  # others are made at run time
    assert len(literal) > 8
    assert [(str(p.relative_to(ROOT)), c) for p, c in literal if unknown(c)] == []


def test_readme_begins_with_an_install():
    console = re.search(r"^```console\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert re.match(r"\$ make wheel .*\n\$ pip install dist/umiak-\*\.whl ", console[1])


def test_pythons_are_the_same_everywhere():
    versions = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    oldest, newest = versions[0], versions[-1]
    assert PROJECT["requires-python"] == f">={oldest}"
    assert f"Python {oldest}–{newest} on Linux" in (ROOT / "README.md").read_text()
    tools = build_requirements.read()["tool"]
    assert tools["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"
    assert tools["mypy"]["python_version"] == oldest


def make(*arguments: str) -> subprocess.CompletedProcess:
    """A run of make that knows nothing of one above it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)


def test_the_oldest_numpy_is_tested():
    (oldest,) = (r.partition(">=")[2] for r in PROJECT["dependencies"] if bare(r) == "numpy")
    assert f"'numpy=={oldest}.*'" in MAKEFILE
    assert "make --no-print-directory test-numpy1" in (ROOT / ".ci" / "run").read_text()


def test_make_says_which_python_it_needs(tmp_path):
    old = tmp_path / "python"
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "import sys; sys.version_info = (3, 9, 18)\n$2"\n')
    old.chmod(0o755)
    run = make("install", f"VENV={tmp_path}/env", f"PYTHON={old}")
    assert run.returncode
    assert "make requires Python 3.10 or later, got 3.9 (" in run.stderr
    assert not (tmp_path / "env").exists()


def test_make_help_lists_every_target():
    lines = make("help").stdout.splitlines()
    assert sorted(line.split()[1] for line in lines) == sorted(TARGETS)
    assert all(len(line.split(maxsplit=2)) == 3 for line in lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_make_targets_that_pages_name_exist(page):
    named = set(re.findall(r"(?:^\$ |`)make ([a-z][\w-]*)", page.read_text(), re.MULTILINE))
    assert named <= TARGETS


def test_demo_installs_no_tools_of_developers():
    (extras,) = re.findall(r"^\$\(DEMO\): EXTRAS := (.*)$", MAKEFILE, re.MULTILINE)
    assert {name for extra in extras.split(",") for name in required(extra)} == {"matplotlib"}


def test_every_dependency_has_its_reason():
    text = (ROOT / "docs" / "design" / "dependencies.md").read_text()
    explained = {name for row in re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE) for name in row.strip().split(", ")}
    build = build_requirements.read()["build-system"]["requires"]
    assert {bare(r) for r in [*build, *PROJECT["dependencies"]]} | OPTIONAL <= {bare(e) for e in explained}
