"""The forms in which the reference takes each call: other keywords, PyTorch's order, further arguments.

    ORACLE_PYTHON=.venv/oracle/bin/python python -m tests.oracle.forms

writes `tests/data/call_forms.jsonl`, which `tests/api/test_call_forms.py` reads. Of each public function some calls of
`calls/*.txt` are taken; every argument is given by every keyword that might stand for it, all of them in the order of
PyTorch's function of this name, and arguments are added that PyTorch's functions share. What the reference takes, and
an unknown keyword is refused, is a form of the call. Forms that give what the plain call gives are recorded; where
they mean something else, what the reference gives is compared with what ours gives, and printed.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.oracle.__main__ import compared_calls, end_of, known_differences, methods
from tests.oracle.calls import fits
from tests.oracle.coverage import SHORT, listed_names
from tests.support.call_forms import HERE, Target, write

sys.path.append(str(Path(__file__).parents[2] / "tools"))

import api_surface

WORKER = Path(__file__).with_name("forms_worker.py")
MAKERS = ("N", "U", "I", "B", "S", "C", "T")
CALLS_EACH = 3
UNKNOWN = "no_such_parameter"

# Keywords that any parameter is tried by, beside those of PyTorch's function of the same name.
KEYWORDS = """
    input other self x y dim axis keepdim keepdims size shape tensor tensors value values src source index indices mat1
    mat2 vec vec1 vec2 start end step weight bias eps epsilon lambd dim0 dim1 dims sections split_size chunks repeats
    sorted sorted_sequence boundaries tensor1 tensor2 exponent n k diagonal offset correction unbiased dtype device min
    max kernel_size stride padding dilation ceil_mode return_indices num_classes label target condition mask A B obj
    p q r ord negative_slope num_embeddings embedding_dim num_features in_features out_features approximate output_size
""".split()

# Arguments that PyTorch's functions share.
FURTHER = """
    out=None dtype=None dtype='float64' device=None device='cpu' requires_grad=True requires_grad=False pin_memory=False
    layout=None memory_format=None generator=None keepdim=True alpha=2 correction=0 unbiased=False inplace=True
    copy=True non_blocking=False name=None size_average=None reduce=None reduction='sum' stable=True as_tuple=False
    return_indices=True descending=True bias=False ceil_mode=True count_include_pad=False rounding_mode='floor'
    divisor_override=3 persistent=False recurse=True interpolation='linear' driver=None hermitian=True upper=True
""".split()


def dotted(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id in SHORT:
        return ".".join([SHORT[node.id], *reversed(parts)])
    return None


def signatures() -> dict[str, list[str]]:
    """The parameters that can be given by position, by the full names of functions."""
    found: dict[str, list[str]] = {}
    for module, names in api_surface.read().items():
        for name in names:
            if name.params is not None:
                found[f"{module}.{name.name}"] = [p for p in name.params if p not in ("self", "cls")]
    for _, full, value in listed_names():
        if full not in found or any(p.startswith("*") and p != "*" for p in found[full]):
            ours = api_surface.parameters(getattr(value, "__func__", value))
            if ours is not None:
                found[full] = [p.name for p in ours if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
                if full.startswith("Tensor.") and found[full][:1] in (["x"], ["self"]):
                    found[full] = found[full][1:]
    return found


def targets_of(text: str, params: dict[str, list[str]], methods_of_tensors: set[str]) -> Iterator[Target]:
    """The calls of public functions in a text."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or any(isinstance(a, ast.Starred) for a in node.args):
            continue
        owner, path, name = None, dotted(node.func), ast.unparse(node.func)
        if path is None and isinstance(node.func, ast.Attribute) and node.func.attr in methods_of_tensors:
            base = node.func.value
            made = isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id in MAKERS
            if made or (isinstance(base, ast.Name) and base.id == "x"):
                owner, path, name = ast.unparse(base), f"Tensor.{node.func.attr}", node.func.attr
        source = ast.get_source_segment(text, node)
        if path not in params or source is None or text.count(source) != 1 or HERE in text:
            continue
        names = [p for p in params[path] if not p.startswith("*")]
        if len(node.args) <= len(names) and all(k.arg for k in node.keywords):
            by_position = dict(zip(names, map(ast.unparse, node.args)))
            by_keyword = {str(k.arg): ast.unparse(k.value) for k in node.keywords}
            if not by_position.keys() & by_keyword.keys():
                yield Target(path, text.replace(source, HERE), name, owner, by_position, by_keyword)


