"""Enumerations stand once: in Cython, from where Python has them."""

import ast
import re
from pathlib import Path

from tests.support.syntax import Syntax
from umiak.compiler import codes, nest
from umiak.core import context, dtype, scalar
from umiak.ir.linearise import Opcode

ROOT = Path(__file__).parents[2]

# Numbers of Python modules that have the name of another thing's in Cython.
OTHERS = {
    "paddle/_public.py": "ROWS _MOST",
    "paddle/framework/tensor_type.py": "SELECTED_ROWS",
    "paddle/inference/kinds.py": "BFLOAT16 BOOL CPU FLOAT16 FLOAT32 FLOAT64 INT32 INT64 INT8 UINT8",
    "paddle/io/protocol.py": "BATCH",
    "paddle/profiler/names.py": "CPU",
    "paddle/static/formats/legacy/program.py": "SELECTED_ROWS",
    "paddle/static/formats/pir.py": "_FLOATS",
    "umiak/backends/cpu/aot/memory.py": "ALIGN WEIGHTS",
    "umiak/backends/cpu/attention_terms.py": "TERMS",
    "umiak/backends/cpu/few_rows_kernels.py": "FLOAT ROWS",
    "umiak/backends/cpu/low_bit_kernels.py": "INTS",
    "umiak/backends/cuda/providers/cudnn.py": "BIAS WEIGHTS",
    "umiak/backends/cuda/providers/cudnn_library.py": "ADD FORWARD RELU TENSOR",
    "umiak/backends/cuda/scaled_matmuls.py": "ALIGNED STRIP",
    "umiak/checkpoint/commands.py": "FAILED",
    "umiak/comm/buckets.py": "ALIGN SMALL",
    "umiak/comm/mpi.py": "SMALL",
    "umiak/compiler/algorithms/eigenvalues.py": "TERMS",
    "umiak/compiler/algorithms/orthogonal.py": "NOTHING",
    "umiak/compiler/algorithms/special.py": "SMALL",
    "umiak/compiler/jit/image.py": "ALIGN",
    "umiak/compiler/loop/tiles.py": "ROWS",
    "umiak/compiler/render/plan.py": "LONG",
    "umiak/compiler/render/scratch.py": "ALIGN",
    "umiak/compiler/schedule/unrolled.py": "LONG",
    "umiak/compiler/statistics.py": "ROWS",
    "umiak/masks/tiles.py": "SKIP TILE",
    # Opcodes go by name.
    "umiak/ir/linearise.py": "ADD AND BROADCAST EQ FLOORDIV LE LT MOD MUL NE NEG NOT OR SUB",
    "umiak/ops/pages.py": "ZERO",
    "umiak/ops/scalars.py": "INT64",
    "umiak/runtime/offload.py": "HOST",
    "umiak/spmd/context_parallel/simulation.py": "FORWARD",
}
CAPITALS = re.compile(r"(?<![\w.])_?[A-Z][A-Z0-9_]+\b")  # attributes of something else left out
LIMITS = {"FEW", "LONG", "MAX", "MOST"}  # what names begin with that are no family


def enumerations(text: str, begin: str = r" *(cdef )?enum\b") -> list[set[str]]:
    """Names in the ``enum`` blocks of a file of Cython."""
    found: list[set[str]] = []
    indent = None
    for line in text.splitlines():
        code = line.partition("#")[0].rstrip()
        if not code:
            continue
        depth = len(code) - len(code.lstrip())
        if re.match(rf"{begin}.*:$", code):
            indent = depth
            found.append(set())
        elif indent is not None and depth > indent:
            found[-1] |= set(re.findall(r"(?:^ +|, *)([A-Z]\w*)\b", code))
        else:
            indent = None
    return found


def members(text: str) -> set[str]:
    return set().union(*enumerations(text))


def families(text: str) -> set[str]:
    """The names without what three or more of a block begin with: ``VIEW`` of ``PLAN_VIEW``."""
    found = set()
    for block in enumerations(text):
        heads = [name.partition("_")[0] for name in block if "_" in name]
        shared = {head for head in heads if heads.count(head) > 2} - LIMITS
        found |= {name.partition("_")[2] for name in block if name.partition("_")[0] in shared}
    return found


def constants(text: str) -> set[str]:
    """Names that a Python module, or a class of it, gives numbers."""
    found = set()
    for node in Syntax(text).nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            capitals = {name for name in names if re.fullmatch(r"_?[A-Z][A-Z0-9_]+", name)}
            # The text of the value is made for these alone: to make it takes long.
            if capitals and not re.search(
                r"[A-Za-z]{2}", re.sub(r"\b(range|auto|enum)\b", "", ast.unparse(node.value))
            ):
                found |= capitals
    return found


