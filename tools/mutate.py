"""Mutation testing: which small mistakes in the engine the tests notice.

``python tools/mutate.py`` makes mistakes one at a time (a comparison inverted, a number off by one, a statement
left out, ...) and runs the narrow tests of the place. A mistake after which all of them pass has survived: a test is
missing, or the mistake changes nothing that counts, and then ``tests/data/mutants.txt`` says why.

Tests are imported and collected once. A process is forked for each mutant, which gets the code of the changed functions
in place of the old one, so that a mutant costs what its tests cost. What runs at import is not mutated, nor are texts,
annotations and the samples that tests are made from.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import gc
import importlib
import itertools
import json
import os
import random
import select
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
EXPLAINED = ROOT / "tests" / "data" / "mutants.txt"

# --- mistakes --------------------------------------------------------------------------------------------------------

COMPARED: dict[type, type] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}  # fmt: skip
# Calls whose arguments are the words of an error.
WORDS = {"fail", "op_error", "require", "warn"}
# Which of two arguments comes first says nothing here.
SYMMETRIC = {"add", "mul", "maximum", "minimum", "eq", "ne", "logical_and", "logical_or", "broadcast", "max", "min"}
LEFT_OUT = {"samples", "cases", "__repr__", "__str__"}
# What makes the records runs when they are imported, before any mutant.
AT_IMPORT = {
    "OpMeta",
    "bind",
    "register",
    "_join",
    "_shared",
    "_make_function",
    "unary",
    "binary",
    "compare",
    "logical",
    "pairwise",
    "formula",
}

Change = Callable[[Any], "ast.AST | None"]


def negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def with_field(name: str, value: Any) -> Change:
    def change(node: Any) -> ast.AST:
        setattr(node, name, value(getattr(node, name)))
        return node

    return change


def exchanged(i: int, value: Any) -> Callable[[list], list]:
    return lambda items: [*items[:i], value, *items[i + 1 :]]


def changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """The mistakes that can be made in one node: what each is called, and the node instead (None: left out)."""
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            other = COMPARED[type(op)]
            yield f"{type(op).__name__} is {other.__name__}", with_field("ops", exchanged(i, other()))
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        other = ARITHMETIC[type(node.op)]
        yield f"{type(node.op).__name__} is {other.__name__}", with_field("op", lambda _: other())
    elif isinstance(node, ast.AugAssign):
        yield "left out", lambda n: None
    elif isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} is {other.__name__}", with_field("op", lambda _: other())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield f"without {type(node.op).__name__}", lambda n: n.operand
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield f"{node.value} is {not node.value}", lambda n: ast.Constant(not n.value)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield f"{node.value} plus 1", lambda n: ast.Constant(n.value + 1)
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)) and not (
        isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
    ):
        yield "condition negated", with_field("test", negated)
    elif isinstance(node, ast.comprehension):
        for i, test in enumerate(node.ifs):
            yield "condition negated", with_field("ifs", exchanged(i, negated(test)))
    elif isinstance(node, ast.Return) and node.value is not None:
        if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield "returns None", with_field("value", lambda _: ast.Constant(None))
    elif isinstance(node, ast.Raise) or (
        isinstance(node, ast.Expr) and not isinstance(node.value, (ast.Constant, ast.Yield, ast.YieldFrom))
    ):
        yield "left out", lambda n: None
    elif isinstance(node, ast.Assign):
        if isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
            yield "left out", lambda n: None
    elif isinstance(node, ast.Call) and called(node) not in WORDS:
        first = [ast.dump(a) for a in node.args[:2] if not isinstance(a, ast.Starred)]
        if len(set(first)) == 2 and called(node) not in {*SYMMETRIC, "isinstance", "getattr", "zip"}:
            yield "two arguments swapped", with_field("args", lambda a: [a[1], a[0], *a[2:]])
        for i, k in enumerate(node.keywords):
            if k.arg is not None and k.arg != "strict":
                yield f"without {k.arg}=", with_field("keywords", lambda ks, i=i: [*ks[:i], *ks[i + 1 :]])


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


class Place(ast.NodeTransformer):
    """Puts another node in the place of one."""

    def __init__(self, old: ast.AST, change: Change) -> None:
        self.old, self.change = old, change

    def visit(self, node: ast.AST) -> Any:
        if node is not self.old:
            return self.generic_visit(node)
        made = self.change(node)
        if made is None:
            made = ast.Pass()
        return ast.copy_location(made, node)


@dataclass(frozen=True)
class Mutant:
    module: str
    where: str  # the function
    line: int
    node: int  # by number, in the order of ast.walk
    number: int  # of the node's mistakes
    what: str
    text: str
    count: int = 0  # of mistakes with the same words in the same function before this one

    @property
    def key(self) -> str:
        """The same as long as the code is, wherever it stands."""
        short = self.module.removeprefix("umiak.")
        return f"{short} {self.where}: {self.text!r} {self.what}" + (f" #{self.count + 1}" if self.count else "")


def source_of(module: str) -> tuple[str, str]:
    path = importlib.import_module(module).__file__
    assert path is not None
    return path, Path(path).read_text()


def mutants_of(module: str) -> list[Mutant]:
    _, source = source_of(module)
    tree = ast.parse(source)
    numbers = {id(n): i for i, n in enumerate(ast.walk(tree))}
    found: list[Mutant] = []
    counts: collections.Counter[tuple] = collections.Counter()

    def enter(node: ast.AST, where: str) -> None:
        for number, (what, _) in enumerate(changes(node)):
            text = ast.unparse(node).split("\n")[0][:70]
            alike = (where, what, text)
            line = getattr(node, "lineno", 0) or next((n.lineno for n in ast.walk(node) if isinstance(n, ast.expr)), 0)
            found.append(Mutant(module, where, line, numbers[id(node)], number, what, text, counts[alike]))
            counts[alike] += 1

    def walk(node: ast.AST, where: str, inside: bool) -> None:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if node.name in LEFT_OUT or node.name.endswith(("samples", "cases")):
                return
            where = f"{where}.{node.name}" if where else node.name
            inside = isinstance(node, ast.FunctionDef) and node.name not in AT_IMPORT
            if node.name in AT_IMPORT and isinstance(node, ast.ClassDef):
                return
            for child in node.body:
                walk(child, where, inside)
            return
        if inside:
            enter(node, where)
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and called(node) in WORDS):
            # A condition may stand among the words.
            if isinstance(node, ast.Call) and called(node) == "require":
                walk(node.args[1], where, inside)
            return
        if isinstance(node, ast.AnnAssign):
            return walk(node.value, where, inside) if node.value is not None else None
        if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: an invariant
            return
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.JoinedStr, ast.arguments)):
                walk(child, where, inside)

    walk(tree, "", False)
    return found


def compiled(module: str, mutant: Mutant | None = None) -> types.CodeType:
    """The code of a module, with one mistake."""
    path, source = source_of(module)
    closures = {(c.co_name, c.co_firstlineno): c.co_freevars for c in codes(compile(source, path, "exec"))}
    tree: Any = ast.parse(source)
    if mutant is not None:
        node = list(ast.walk(tree))[mutant.node]
        _, change = list(changes(node))[mutant.number]
        tree = Place(node, change).visit(tree)
    for f in ast.walk(tree):
        if isinstance(f, ast.FunctionDef):
            names = closures.get((f.name, min(n.lineno for n in (f, *f.decorator_list))), ())
            # Code in the place of another one closes over the same variables, whether it still reads them or not.
            f.body += ast.parse(f"if False: ({', '.join(names)},)").body if names else []
    return compile(ast.fix_missing_locations(tree), path, "exec")


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from codes(c)


def name_of(code: types.CodeType) -> tuple:
    return code.co_filename, getattr(code, "co_qualname", code.co_name), code.co_firstlineno


def apply(mutant: Mutant, functions: dict[tuple, list[types.FunctionType]]) -> bool:
    """Give the functions that exist their new code; False where none is changed."""
    there = list(codes(compiled(mutant.module)))
    counts = collections.Counter(map(name_of, there))
    old = {name_of(c): c for c in there if counts[name_of(c)] == 1}  # not two lambdas of one line
    # Code differs where code inside it does: of a comprehension, say, which is no function of its own.
    changed = [c for c in codes(compiled(mutant.module, mutant)) if name_of(c) in old and c != old[name_of(c)]]
    for new in changed:
        for function in functions.get(name_of(new), ()):
            try:
                function.__code__ = new
            except ValueError:  # a lambda that closes over fewer variables
                return False
    return any(name_of(new) in functions for new in changed)


def living_functions(modules: list[str]) -> dict[tuple, list[types.FunctionType]]:
    """The functions of modules by the name of their code, those that are made by others included."""
    files = {source_of(m)[0] for m in modules}
    found: dict[tuple, list[types.FunctionType]] = {}
    for x in gc.get_objects():
        if type(x) is types.FunctionType and x.__code__.co_filename in files:
            found.setdefault(name_of(x.__code__), []).append(x)
    return found


# --- tests of a place ------------------------------------------------------------------------------------------------

# Files whose tests concern whole modules, in the order in which they run.
OF_MODULES: dict[str, list[str]] = {
    "umiak.compiler.simplify": [
        "tests/compiler/test_simplify.py", "tests/runtime/test_executor.py", "tests/jit", "tests/fuzz",
    ],
    "umiak.autodiff.graph": [
        "tests/autodiff", "tests/ir/test_graph.py", "tests/jit", "tests/paddle/test_incubate_autograd.py",
        "tests/core/test_tape.py", "tests/runtime/test_executor.py", "tests/fuzz",
    ],
    "umiak.autodiff.rules": [
        "tests/autodiff", "tests/ir/test_graph.py", "tests/core/test_tape.py", "tests/jit", "tests/amp/test_amp.py",
        "tests/fuzz",
    ],
    "umiak.autodiff.saved": [
        "tests/paddle/test_saved_tensors.py", "tests/paddle/test_pylayer.py", "tests/paddle/test_recompute.py",
        "tests/jit/test_python_gradients.py", "tests/fuzz",
    ],
    "umiak.autodiff.recompute": ["tests/paddle/test_recompute.py", "tests/jit", "tests/fuzz"],
    "umiak.ops.base": [
        "tests/core/test_plan.py", "tests/core/test_errors.py", "tests/core/test_dispatch.py", "tests/ops/test_meta.py",
    ],
    "umiak.ops.promotion": [
        "tests/paddle/test_promotion.py", "tests/paddle/test_calls.py", "tests/paddle/test_methods.py",
        "tests/paddle/test_scalars.py",
    ],
    "umiak.ops.scalars": [
        "tests/paddle/test_scalars.py", "tests/paddle/test_promotion.py", "tests/core/test_dispatch.py",
    ],
    "umiak.spmd.placement": ["tests/spmd"],
    "umiak.spmd.rule": ["tests/spmd"],
    "umiak.spmd.propagate": ["tests/spmd"],
    "umiak.spmd.local": ["tests/spmd"],
    "umiak.ops.custom": ["tests/ops/test_custom.py"],
    "umiak.ops.collective": [
        "tests/spmd/test_rule.py", "tests/ops/test_meta.py::test_messages",
        "tests/paddle/distributed/test_collectives.py::test_virtual_ranks",
    ],
}  # fmt: skip
# Where ops are tested: by the samples, and wherever a test has the op's name.
OF_OPS = [
    "tests/ops", "tests/spmd/test_sharded.py", "tests/ir/test_every_op.py",
    "tests/paddle/test_gradients.py", "tests/paddle/test_calls.py",
    "tests/nn/test_functional.py", "tests/nn/test_losses.py", "tests/paddle/test_linalg.py", "tests/paddle/test_fft.py",
    "tests/paddle/test_indexing.py", "tests/paddle/test_creation.py", "tests/core/test_foreach.py",
    "tests/backends/test_pooling.py", "tests/backends/test_cpu_search.py", "tests/backends/test_attention.py",
    "tests/optimizer/test_optimizers.py", "tests/nn/test_rnn.py", "tests/nn/test_rnn_decode.py",
    "tests/nn/test_fractional_pooling.py", "tests/paddle/test_random.py", "tests/paddle/test_signal.py",
]  # fmt: skip
MOST_OPS = 12  # of those that use a helper
MOST_TESTS = 400


class Uses:
    """Ops that a function or class of ``umiak.ops`` serves."""

    def __init__(self) -> None:
        from umiak import ops

        self.classes = {cls.__name__: cls for cls in ops.REGISTRY.values()}
        self.users: dict[str, set[str]] = {}
        for path in sorted((ROOT / "umiak" / "ops").glob("*.py")):
            for node in ast.parse(path.read_text()).body:
                names = [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
                if isinstance(node, (ast.Assign, ast.AnnAssign)):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names = [t.id for t in targets if isinstance(t, ast.Name)]
                for name in names:
                    for part in ast.walk(node):
                        used = part.id if isinstance(part, ast.Name) else None
                        if used and used != name:
                            self.users.setdefault(used, set()).add(name)

    def ops(self, name: str) -> list[str]:
        """Names of ops, the nearest first."""
        found: list[str] = []
        seen, level = {name}, [name]
        while level:
            for n in level:
                if n in self.classes:
                    cls = self.classes[n]
                    found += [o.name for o in self.classes.values() if issubclass(o, cls) and o.name not in found]
            level = sorted({u for n in level for u in self.users.get(n, ())} - seen)
            seen.update(level)
        return found


class Chosen:
    """Collected tests by file and by the words of their names."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.uses = Uses()
        self.by_op: dict[str, list[Any]] = collections.defaultdict(list)
        known = {cls.name for cls in self.uses.classes.values()}
        for item in items:
            if not item.nodeid.startswith(tuple(OF_OPS)):
                continue
            text = item.nodeid.partition("::")[2]
            inner = text.partition("[")[2].rstrip("]")
            words = {inner.split("-")[0], *text.replace("[", "_").replace("]", "").replace("-", "_").split("_")}
            for name in known & words if not item.nodeid.startswith("tests/ops/") else known & {inner, text}:
                self.by_op[name].append(item)
            for name in known:
                if "_" in name and name in text and item not in self.by_op[name]:
                    if not item.nodeid.startswith("tests/ops/"):
                        self.by_op[name].append(item)

    def of(self, mutant: Mutant) -> list[Any]:
        files = OF_MODULES.get(mutant.module, [])
        own = {i.nodeid: i for f in files for i in self.items if i.nodeid.startswith(f)}
        if own and mutant.module != "umiak.ops.collective":
            return list(own.values())
        names = self.uses.ops(mutant.where.split(".")[0])
        if not names:
            from umiak import ops

            names = [n for n, cls in ops.REGISTRY.items() if cls.__module__ == mutant.module]
        found = own
        for name in names[:MOST_OPS]:
            found |= {i.nodeid: i for i in self.by_op[name]}
        # Random numbers have tests of their own, by kind.
        if mutant.module == "umiak.ops.random":
            found |= {i.nodeid: i for i in self.items if "tests/ops/test_random" in i.nodeid}
        return list(found.values())[:MOST_TESTS]