def targets() -> list[Target]:
    """Some calls of each public function, most parameters first; listed differences only for want of others."""
    known = [pattern for _, pattern in known_differences()]
    public, names = {full for _, full, _ in listed_names()}, methods()
    params = {path: found for path, found in signatures().items() if path in public}
    by_path: dict[str, list[tuple[bool, Target]]] = defaultdict(list)
    for call in compared_calls():
        listed = any(fits(call.text, pattern) for pattern in known)
        for target in targets_of(call.text, params, names):
            by_path[target.path].append((listed, target))
    chosen: list[Target] = []
    for found in by_path.values():
        taken: set[str] = set()
        mine: list[Target] = []
        for _, target in sorted(found, key=lambda pair: (pair[0], -len(pair[1].given))):
            if target.given.keys() - taken or not mine:
                mine.append(target)
                taken |= target.given.keys()
            if len(mine) == CALLS_EACH:
                break
        chosen += mine
    return chosen


def torch_orders() -> dict[str, list[list[str]]]:
    """The positional parameters of PyTorch's functions, methods and layers, by the last part of the name."""
    import torch

    found: dict[str, list[list[str]]] = defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        if space == "aten" and not name.startswith("__"):
            for prefix in ("linalg_", "fft_", "special_", ""):
                if name.startswith(prefix):
                    args = [a.name for a in schema.arguments if not a.kwarg_only]
                    everything = [a.name for a in schema.arguments]
                    for order in (args, everything):
                        order = ["input" if a == "self" else a for a in order]
                        if order not in found[name.removeprefix(prefix)]:
                            found[name.removeprefix(prefix)].append(order)
                    if prefix == "":
                        break
    for space in (torch.nn.functional, torch.nn, torch.nn.init, torch, torch.optim, torch.distributions):
        for name in dir(space):
            try:
                signature = inspect.signature(getattr(space, name))
            except (TypeError, ValueError):
                continue
            order = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
            if order and order not in found[name]:
                found[name].append(order)
    return found


def torch_names(path: str, orders: dict[str, list[list[str]]]) -> list[list[str]]:
    last = path.rpartition(".")[2]
    return [*orders.get(last, []), *(orders.get(last.removesuffix("_"), []) if last.endswith("_") else [])]


def run(python: str, forms: list[tuple[str, str]], environment: dict[str, str]) -> list[str]:
    """What each form gives; one that ends the process is a `crash`, and after two so are all of the same call."""
    results: list[str] = []
    crashes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        source, target, log = Path(folder, "forms"), Path(folder, "results"), Path(folder, "log")
        while len(results) < len(forms):
            source.write_text("".join(json.dumps(form) + "\n" for form in forms[len(results) :]))
            with open(log, "w") as errors:
                process = subprocess.Popen(
                    [python, str(WORKER), str(source), str(target)],
                    env=environment, cwd=folder, stdin=subprocess.DEVNULL, stderr=errors,
                )  # fmt: skip
                end_of(process, target)
            lines = target.read_text().split("\n")[:-1] if target.exists() else []
            if not lines:
                raise RuntimeError(f"the worker of {python} did not begin:\n{log.read_text()[-2000:]}")
            results += [line or "crash" for line in lines]
            target.unlink()
            crashes[forms[len(results) - 1][0]] += results[-1] == "crash"
            while len(results) < len(forms) and crashes[forms[len(results)][0]] > 1:
                results.append("crash")
    return results


def taken(outcome: str) -> bool:
    return outcome == "same" or outcome[0] in "[{"


def keyword_forms(chosen: list[Target]) -> Iterator[tuple[Target, str, str, str]]:
    """(target, parameter, keyword, text): each parameter once per function, by all keywords that may be other names."""
    orders = torch_orders()
    seen: set[tuple[str, str]] = set()
    for target in chosen:
        theirs = {name for order in torch_names(target.path, orders) for name in order}
        for parameter in target.given:
            if (target.path, parameter) in seen:
                continue
            seen.add((target.path, parameter))
            for keyword in dict.fromkeys([UNKNOWN, parameter, *sorted(theirs), *KEYWORDS]):
                if keyword not in target.given or keyword == parameter:
                    yield target, parameter, keyword, target.with_keyword(parameter, keyword)