def copies(text: str, shared: set[str], private: dict[str, set[str]]) -> set[str]:
    """Constants of a Python module that have the name of a shared number, or of one that a ``.pyx`` which it imports
    has for itself."""
    imported = {
        word for line in re.findall(r"^ *(?:from|import) .*", text, re.MULTILINE) for word in re.split(r"\W+", line)
    }
    names = shared.union(*(private[module] for module in imported & private.keys()))
    if names.isdisjoint(name.lstrip("_") for name in CAPITALS.findall(text)):  # most files, which need not be parsed
        return set()
    return {name for name in constants(text) if name.lstrip("_") in names}


def cython(folder: str) -> list[Path]:
    found = [p for p in (ROOT / folder).rglob("*") if p.suffix in (".pxd", ".pyx", ".pxi")]
    assert found
    return sorted(found)


def test_no_second_copy_in_python():
    """Of a family not under a shorter name either: ``VIEW`` for ``PLAN_VIEW``."""
    shared, private = set(), {}
    for path in cython("umiak"):
        names = members(path.read_text()) | families(path.read_text())
        if path.suffix == ".pyx":
            private[path.stem] = names
        else:
            shared |= names
    assert {"AMP_MASK", "PLAN_VIEW", "VIEW", "OBSERVE_TRACE", "ACCESS_HOST", "KIND_VIEW"} <= shared
    assert {"TARGET", "USE_BLAS", "BLAS", "ROW_BLOCKS", "UNIT", "CHUNK_ROWS"} <= shared
    twice = {
        (str(path.relative_to(ROOT)), name)
        for package in ("umiak", "paddle")
        for path in (ROOT / package).rglob("*.py")
        for name in copies(path.read_text(), shared, private)
    }
    assert twice == {(path, name) for path, names in OTHERS.items() for name in names.split()}


def test_no_second_copy_in_cython():
    """What a folder defines has a name of its own; enumerations of C headers may be declared wherever they are used."""
    for folder in ("umiak/core", "umiak/compiler", "umiak/backends/cpu/providers"):
        found: dict[str, str] = {}
        for path in cython(folder):
            for name in set().union(*enumerations(path.read_text(), "cdef enum")):
                assert found.setdefault(name, path.name) == path.name, f"{name} in {found[name]} and {path.name}"


def test_schedules_and_opcodes_go_by_name():
    names = {nest.MAP, nest.TILE, nest.ROW, nest.COLUMN, nest.STRIP, nest.SPLIT_ROW, nest.SPLIT_COLUMN}
    assert {*codes.SCHEDULES.values()} == names and len(codes.SCHEDULES) == len(names)
    assert {*Opcode.__members__} == {*scalar.NAMES}


def test_the_mask_covers_what_amp_sets():
    ctx = context.current()
    before = ctx.amp()
    try:
        ctx.set_amp(0, 0)
        plain = ctx.plan_mode
        ctx.set_amp(2, 31, 65535)
        assert (ctx.plan_mode ^ plain) | context.AMP_MASK == context.AMP_MASK
        assert ctx.amp() == (2, 31, 65535)
        assert not plain & context.AMP_MASK and not context.AMP_MASK & context.MODE_GRAD
        assert len(dtype.all_dtypes()) <= 32
    finally:
        ctx.set_amp(*before)


def test_the_checks_see_copies():
    assert members("cdef enum:\n    A = 1   # B\n    C_D, E_F\n\ncdef int E = 3\n") == {"A", "C_D", "E_F"}
    assert members('cdef extern from "x.h":\n    enum:\n        AB, CD\n    int F(int E)\n') == {"AB", "CD"}
    assert families("cdef enum E:\n    USE_A = 1\n    USE_B = 2\n    USE_C_D\n    OTHER_E\n") == {"A", "B", "C_D"}
    code = "from umiak.core import box\nSIZE = 3\n_EDGE = 4\n"
    assert copies(code, {"EDGE"}, {"box": {"SIZE"}}) == {"SIZE", "_EDGE"}
    assert copies(code, set(), {"chest": {"SIZE"}}) == set()
    found = constants("A1, B1 = range(2)\nC1 = 0xFF\nD1 = call(3)\nE1 = 'text'\nclass F1:\n    _G1: int = 7\n")
    assert found == {"A1", "B1", "C1", "_G1"}
