"""Enumerations of the core stand once: in Cython, from where Python has them."""

import ast
import re
from pathlib import Path

from umiak.core import context, dtype

ROOT = Path(__file__).parents[2]


def members(text: str) -> set[str]:
    """Names in the ``cdef enum`` blocks of a file of Cython."""
    found: set[str] = set()
    inside = False
    for line in text.splitlines():
        if line.strip() and not line.startswith(" "):
            inside = line.startswith("cdef enum")
        elif inside and (match := re.match(r" +([A-Z]\w*)\b", line)):
            found.add(match[1])
    return found


def constants(text: str) -> set[str]:
    """Names that a Python module gives numbers."""
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and not re.search(
            r"[A-Za-z]{2}", re.sub(r"\brange\b", "", ast.unparse(node.value))
        ):
            found |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    return found


def test_no_second_copy_in_python():
    """Of plans and observers not under a shorter name either: ``VIEW`` for ``PLAN_VIEW``."""
    shared = set().union(*(members(p.read_text()) for p in (ROOT / "umiak/core").glob("*.pxd")))
    assert {"AMP_MASK", "PLAN_VIEW", "OBSERVE_TRACE", "ACCESS_HOST", "KIND_VIEW"} <= shared
    kinds = {n.partition("_")[2] for n in shared if n.startswith(("PLAN_", "OBSERVE_"))}
    twice = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "umiak").rglob("*.py"))
        for name in constants(path.read_text())
        if name in shared | kinds
    ]
    assert not twice


def test_no_second_copy_in_cython():
    """Enumerations that modules of the core share have names of their own."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "umiak/core").glob("*.p[xy][dx]")):
        for name in members(path.read_text()):
            assert found.setdefault(name, path.name) == path.name, f"{name} in {found[name]} and {path.name}"


def test_the_mask_covers_what_amp_sets():
    ambient = context.current()
    before = ambient.amp()
    try:
        ambient.set_amp(0, 0)
        plain = ambient.plan_mode
        ambient.set_amp(2, 31, 65535)
        assert (ambient.plan_mode ^ plain) | context.AMP_MASK == context.AMP_MASK
        assert ambient.amp() == (2, 31, 65535)
        assert not plain & context.AMP_MASK and not context.AMP_MASK & context.MODE_GRAD
        assert len(dtype.all_dtypes()) <= 32
    finally:
        ambient.set_amp(*before)


def test_the_checks_see_copies():
    assert members("cdef enum:\n    A = 1   # B\n    C_D\n\ncdef int E = 3\n") == {"A", "C_D"}
    assert constants("A, B = range(2)\nC = 0xFF\nD = f(3)\nE = 'x'\n") >= {"A", "B", "C"}
