"""Expressions by kind, whose values stay of modest size and whose conditions are no close decisions."""

from __future__ import annotations

import ast
from collections.abc import Callable

from tests.fuzz.functions.draw import Draw, Refused

Make = Callable[[Draw, int], str]
TABLE: dict[str, list[tuple[float, Make]]] = {}
DEEPEST = 2


def expression(kind: str, weight: float) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        TABLE.setdefault(kind, []).append((weight, make))
        return make

    return register


_CLOSED = (
    ast.Name,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.List,
    ast.Dict,
    ast.ListComp,
    ast.DictComp,
    ast.JoinedStr,
)


def _part(text: str) -> str:
    """An expression as a part of another one."""
    node = ast.parse(text, mode="eval").body
    closed = isinstance(node, _CLOSED) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    return text if closed else f"({text})"


def draw(d: Draw, kind: str, depth: int = 0) -> str:
    """An expression of a kind, which can be a part of another one."""
    rows = TABLE[kind]
    for _ in range(12):
        weights = [w if depth < DEEPEST or k < LEAVES.get(kind, 1) else 0.0 for k, (w, _) in enumerate(rows)]
        make = d.random.choices([m for _, m in rows], weights)[0]
        try:
            return _part(make(d, depth + 1))
        except Refused:
            continue
    for _, make in rows[: LEAVES.get(kind, 1)]:
        try:
            return _part(make(d, DEEPEST))
        except Refused:
            continue
    raise Refused


# How many rows of a kind, the first ones, need no others.
LEAVES = {"M": 1, "A": 2, "V": 2, "S": 2, "i": 3, "f": 2, "b": 3, "s": 2, "LM": 1, "Li": 2, "DM": 1, "Di": 2, "N": 2}


def of(template: str, kinds: str = "") -> Make:
    """An expression whose parts are expressions of these kinds; of ``i!``, variables."""

    def make(d: Draw, depth: int) -> str:
        parts = [d.pick(k[:-1]) if k.endswith("!") else draw(d, k, depth) for k in kinds.split()]
        return template.format(*parts, c=d.number(), o=d.odd(), k=d.integer(0, 3), K=d.integer(1, 3))

    return make


def add(kind: str, *rows: tuple[float, str, str]) -> None:
    for weight, template, kinds in rows:
        TABLE.setdefault(kind, []).append((weight, of(template, kinds)))


def variable(*kinds: str) -> Make:
    return lambda d, depth: d.pick(*kinds)


def reading(make: Make) -> Make:
    """An expression that reads data of tensors."""

    def guarded(d: Draw, depth: int) -> str:
        if not d.reads:
            raise Refused
        return make(d, depth)

    return guarded


for _kind, _kinds in {
    "M": ("M",), "A": ("A", "M"), "V": ("V",), "S": ("S",), "i": ("i",), "f": ("f",), "b": ("b",), "s": ("s",),
    "LM": ("LM",), "Li": ("Li",), "DM": ("DM",), "Di": ("Di",), "N": ("N",), "O": ("O",), "P": ("P",), "fn": ("fn",),
    "G": ("G",),
}.items():  # fmt: skip
    TABLE[_kind] = [(4.0, variable(*_kinds))]

# --- tensors

UNARY = (
    "paddle.tanh({0})", "F.relu({0})", "paddle.sin({0})", "{0}.clip(-1.0, 1.0)", "-{0}", "abs({0})",
    "{0} * {c}", "{c} - {0}", "{0} / 2", "F.sigmoid({0})", "{0}.detach()", "{0}.clone()", "paddle.square({0}) * 0.25",
    "{0} ** 2 / 3", "{0} + {c}", "F.gelu({0})", "{0}.astype('float32')", "paddle.exp(-{0}.abs())", "{0}.cos()",
)  # fmt: skip


def _unary(kind: str) -> Make:
    return lambda d, depth: of(d.choose(UNARY), kind)(d, depth)