def further_forms(chosen: list[Target]) -> Iterator[tuple[Target, str, str]]:
    """(target, argument, text): an argument more, of one call per function."""
    seen: set[str] = set()
    for target in chosen:
        if target.path not in seen:
            seen.add(target.path)
            for extra in (f"{UNKNOWN}=None", *FURTHER):
                if extra.partition("=")[0] not in target.given:
                    yield target, extra, target.with_further(extra)


def order_forms(chosen: list[Target], keywords: dict[str, dict[str, str]]) -> Iterator[tuple[Target, list[str], str]]:
    """(target, parameters by position, text) in the orders of PyTorch, which names parameters by ``keywords``."""
    orders = torch_orders()
    for target in chosen:
        seen: set[tuple[str, ...]] = set()
        meant = {**keywords[target.path], **{p: p for p in target.given}}
        for order in torch_names(target.path, orders):
            if target.owner is not None and order[:1] in (["input"], ["self"], ["x"]):
                order = order[1:]
            positional: list[str] = []
            for name in order:
                parameter = meant.get(name)
                if parameter not in target.given or parameter in positional:
                    break
                positional.append(parameter)
                usual = list(target.given)[: len(positional)] == positional
                if not usual and tuple(positional) not in seen:
                    seen.add(tuple(positional))
                    yield target, list(positional), target.in_order(positional)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="a file for what the reference gives; it is read if it exists")
    options = parser.parse_args()
    kept: dict[str, str] = json.loads(options.keep.read_text()) if options.keep and options.keep.exists() else {}
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def reference(forms: list[tuple[str, str]]) -> list[str]:
        missing = [form for form in forms if "\n".join(form) not in kept]
        kept.update(zip(map("\n".join, missing), run(os.environ["ORACLE_PYTHON"], missing, environment)))
        if options.keep:
            options.keep.write_text(json.dumps(kept))
        return [kept["\n".join(form)] for form in forms]

    chosen, params = targets(), signatures()
    tried = list(keyword_forms(chosen))
    more = list(further_forms(chosen))
    answers = reference([(t.call, text) for t, *_, text in tried] + [(t.call, text) for t, _, text in more])
    keywords, further = answers[: len(tried)], answers[len(tried) :]
    # A function that takes any keyword says nothing by taking one.
    open_ended = {t.path for (t, _, k, _), a in zip(tried, keywords) if k == UNKNOWN and taken(a)}
    open_ended |= {t.path for (t, extra, _), a in zip(more, further) if extra.startswith(UNKNOWN) and taken(a)}
    meanings: dict[str, dict[str, str]] = defaultdict(dict)
    others: list[tuple[Target, str, str]] = []
    for (target, parameter, keyword, text), answer in zip(tried, keywords):
        if target.path in open_ended or keyword in (UNKNOWN, "out", *params[target.path]):
            continue
        if answer == "same":
            target.keywords[keyword] = parameter
            meanings[target.path][keyword] = parameter
        elif taken(answer):
            others.append((target, text, answer))
    for (target, extra, text), answer in zip(more, further):
        if target.path not in open_ended and answer == "same":
            target.further.append(extra)
        elif target.path not in open_ended and taken(answer):
            others.append((target, text, answer))
    orders = list(order_forms(chosen, meanings))
    for (target, order, text), answer in zip(orders, reference([(t.call, text) for t, _, text in orders])):
        if answer == "same":
            target.orders.append(order)
        elif taken(answer):
            others.append((target, text, answer))
    rows = [target for target in chosen if target.keywords or target.orders or target.further]
    # Where the plain call is a listed difference, nothing can be told from its forms.
    plain = run(sys.executable, [(target.call, target.call) for target in rows], dict(os.environ))
    rows = [target for target, answer in zip(rows, plain) if taken(answer)]
    write(rows)
    print(f"{sum(len(list(row.forms())) for row in rows)} forms of {len({row.path for row in rows})} functions")
    ours = run(sys.executable, [(t.call, text) for t, text, _ in others], dict(os.environ))
    for (_, text, theirs), mine in zip(others, ours):
        if mine == "same" or not taken(mine):
            print(f"{text}\n    the reference {theirs[:100]}\n    here {mine[:100]}")


if __name__ == "__main__":
    main()
