"""Attributes of typed objects in Cython are those that their classes have.

Cython takes an attribute that the class does not declare for one of Python, without a word, and looks it up when the
code runs: a field that is renamed in one place alone compiles, and fails, or is slow, much later.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from Cython.Compiler import Main, ParseTreeTransforms, Pipeline
from Cython.Compiler.Options import CompilationOptions, default_options
from Cython.Compiler.PyrexTypes import PyrexType
from Cython.Compiler.Visitor import TreeVisitor

ROOT = Path(__file__).parents[2]
# What subclasses in Python define: ops, the public methods of a tensor, calls of captured functions.
OF_SUBCLASSES = {
    "OpBase": {"dtype", "elementwise", "inputs", "name", "overwritable", "param_fields"},
    "Tensor": {"_construct"},
    "CapturedRun": {
        "_differentiable_gradients",
        "_drawn",
        "_history_of",
        "_holds",
        "_plain",
        "_recording",
        "_rows",
        "_with_rows",
        "_zeros",
    },
    "FrameCall": {"_failed", "_general"},
    "OperatorCall": {"_general", "_varied", "_with_gradient"},
}


class _Attributes(TreeVisitor):
    """The attributes that are looked up by Python in objects of classes that Cython knows."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, PyrexType, str]] = []

    def visit_Node(self, node) -> None:
        self.visitchildren(node)

    def visit_AttributeNode(self, node) -> None:
        self.visitchildren(node)
        type = node.obj.type
        if node.is_py_attr and type.is_extension_type and type.scope is not None and not type.is_builtin_type:
            if type.scope.lookup_here(node.attribute) is None:
                self.found.append((node.pos[1], type, str(node.attribute)))


@cache
def directives() -> dict[str, bool]:
    """What the build compiles with."""
    listed = (ROOT / "meson.build").read_text().partition("foreach directive : [")[2].partition("]")[0]
    return {name: value == "True" for name, value in re.findall(r"'(\w+)=(\w+)'", listed) if name != "language_level"}


def looked_up(path: Path, root: Path = ROOT) -> list[tuple[int, PyrexType, str]]:
    options = CompilationOptions(
        default_options, include_path=[str(root)], language_level=3, compiler_directives=directives()
    )
    context = Main.Context.from_options(options)
    name = ".".join(path.relative_to(root).with_suffix("").parts)
    source = Main.setup_source_object(str(path), ".pyx", name, options, context)
    result = Main.create_default_resultobj(source, options)
    stages = Pipeline.create_pyx_pipeline(context, options, result)
    last = next(i for i, s in enumerate(stages) if isinstance(s, ParseTreeTransforms.AnalyseExpressionsTransform))
    context.setup_errors(options, result)
    error, tree = Pipeline.run_pipeline(stages[: last + 1], source)
    if error:
        raise error
    visitor = _Attributes()
    visitor.visit(tree)
    return visitor.found


@cache
def declared(module: str, name: str, root: Path = ROOT) -> set[str]:
    """The methods and properties of a class in its module, and what the stub says of it."""
    path = root.joinpath(*module.split("."))
    text = path.with_suffix(".pyx").read_text()
    body = re.split(r"^\S", text.partition(f"cdef class {name}")[2].partition(":")[2], maxsplit=1, flags=re.MULTILINE)[
        0
    ]
    found = set(re.findall(r"^    def (\w+)", body, re.MULTILINE))
    if path.with_suffix(".pyi").exists():
        for node in ast.parse(path.with_suffix(".pyi").read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                found |= {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
                found |= {
                    n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
                }
    return found


def unknown(path: Path, root: Path = ROOT) -> list[str]:
    found = []
    for line, type, attribute in looked_up(path, root):
        module, name = type.module_name, type.name
        if module.split(".")[0] == "numpy":  # its classes are declared without their methods
            continue
        if attribute not in declared(module, name, root) | OF_SUBCLASSES.get(name, set()):
            found.append(f"{path.relative_to(root)}:{line}: {name}.{attribute}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["core", "backends", "memory", "runtime", "util", "compiler"])
def test_attributes_are_declared(folder):
    paths = sorted((ROOT / "umiak" / folder).rglob("*.pyx"))
    assert paths
    assert not [line for path in paths for line in unknown(path)]


def test_every_folder_with_cython_is_checked():
    checked = test_attributes_are_declared.pytestmark[0].args[1]
    assert {p.relative_to(ROOT / "umiak").parts[0] for p in (ROOT / "umiak").rglob("*.pyx")} == set(checked)


def test_the_check_sees_a_field_that_was_renamed(tmp_path):
    (tmp_path / "box.pxd").write_text("cdef class Box:\n    cdef int size\n")
    (tmp_path / "box.pyx").write_text(
        "cdef class Box:\n    @property\n    def area(self):\n        return self.size * self.width\n\n"
        "def double(Box b):\n    return b.area + b.size + b.sice\n"
    )
    assert unknown(tmp_path / "box.pyx", tmp_path) == ["box.pyx:4: Box.width", "box.pyx:7: Box.sice"]