for _kind in ("M", "A", "V", "S"):
    if _kind == "A":
        add("A", (1.5, "{0}", "M"))
    if _kind == "V":
        add("V", (0.6, "paddle.full([4], {c})", ""))
    if _kind == "S":
        add("S", (0.4, "paddle.to_tensor({c})", ""))
    TABLE[_kind].append((3.0, _unary(_kind)))
    add(
        _kind,
        (1.0, "{0} + {1}", f"{_kind} S"),
        (0.8, "{0} * paddle.tanh({1})", f"{_kind} S"),
        (0.7, "{0} * {1}", f"{_kind} f"),
        (0.5, "{0} + {1}", f"{_kind} i"),
        (0.3, "{0} * (0.1 * {1})", f"{_kind} i"),
        (0.3, "({0} if {1} else {2})", f"{_kind} b {_kind}"),
        (0.3, "scaled({0}, {1})", f"{_kind} f"),
        (0.2, "scaled({0}, by={1})", f"{_kind} f"),
        (0.2, "F.dropout({0}, 0.5, training={1})", f"{_kind} b"),
    )

for _kind in ("M", "V", "S"):
    add(
        _kind,
        (1.5, "{0} + {1}", f"{_kind} {_kind}"),
        (0.7, "{0} * paddle.tanh({1})", f"{_kind} {_kind}"),
        (0.7, "{0} - {1}", f"{_kind} {_kind}"),
        (0.6, "paddle.where({0} > {o}, {1}, {2})", f"{_kind} {_kind} {_kind}"),
        (0.4, "paddle.maximum({0}, {1})", f"{_kind} {_kind}"),
        (0.2, "sum([{0}, {1}])", f"{_kind} {_kind}"),
        (0.2, "twice(lambda t: t * {c} + {1}, {0})", f"{_kind} {_kind}"),
        (0.3, "paddle.stack([{0}, {1}]).sum(0)", f"{_kind} {_kind}"),
    )

for _kind in ("M", "A"):
    add(
        _kind,
        (0.8, "{0} + {1}", f"{_kind} V"),
        (0.6, "{0} * paddle.sin({1})", f"{_kind} V"),
        (0.5, "{0} - {0}.sum(-1, keepdim=True) / 4", f"{_kind}"),
        (0.3, "F.softmax({0}, axis=-1)", f"{_kind}"),
        (0.4, "paddle.tanh({0} @ WEIGHT)", f"{_kind}"),
        (0.3, "{0}.reshape([-1, 2, 2]).transpose([0, 2, 1]).reshape([{0}.shape[0], 4])", f"{_kind}"),
        (0.3, "{0}[:, [1, 0, 3, 2]]", f"{_kind}"),
        (0.2, "paddle.concat([{0}[:, :2], {0}[:, 2:] * {c}], axis=1)", f"{_kind}"),
        (0.2, "F.layer_norm({0}, [4])", f"{_kind}"),
        (0.2, "{0} / {0}.shape[0] if {0}.shape[0] else {0}", f"{_kind}"),
        (0.2, "{0}.flip(0)", f"{_kind}"),
    )