# --- runs ------------------------------------------------------------------------------------------------------------


def run_items(items: list[Any], note: Callable[[dict], None], seconds: float) -> None:
    """Run tests in this process until one fails or the time is over, and note how many ran and which failed."""
    from _pytest.runner import runtestprotocol

    end = time.monotonic() + seconds
    for k, item in enumerate(items):
        if time.monotonic() > end:
            note({"ran": k})
            return
        following = items[k + 1] if k + 1 < len(items) else None
        failed = [r for r in runtestprotocol(item, log=False, nextitem=following) if r.failed]
        if failed:
            note({"test": item.nodeid, "why": str(failed[0].longrepr).strip().splitlines()[-1][:200]})
            return
    note({"ran": len(items)})


def forked(work: Callable[[Callable[[dict], None]], None], limit: float) -> tuple[list[dict], str]:
    """Run some work in a child process; return what it notes, and how it ended: ``done``, ``died`` or ``late``."""
    read, write = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            os.close(read)
            silent = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(silent, fd)
            work(lambda x: os.write(write, json.dumps(x).encode() + b"\n") and None)
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    data, end = b"", time.monotonic() + limit
    while True:
        ready, _, _ = select.select([read], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            break
        part = os.read(read, 1 << 16)
        if not part:
            break
        data += part
    os.close(read)
    late = time.monotonic() >= end
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL) if late else None
    _, status = os.waitpid(child, 0)
    ended = "late" if late else "done" if os.waitstatus_to_exitcode(status) == 0 else "died"
    return [json.loads(line) for line in data.splitlines() if line.endswith(b"}")], ended


