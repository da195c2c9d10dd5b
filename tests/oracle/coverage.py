"""How many calls each public function of the reference has.

    python -m tests.oracle.coverage [MODULE ...]

prints, by module, how many functions have `CALLS_EACH` calls or more, and the names of those of the given modules that
have fewer. A function, a class and a method of tensors count alike; a name that is another's alias shares its calls,
and a call counts for every public function that it names. `uncovered.txt` has those that need none, with the reason.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import paddle

sys.path.append(str(Path(__file__).parents[2] / "tools"))

import api_surface

UNCOVERED = Path(__file__).with_name("uncovered.txt")
CALLS_EACH = 3
# What stands for modules in the text of a call.
SHORT = {
    "P": "paddle", "paddle": "paddle", "F": "paddle.nn.functional", "V": "paddle.vision.transforms",
    "T": "paddle.to_tensor",
}  # fmt: skip
MODULES = (
    "Tensor", "paddle", "paddle.amp", "paddle.autograd", "paddle.compat", "paddle.compat.nn",
    "paddle.compat.nn.functional", "paddle.device", "paddle.distribution", "paddle.fft", "paddle.geometric",
    "paddle.incubate", "paddle.incubate.asp", "paddle.incubate.autograd", "paddle.incubate.layers",
    "paddle.incubate.optimizer", "paddle.incubate.optimizer.functional", "paddle.io", "paddle.linalg", "paddle.metric",
    "paddle.nn", "paddle.nn.functional", "paddle.nn.init", "paddle.nn.initializer", "paddle.nn.quant",
    "paddle.nn.utils", "paddle.optimizer", "paddle.optimizer.lr", "paddle.regularizer", "paddle.signal",
    "paddle.sparse", "paddle.sparse.nn", "paddle.sparse.nn.functional", "paddle.special", "paddle.tensor",
    "paddle.utils", "paddle.vision.transforms",
)  # fmt: skip


def named(text: str) -> tuple[set[str], set[str]]:
    """The dotted names from a module on, and the names of methods, that a call has."""
    dotted, methods = set(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and node.id in SHORT:
            dotted.add(SHORT[node.id])
        if not isinstance(node, ast.Attribute):
            continue
        methods.add(node.attr)
        parts, value = [node.attr], node.value
        while isinstance(value, ast.Attribute):
            parts.append(value.attr)
            value = value.value
        if isinstance(value, ast.Name) and value.id in SHORT:
            dotted.add(".".join([SHORT[value.id], *reversed(parts)]))
    return dotted, methods


def resolved(name: str) -> Any:
    value = paddle
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    return value


def listed_names() -> Iterator[tuple[str, str, Any]]:
    """(module, full name, value) of what can be called and is there."""
    surface = api_surface.read()
    for module in MODULES:
        for name, value in api_surface.present(api_surface.find(module), surface[module]):
            called = callable(getattr(value, "__func__", value)) and not isinstance(value, property)
            if called and not name.name.startswith("_"):
                yield module, f"{module}.{name.name}", value


def counts(texts: Iterable[str]) -> dict[str, Counter[str]]:
    """By module, how many calls each function has."""
    by_object: Counter[int] = Counter()
    by_method: Counter[str] = Counter()
    by_name: Counter[str] = Counter()
    objects: dict[str, Any] = {}
    for text in texts:
        dotted, methods = named(text)
        by_name.update(dotted)
        by_method.update(methods)
        by_object.update({id(objects.setdefault(name, resolved(name))) for name in dotted})
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for module, full, value in listed_names():
        last = full.rpartition(".")[2]
        # A function that works in place, and whatever else has the name of a method, is that method.
        is_method = module == "Tensor" or (last.endswith("_") and hasattr(paddle.Tensor, last))
        found[module][full] = max(by_object[id(value)], by_name[full], by_method[last] if is_method else 0)
    return found


def uncovered() -> dict[str, str]:
    """The names of `uncovered.txt` with their reasons."""
    found: dict[str, str] = {}
    for line in UNCOVERED.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            names, _, reason = line.partition(": ")
            found |= dict.fromkeys(names.split(), reason)
    return found


def main(modules: list[str]) -> None:
    from tests.oracle.__main__ import compared_calls

    excused = uncovered()
    total = enough = 0
    for module, names in counts(call.text for call in compared_calls()).items():
        wanted = {name: count for name, count in names.items() if name not in excused}
        covered = sum(count >= CALLS_EACH for count in wanted.values())
        total, enough = total + len(wanted), enough + covered
        print(f"{module:<38} {covered:>5} of {len(wanted):>5}   ({len(names) - len(wanted)} need none)")
        if module in modules:
            print("    " + " ".join(name.rpartition(".")[2] for name, n in wanted.items() if n < CALLS_EACH))
    print(f"{'all':<38} {enough:>5} of {total:>5}")


if __name__ == "__main__":
    main(sys.argv[1:])