add(
    "M",
    (0.4, "paddle.zeros([rows, 4])", ""),
    (0.3, "paddle.ones_like({0})", "M"),
    (0.3, "paddle.arange(rows * 4, dtype='float32').reshape([rows, 4]) * 0.1", ""),
    (0.2, "paddle.rand([rows, 4])", ""),
    (0.5, "NET({0})", "M"),
    (0.3, "{0}.cumsum(0) * 0.5", "M"),
)
add(
    "A",
    (0.8, "{0}[{k}:]", "A"),
    (0.6, "{0}[:{1}]", "A i"),
    (0.4, "{0}[::2]", "A"),
    (0.4, "{0}[::-1]", "A"),
    (0.6, "paddle.concat([{0}, {1}])", "A A"),
    (0.3, "paddle.concat({0} + [{1}])", "LM A"),
    (0.3, "{0}[-1:]", "A"),
    (0.6, "({0}[{1}] if len({0}) > {1} >= 0 else {2})", "LM i A"),
    (0.4, "{0}.get({1}, {2})", "DM s A"),
    (0.5, "{0}({1})", "fn A"),
    (0.3, "paddle.tile({0}, [{K}, 1])", "A"),
    (0.3, "{0}.expand([{K}, 4])", "V"),
    (0.3, "sum({0}, {1}.sum(0))", "LM A"),
    (0.3, "NET({0})", "A"),
    (0.3, "twice({0}, {1})", "fn A"),
    (0.2, "next({0}, {1})", "G A"),
)
TABLE["A"].append((0.3, reading(of("{0}[{0}[:, 0] > {o}]", "A"))))
TABLE["A"].append((0.3, reading(of("max({0}, key=lambda t: float(t.sum()), default={1})", "LM A"))))
TABLE["A"].append((0.2, reading(of("paddle.to_tensor({0}.detach().numpy()) + {0}", "A"))))
TABLE["A"].append((0.2, reading(of("paddle.to_tensor({0}.tolist()).reshape([-1, 4])", "A"))))
add(
    "V",
    (1.0, "{0}.sum(0)", "A"),
    (0.5, "{0}.sum(0) / ({0}.shape[0] + 1)", "A"),
    (0.4, "{0}.mean(0)", "M"),
    (0.3, "({0}[{k}] if len({0}) > {k} else {1})", "A V"),
    (0.4, "{0}.first", "P"),
    (0.3, "{0}.left()", "O"),
    (0.3, "WEIGHT[{k}]", ""),
    (0.3, "SCALES['a'] * {0}", "V"),
)
add(
    "S",
    (1.0, "{0}.sum()", "V"),
    (1.0, "{0}.sum() * 0.1", "A"),
    (0.5, "{0}[{k}]", "V"),
    (0.4, "({0} * {1}).sum()", "V V"),
    (0.3, "{0}.second", "P"),
    (0.3, "paddle.to_tensor({0})", "f"),
    (0.2, "paddle.linalg.norm({0} + 2)", "V"),
)

# --- numbers, texts, conditions