@dataclass
class Result:
    mutant: Mutant
    fate: str  # killed, survived, same: the tool changed nothing
    by: str = ""
    seconds: float = 0.0


class Run:
    """A pytest plugin: instead of running the collected tests once, runs some of them for each mutant."""

    def __init__(self, chosen: list[Mutant], limit: float, minutes: float) -> None:
        self.mutants, self.limit, self.minutes = chosen, limit, minutes
        self.results: list[Result] = []
        self.sound: dict[str, bool] = {}

    def say(self, text: str) -> None:
        print(text, flush=True)

    def pytest_runtestloop(self, session: Any) -> bool:
        chosen = Chosen(session.items)
        tests = {m: chosen.of(m) for m in self.mutants}
        self.say(f"{len(session.items)} tests collected for {len(self.mutants)} mutants")
        functions = living_functions(sorted({m.module for m in self.mutants}))
        end = time.monotonic() + 60 * self.minutes
        for k, m in enumerate(self.mutants):
            if time.monotonic() > end:
                break
            result = self.one(m, tests[m], functions)
            self.results.append(result)
            place = f"{k + 1}/{len(self.mutants)} {result.fate} ({result.seconds:.1f} s)"
            self.say(f"{place} {m.key} [{m.line}] {result.by}")
        return True

    def one(self, m: Mutant, items: list[Any], functions: dict) -> Result:
        start = time.monotonic()

        def work(note: Callable[[dict], None]) -> None:
            if apply(m, functions):
                run_items(items, note, self.limit)
            else:
                note({"same": True})

        while True:
            notes, ended = forked(work, 2 * self.limit + 30)
            seconds = time.monotonic() - start
            found = notes[0] if notes else {}
            if "same" in found:
                return Result(m, "same", "the code of no function", seconds)
            if not found:
                return Result(m, "killed", f"the process {ended}", seconds)
            if "ran" in found:
                return Result(m, "survived", f"{found['ran']} of {len(items)} tests", seconds)
            item = next(i for i in items if i.nodeid == found["test"])
            if self.passes(item):
                return Result(m, "killed", f"by {found['test']}: {found['why']}", seconds)
            items = [i for i in items if i is not item]

    def passes(self, item: Any) -> bool:
        """Return whether a test passes without a mutant: else its failure says nothing."""
        if item.nodeid not in self.sound:
            notes, _ = forked(lambda note: run_items([item], note, self.limit), 2 * self.limit + 30)
            self.sound[item.nodeid] = bool(notes) and "ran" in notes[0]
            if not self.sound[item.nodeid]:
                self.say(f"fails without a mutant: {item.nodeid} {notes}")
        return self.sound[item.nodeid]


