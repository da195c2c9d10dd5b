"""A public name is declared once, and lists, methods, stubs and keywords follow from its declaration."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import lazy_names
import public_stubs
import pytest

import paddle
from umiak.core.direct import Direct

ROOT = Path(__file__).parents[2]
ROWS = lazy_names.rows()
MODULES = json.loads((ROOT / "tests" / "data" / "tensor_modules.json").read_text())
ASKING = dict(lazy_names.asking())
FUNCTIONS = {row.name: row.value for row in ROWS if isinstance(row.value, Direct)}


def test_a_name_has_one_row_in_a_place():
    seen, twice = set(), []
    for row in ROWS:
        for place in row.exported_by:
            if (place, row.name) in seen:
                twice.append(f"{place}.{row.name}")
            seen.add((place, row.name))
    assert not twice
    assert len(seen) > 1500


def test_a_name_is_where_its_row_says():
    for row in ROWS:
        for place in row.exported_by:
            if place == "Tensor":
                assert inspect.getattr_static(paddle.Tensor, row.name) is row.value, row.name
            else:
                module = importlib.import_module(place)
                assert getattr(module, row.name) is row.value and row.name in module.__all__, (place, row.name)


def test_a_row_stands_where_its_value_is():
    """What is loaded lazily, or imported by a stub, is asked for at home."""
    for row in ROWS:
        if row.exported_by != ("Tensor",) and (isinstance(row.value, Direct) or inspect.isfunction(row.value)):
            assert vars(importlib.import_module(row.home))[row.name] is row.value, row


@pytest.mark.parametrize("module", [f"paddle.tensor.{name}" for name in ("creation", "linalg", "manipulation", "math")])
def test_a_module_of_several_families_has_all_their_names(module):
    """What its parts import for themselves does not stand in the place of a public name."""
    gathered = importlib.import_module(module)
    nodes = ast.parse(Path(gathered.__file__).read_text()).body
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    names = {(node.module, alias.name) for node in imports for alias in node.names}
    rows = [row for row in ROWS if {(row.home, "*"), (row.home, row.name)} & names]
    assert len(imports) > 4 and len(rows) > 40
    assert not [row.name for row in rows if getattr(gathered, row.name) is not row.value]


@pytest.mark.parametrize("module", MODULES)
def test_a_function_is_in_the_module_that_defines_it_in_the_reference(module):
    """``tests/data/tensor_modules.json`` has the functions of the reference's modules."""
    exporting = {"Tensor", "paddle", "paddle.tensor"}
    values = {row.name: row.value for row in ROWS if exporting.intersection(row.exported_by)}
    names = [name for name in MODULES[module].split() if name in values]
    assert len(names) > 6
    space = vars(importlib.import_module(module))
    assert not [name for name in names if space.get(name) is not values[name]]


def by_hand(path: Path) -> list[str]:
    """The names that a table of contents lists by hand: all but modules."""
    found = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and any(ast.unparse(t) == "__all__" for t in node.targets):
            found.append(f"line {node.lineno}: __all__")
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("paddle"):
            names = [a.name for a in node.names]
            found += [f"line {node.lineno}: {n}" for n in names if not importable(f"{node.module}.{n}")]
    return found


def importable(module: str) -> bool:
    path = ROOT.joinpath(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


INITS = sorted((ROOT / "paddle").rglob("__init__.py"))


@pytest.mark.parametrize("path", INITS, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_name_is_listed_by_hand(path):
    assert not by_hand(path)


def test_no_module_lists_its_names():
    paths = sorted((ROOT / "paddle").rglob("*.py"))
    assert len(paths) > 300
    naming = [p for p in paths if "__all__" in p.read_text()]
    assert not [str(p.relative_to(ROOT)) for p in naming if any("__all__" in line for line in by_hand(p))]


def test_functions_shadow_modules_that_stay_importable():
    for name in "spawn launch communication.broadcast communication.stream.reduce fleet.recompute.recompute".split():
        assert inspect.ismodule(importlib.import_module(f"paddle.distributed.{name}"))
    dist = paddle.distributed
    assert inspect.isfunction(dist.spawn) and inspect.isfunction(dist.launch)
    assert dist.stream is dist.communication.stream
    assert dist.communication.broadcast is dist.broadcast is not dist.stream.broadcast


def test_the_check_sees_lists(tmp_path):
    path = tmp_path / "__init__.py"
    path.write_text("from paddle.tensor import math\nfrom paddle.tensor.math import sum\n__all__ = ['sum']\n")
    assert by_hand(path) == ["line 2: sum", "line 3: __all__"]


def test_stubs_are_what_is_declared():
    """Run ``tools/public_stubs.py`` after a change."""
    made = public_stubs.formatted(public_stubs.made())
    old = [str(path.relative_to(ROOT)) for path, text in made.items() if not path.exists() or path.read_text() != text]
    assert not old and len(made) > 20


@pytest.mark.parametrize("name", FUNCTIONS)
def test_keywords(name):
    """Every other keyword stands for a parameter, and is refused beside it."""
    fn = FUNCTIONS[name]
    parameters = inspect.signature(fn).parameters
    for alias, parameter in fn._aliases.items():
        assert parameter in parameters and alias not in parameters
        assert f"``{alias}`` for {parameter}" in fn.__doc__
        with pytest.raises(TypeError, match=f"requires one of '{parameter}' and '{alias}', got both"):
            fn(**{alias: None, parameter: None})


def test_in_place_forms_are_named_after_what_they_write():
    forms = [row for row in ROWS if row.base is not None and row.value is not row.base]
    names = {row.name for row in ROWS}
    assert len(forms) > 100
    for row in forms:
        assert row.name.endswith("_") and row.name[:-1] in names and row.value.__name__ == row.name


def test_ops_of_functions_have_their_class_for_mixed_precision():
    classes = {row.value.op.amp for row in ROWS if isinstance(row.value, Direct) and row.value.op is not None}
    assert classes <= {"allow", "deny", "promote", "keep"} and paddle.matmul.op.amp == "allow"


PROGRAM = """
import paddle
import paddle.nn.functional as F

x = paddle.zeros(2, 3)
reveal_type(paddle.sum(x, dim=1))
reveal_type(x.reshape(3, 2).add_(paddle.add(input=x, other=2.0)))
reveal_type(F.softmax(paddle.linalg.inv(x), axis=-1))
reveal_type(paddle.nn.Linear(2, 3))
paddle.sum(x, wrong=1)
x.unknown()
"""


@pytest.mark.slow
def test_a_type_checker_understands_programs(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    options = ["--config-file=", "--follow-imports=silent", "--ignore-missing-imports", f"--cache-dir={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(program)], capture_output=True, text=True, cwd=ROOT
    )
    said = [line.split("program.py:")[1] for line in done.stdout.splitlines() if "program.py:" in line]
    shown = [line.partition('"')[2].rstrip('"') for line in said if "Revealed type" in line]
    assert shown == ["umiak.core.tensor.Tensor"] * 3 + ["paddle.nn.layer.common.Linear"], done.stdout
    errors = {line.partition(":")[0] for line in said if " error: " in line}
    assert errors == {"10", "11"}, done.stdout