add(
    "i",
    (2.0, "{k}", ""),
    (1.0, "rows", ""),
    (0.6, "{0} + {1}", "i i"),
    (0.5, "{0} * {1} % 7", "i i"),
    (0.5, "{0}.shape[0]", "A"),
    (0.3, "len({0})", "A"),
    (0.5, "len({0})", "LM"),
    (0.4, "len({0})", "Li"),
    (0.3, "len({0})", "Di"),
    (0.3, "{0} // {K}", "i"),
    (0.2, "-{0}", "i"),
    (0.3, "min({0}, {1})", "i i"),
    (0.2, "max({0}, {1}, 0)", "i i"),
    (0.3, "int({0})", "b"),
    (0.3, "({0} if {1} else {2})", "i b i"),
    (0.3, "sum({0}) % 5", "Li"),
    (0.3, "abs({0}) % 4", "i"),
    (0.3, "{0}.get({1}, {k})", "Di s"),
    (0.3, "{0}.count", "O"),
    (0.3, "{0}[{1}]", "O i"),
    (0.2, "({0} or {1})", "N i"),
    (0.2, "({0} if {0} is not None else {1})", "N i"),
    (0.2, "depth_of({0} % 5)", "i"),
    (0.2, "COUNTS['calls']", ""),
    (0.1, "TOTAL", ""),
    (0.2, "{0}.ndim", "A"),
    (0.2, "{0}.shape.index(4)", "A"),
    (0.1, "{0} ** 2 % 9", "i"),
    (0.2, "max({0}, default={1})", "Li i"),
    (0.2, "len({0})", "s"),
    (0.2, "{0}.find('a')", "s"),
)
TABLE["i"].append((0.4, reading(of("int(({0} > {o}).sum())", "A"))))
TABLE["i"].append((0.2, reading(of("({0} > {o}).sum().item()", "V"))))
add(
    "f",
    (2.0, "{c}", ""),
    (0.5, "{0} * 0.5 + {c}", "f"),
    (0.5, "{0} * {c}", "i"),
    (0.3, "math.sin({0})", "f"),
    (0.3, "1.0 / (abs({0}) + 1.0)", "f"),
    (0.3, "({0} if {1} else {2})", "f b f"),
    (0.2, "math.sqrt(abs({0}) + 1)", "i"),
    (0.3, "float({0})", "i"),
    (0.2, "round({0}, 3)", "f"),
    (0.2, "max({0}, {1})", "f f"),
    (0.2, "{0}.scale", "O"),
    (0.2, "{0} / 3", "i"),
)
TABLE["f"].append((0.4, reading(of("math.tanh(float({0}))", "S"))))
TABLE["f"].append((0.3, reading(of("math.sin({0}.sum().item())", "A"))))
TABLE["f"].append((0.1, reading(of("math.sin(sum({0}.tolist()))", "V"))))
add(
    "b",
    (0.7, "True", ""),
    (0.5, "False", ""),
    (1.0, "{0} > {1}", "i i"),
    (0.7, "{0} % 2 == 0", "i"),
    (0.4, "{0} != {1}", "i i"),
    (0.4, "{0} <= {1} < {2}", "i i i"),
    (0.5, "{0}.shape[0] > {k}", "A"),
    (0.4, "not {0}", "b"),
    (0.5, "{0} and {1}", "b b"),
    (0.5, "({0} or {1})", "b b"),
    (0.4, "{0} is None", "N"),
    (0.3, "{0} == {1}", "s s"),
    (0.3, "{1} in {0}", "DM s"),
    (0.3, "{1} in {0}", "Li i"),
    (0.2, "{0} is {1}", "A A"),
    (0.2, "{0} is not {1}", "O O"),
    (0.2, "isinstance({0}, int)", "N"),
    (0.2, "isinstance({0}, (Pair, Point))", "P"),
    (0.2, "bool({0})", "LM"),
    (0.2, "any(t > {1} for t in {0})", "Li i"),
    (0.2, "all([t % 2 == 0 for t in {0}])", "Li"),
    (0.2, "hasattr({0}, 'note')", "O"),
    (0.2, "{0}.stop_gradient", "A"),
    (0.1, "callable({0})", "fn"),
    (0.2, "{0} > {o}", "f"),
    (0.1, "{0}.shape == {1}.shape", "A A"),
    (0.1, "NET.training", ""),
)
TABLE["b"].append((1.0, reading(of("{0}.sum() > {o}", "A"))))
TABLE["b"].append((0.6, reading(of("bool({0} > {o})", "S"))))
TABLE["b"].append((0.4, reading(of("({0} > {o}).any()", "A"))))
TABLE["b"].append((0.3, reading(of("paddle.all({0} > -{K} - {o}).item()", "V"))))
TABLE["b"].append((0.2, reading(of("{0} and {1}.sum() > {o}", "b V"))))
TABLE["b"].append((0.2, reading(of("not {0}.mean() < {o}", "V"))))
add(
    "s",
    (1.0, "'a'", ""),
    (0.7, "'k{k}'", ""),
    (0.7, "f'{{{0}}}'", "i!"),
    (0.4, "f'{{{0}}}-{{{1}:.2f}}'", "i! f!"),
    (0.3, "{0} + {1}", "s s"),
    (0.3, "{0}.upper()", "s"),
    (0.3, "str({0})", "i"),
    (0.3, "'abc'[{0} % 3]", "i"),
    (0.2, "'-'.join([{0}, {1}])", "s s"),
    (0.2, "('x' if {0} else 'y')", "b"),
    (0.2, "'%d/%s' % ({0}, {1})", "i s"),
    (0.2, "{0}.name", "O"),
    (0.2, "type({0}).__name__", "P"),
    (0.2, "{0}.__name__[:4]", "fn"),
    (0.1, "repr({0})", "b"),
    (0.1, "str({0}.shape)", "A"),
    (0.1, "str({0}.dtype)", "V"),
)
# --- containers, objects, functions