def all_modules() -> list[str]:
    ops = [f"umiak.ops.{p.stem}" for p in sorted((ROOT / "umiak" / "ops").glob("*.py")) if p.stem != "__init__"]
    return [*(m for m in OF_MODULES if m not in ops), *ops]


def explanations() -> dict[str, str]:
    """Read the reasons for which mutants may survive, by key: lines of ``reason`` over indented keys."""
    found, reason = {}, ""
    for line in EXPLAINED.read_text().splitlines() if EXPLAINED.exists() else ():
        if line.startswith(" "):
            found[line.strip()] = reason
        elif not line.startswith("#"):
            reason = line.strip()
    return found


def draw(modules: list[str], each: int, seed: int) -> list[Mutant]:
    """Mutants of every module, drawn from the seed and the module's name: one of each in turn, so that a run that ends
    early has seen all modules alike."""
    pools = []
    for module in modules:
        pool = mutants_of(module)
        random.Random(f"{seed}/{module}").shuffle(pool)
        # More of a module that has its own tests than of a family of ops.
        pools += [pool[k::4][:each] for k in range(4)] if not module.startswith("umiak.ops.") else [pool[:each]]
    return [m for row in itertools.zip_longest(*pools) for m in row if m is not None]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="such as umiak.ops.norm; default: all that are mutated")
    parser.add_argument("--each", type=int, default=10, help="mutants of each family of ops; four times of others")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=25.0, help="seconds, after which no further test starts")
    parser.add_argument("--minutes", type=float, default=1e9, help="after which no further mutant starts")
    parser.add_argument("--list", action="store_true", help="only say which mutants there are")
    parser.add_argument("--again", type=Path, help="results of a former run: only the mutants that survived it")
    parser.add_argument("--key", help="only mutants whose key contains this")
    parser.add_argument("--out", type=Path, help="also write the results there, as JSON")
    options = parser.parse_args(argv)

    # Kernels of wrong programs do not go where others look, and one thread is forked.
    os.environ.setdefault("FLAGS_jit_cache_folder", str(ROOT / "build" / "mutants"))
    os.environ["UMIAK_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT)]
    import pytest

    import paddle  # noqa: F401  all modules are there before functions are looked up
    from umiak.backends.cpu import providers

    providers.before_gomp = lambda: None  # refused in a forked child, whose parent might have had threads; this has not

    modules = options.modules or all_modules()
    mutants = draw(modules, options.each, options.seed)
    if options.key:
        mutants = [m for module in modules for m in mutants_of(module) if options.key in m.key]
    former: list[Result] = []
    if options.again is not None:
        there = {m.key: m for module in modules for m in mutants_of(module)}
        rows = [r for r in json.loads(options.again.read_text()) if r["key"] in there]
        mutants = [there[r["key"]] for r in rows if r["fate"] == "survived"]
        former = [Result(there[r["key"]], r["fate"], r["by"], r["s"]) for r in rows if r["fate"] != "survived"]
    if options.list:
        print("\n".join(m.key for m in mutants), f"\n{len(mutants)} mutants")
        return 0
    files = sorted({f.partition("::")[0] for m in modules for f in [*OF_MODULES.get(m, OF_OPS), "tests/ops"]})
    present = [f for f in files if (ROOT / f).exists()]
    run = Run(mutants, options.limit, options.minutes)
    code = pytest.main(
        ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-s", "-m", "not slow", *present], plugins=[run]
    )
    return report([*former, *run.results], options.out) if run.results else int(code)


def report(results: list[Result], out: Path | None) -> int:
    known = explanations()
    by_module: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for r in results:
        fate = "explained" if r.fate == "survived" and r.mutant.key in known else r.fate
        by_module[r.mutant.module][fate] += 1
    total = sum(by_module.values(), collections.Counter())
    for module, counts in [*by_module.items(), ("in all", total)]:
        print(f"{module:32} " + ", ".join(f"{n} {fate}" for fate, n in sorted(counts.items())))
    open_ones = [r for r in results if r.fate == "survived" and r.mutant.key not in known]
    for r in open_ones:
        print(f"{r.fate}: {r.mutant.key} [{r.mutant.line}]")
    decided = total["killed"] + total["survived"] + total["explained"]
    print(f"{total['killed']} of {decided} killed ({100 * total['killed'] / max(1, decided):.1f} %)")
    if out is not None:
        rows = [
            {"key": r.mutant.key, "line": r.mutant.line, "fate": r.fate, "by": r.by, "s": r.seconds} for r in results
        ]
        out.write_text(json.dumps(rows, indent=1) + "\n")
    return int(total["killed"] < 0.9 * decided)


if __name__ == "__main__":
    raise SystemExit(main())