add(
    "LM",
    (1.0, "[{0}, {1}]", "A A"),
    (0.3, "[{0}]", "A"),
    (0.2, "[]", ""),
    (0.5, "[t * {c} for t in {0}]", "LM"),
    (0.4, "[t for t in {0} if t.shape[0] > {k}]", "LM"),
    (0.3, "list(map(lambda t: t + {1}, {0}))", "LM f"),
    (0.3, "{0}[::-1]", "LM"),
    (0.3, "{0} + {1}", "LM LM"),
    (0.3, "list({0}.values())", "DM"),
    (0.3, "[{0}(t) for t in {1}]", "fn LM"),
    (0.2, "[t + i for i, t in enumerate({0})]", "LM"),
    (0.2, "[t[:2] + u[:1] for t, u in zip({0}, {1}) if t.shape[0] and u.shape[0]]", "LM LM"),
    (0.2, "list(reversed({0}))", "LM"),
    (0.2, "sorted({0}, key=lambda t: -t.shape[0])", "LM"),
    (0.2, "list(filter(lambda t: t.shape[0] != {k}, {0}))", "LM"),
    (0.2, "list(halves({0}))", "A"),
    (0.2, "[*{0}, {1}]", "LM A"),
    (0.2, "{0} * 2", "LM"),
    (0.2, "list({0})", "G"),
    (0.2, "{0}.items", "O"),
    (0.2, "[{0} * t for t in range({k})]", "A"),
    (0.2, "paddle.split({0}, 2)[:1] if {0}.shape[0] % 2 == 0 and {0}.shape[0] else []", "A"),
)
add(
    "Li",
    (1.0, "[{0}, {1}]", "i i"),
    (0.6, "list(range({0} % 4))", "i"),
    (0.4, "[t * 2 % 7 for t in {0}]", "Li"),
    (0.4, "sorted({0})", "Li"),
    (0.3, "sorted({0}, key=lambda t: (-t % 3, t), reverse={1})", "Li b"),
    (0.3, "{0}[1:]", "Li"),
    (0.3, "[len({0}), *{1}]", "LM Li"),
    (0.3, "[i * j % 5 for i in range({k}) for j in {0} if i != j]", "Li"),
    (0.2, "list({0}.values())", "Di"),
    (0.2, "{0}.shape", "A"),
    (0.2, "[t.shape[0] for t in {0}]", "LM"),
    (0.2, "list(map(int, str(abs({0}))))", "i"),
    (0.2, "sorted(set({0}))", "Li"),
    (0.1, "[x for x in counted({0} % 4)]", "i"),
)
add(
    "DM",
    (1.0, "{{'a': {0}, 'k1': {1}}}", "A A"),
    (0.4, "{{'k{k}': {0}}}", "A"),
    (0.3, "{{k: t * {c} for k, t in {0}.items()}}", "DM"),
    (0.3, "dict({0}, k2={1})", "DM A"),
    (0.3, "{{**{0}, {1}: {2}}}", "DM s A"),
    (0.2, "dict(zip(['a', 'k1', 'k2'], {0}))", "LM"),
    (0.2, "{{f'k{{i}}': t for i, t in enumerate({0})}}", "LM"),
)
add(
    "Di",
    (1.0, "{{'a': {0}, {1}: {2}}}", "i s i"),
    (0.3, "{{}}", ""),
    (0.3, "{{k: len(k) for k in {0}}}", "DM"),
    (0.3, "{{str(t): t for t in {0}}}", "Li"),
    (0.2, "dict(a={0})", "i"),
    (0.2, "{0} | {1}", "Di Di"),
)
add("O", (0.5, "Box({0}, {1})", "V i"), (0.3, "{0} + {1}", "O O"), (0.2, "SHARED", ""))
add("P", (0.7, "Pair({0}, {1})", "V S"), (0.7, "Point({0}, {1})", "V S"), (0.2, "{0}.swapped()", "P"))
add("N", (0.5, "None", ""), (0.5, "{0}", "i"))
add(
    "fn",
    (0.7, "paddle.tanh", ""),
    (0.7, "(lambda t: t * {c})", ""),
    (0.3, "(lambda t, by={0}: t * by)", "f"),
    (0.3, "functools.partial(scaled, by={0})", "f"),
    (0.3, "Times({0})", "f"),
    (0.3, "{0}.apply", "O"),
    (0.2, "F.relu", ""),
    (0.2, "NET", ""),
    (0.2, "scaler({0})", "f"),
)
add(
    "G",
    (0.7, "halves({0})", "A"),
    (0.5, "(t * {c} for t in {0})", "LM"),
    (0.3, "iter({0})", "LM"),
    (0.2, "map({0}, {1})", "fn LM"),
    (0.2, "chained({0}, {1})", "LM LM"),
)
