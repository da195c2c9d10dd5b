"""Statements, by weight; a statement that the scope has nothing for is refused, and another one is drawn."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from tests.fuzz.functions.draw import Draw, Refused
from tests.fuzz.functions.expressions import draw

Write = Callable[[Draw], None]
STATEMENTS: dict[str, tuple[float, Write]] = {}
DEEPEST = 3
TENSORS = {"M": 4.0, "A": 3.0, "V": 2.0, "S": 2.0}
OTHERS = {
    "i": 3.0, "f": 2.0, "b": 2.0, "s": 2.0, "LM": 2.0, "Li": 1.5, "DM": 1.0, "Di": 1.0, "O": 1.0, "P": 1.0, "N": 0.7,
    "fn": 0.8, "G": 0.6,
}  # fmt: skip


def statement(weight: float) -> Callable[[Write], Write]:
    def register(write: Write) -> Write:
        STATEMENTS[write.__name__] = weight, write
        return write

    return register


def body(d: Draw, low: int, high: int) -> None:
    """Some statements; at least one."""
    wanted, lines = d.integer(low, high), len(d.lines)
    for _ in range(wanted):
        for _ in range(6):
            name = d.weighted({n: w for n, (w, _) in STATEMENTS.items()})
            if d.attempt(STATEMENTS[name][1]):
                break
    if len(d.lines) == lines:
        d.line("pass")


def inner(d: Draw, low: int = 1, high: int = 3) -> None:
    """The body of a compound statement."""
    body(d, low, high)


def compound(d: Draw) -> None:
    if d.scope.depth >= DEEPEST:
        raise Refused


def outside(d: Draw) -> None:
    """What follows changes what others see."""
    if d.pure:
        raise Refused


def rebind(d: Draw, *kinds: str) -> str:
    return d.pick(*kinds, own=True)


def made(d: Draw, kind: str, text: str) -> None:
    """Bind a new variable."""
    d.line(f"{d.bind(d.fresh(), kind)} = {text}")


def any_value(d: Draw) -> tuple[str, str]:
    kind = d.weighted(TENSORS | OTHERS)
    return kind, draw(d, kind)


# --- assignments


@statement(6.0)
def tensor(d: Draw) -> None:
    kind = d.weighted(TENSORS)
    value = draw(d, kind)
    if d.chance(0.4) and [n for n in d.names(kind) if n in d.scope.own]:
        d.line(f"{rebind(d, kind)} = {value}")
    else:
        made(d, kind, f"{value}")


@statement(5.0)
def value(d: Draw) -> None:
    kind = d.weighted(OTHERS)
    text = draw(d, kind)
    if d.chance(0.4) and [n for n in d.names(kind) if n in d.scope.own]:
        d.line(f"{rebind(d, kind)} = {text}")
    else:
        made(d, kind, f"{text}")


@statement(1.5)
def augmented(d: Draw) -> None:
    kind = d.choose(("i", "f", "s"))
    name = rebind(d, kind)
    operator = {"i": d.choose(("+=", "-=")), "f": d.choose(("*=", "-=")), "s": "+="}[kind]
    other = draw(d, kind, 1)
    if kind == "f":
        other = f"math.sin({other})"
    d.line(f"{name} {operator} {other}")


@statement(1.0)
def augmented_tensor(d: Draw) -> None:
    """In place, of a tensor that is no leaf."""
    kind = d.choose(("M", "V", "S"))
    name = rebind(d, kind)
    if d.pure or d.chance(0.5):
        d.line(f"{name} = {name} * 1.0")
    d.line(f"{name} {d.choose(('+=', '-=', '*='))} {draw(d, kind, 1)}")
    d.line(f"{name} = paddle.tanh({name})" if d.chance(0.5) else f"{name} = {name} * 0.5")


@statement(0.8)
def pair(d: Draw) -> None:
    kinds = [d.weighted(TENSORS | {"i": 3.0}) for _ in range(2)]
    values = [draw(d, k) for k in kinds]
    names = [d.bind(d.fresh(), k) for k in kinds]
    d.line(f"{', '.join(names)} = {', '.join(values)}")


@statement(0.5)
def swap(d: Draw) -> None:
    kind = d.weighted(TENSORS | OTHERS)
    a, b = rebind(d, kind), rebind(d, kind)
    d.line(f"{a}, {b} = {b}, {a}")


@statement(0.5)
def starred(d: Draw) -> None:
    kind, item = d.choose((("LM", "A"), ("Li", "i")))
    value = draw(d, kind)
    with d.block("try:"):
        a, b = d.fresh(), d.fresh()
        d.line(d.choose((f"{a}, *{b} = {value}", f"*{b}, {a} = {value}")))
        d.bind(a, item)
        d.bind(b, kind)
        inner(d)
    with d.block("except ValueError:"):
        inner(d, 1, 1)


@statement(0.4)
def unpacked_rows(d: Draw) -> None:
    x = d.pick("A", "M")
    with d.block(f"if {x}.shape[0] == 2:"):
        a, b = d.bind(d.fresh(), "V"), d.bind(d.fresh(), "V")
        d.line(f"{a}, {b} = {x}")
        inner(d)


@statement(0.5)
def same_twice(d: Draw) -> None:
    kind, value = any_value(d)
    a, b = d.bind(d.fresh(), kind), d.bind(d.fresh(), kind)
    d.line(f"{a} = {b} = {value}")


@statement(0.4)
def walrus(d: Draw) -> None:
    name = d.fresh()
    with d.block(f"if ({name} := {draw(d, 'i')}) > {d.integer(0, 3)}:"):
        d.bind(name, "i")
        inner(d)


@statement(0.3)
def fields(d: Draw) -> None:
    p = d.pick("P")
    a, b = d.bind(d.fresh(), "V"), d.bind(d.fresh(), "S")
    d.line(d.choose((f"{a}, {b} = {p}.first, {p}.second", f"{a}, {b} = pair_of({p})")))


# --- branches


def condition(d: Draw) -> str:
    return draw(d, "b")


@statement(3.0)
def branch(d: Draw) -> None:
    compound(d)
    with d.block(f"if {condition(d)}:"):
        inner(d)
    if d.chance(0.3):
        with d.block(f"elif {condition(d)}:"):
            inner(d)
    if d.chance(0.6):
        with d.block("else:"):
            inner(d)


@statement(1.2)
def defined_by_both(d: Draw) -> None:
    compound(d)
    kind = d.weighted(TENSORS | {"i": 2.0, "f": 1.0, "s": 1.0, "LM": 1.0})
    name = d.fresh()
    for head in (f"if {condition(d)}:", "else:"):
        with d.block(head):
            if d.chance(0.4):
                inner(d, 1, 1)
            d.line(f"{name} = {draw(d, kind)}")
    d.bind(name, kind)


@statement(0.4)
def matching(d: Draw) -> None:
    compound(d)
    kind = d.choose(("i", "P", "Li", "s"))
    subject = draw(d, kind)
    with d.block(f"match {subject}:"):
        if kind == "i":
            with d.block("case 0 | 1:"):
                inner(d)
        elif kind == "s":
            with d.block("case 'a':"):
                inner(d)
        elif kind == "Li":
            with d.block("case [first, *others] if first > 1:"):
                d.bind("first", "i")
                d.bind("others", "Li")
                inner(d)
        else:
            with d.block("case Pair(first, second):"):
                d.bind("first", "V")
                d.bind("second", "S")
                inner(d)
        with d.block("case _:"):
            inner(d, 1, 2)


@statement(0.8)
def early_return(d: Draw) -> None:
    with d.block(f"if {condition(d)}:"):
        d.line(returned(d))


def returned(d: Draw) -> str:
    """A return of what the function returns."""
    if d.scope.returns is not None:
        return f"return {draw(d, d.scope.returns)}"
    return f"return {results(d)}"


def results(d: Draw) -> str:
    """What the program returns: some values in a structure."""
    found = []
    for _ in range(d.integer(1, 4)):
        kinds = TENSORS | {k: w / 2 for k, w in OTHERS.items() if k not in ("fn", "G")}
        try:
            found.append(draw(d, d.weighted(kinds), 1))
        except Refused:
            found.append(draw(d, "V", 1))
    if len(found) == 1:
        return found[0]
    form = d.integer(0, 3)
    if form == 0:
        return "{" + ", ".join(f"'r{i}': {x}" for i, x in enumerate(found)) + "}"
    if form == 1:
        return f"[{', '.join(found)}]"
    return ", ".join(found)


# --- loops


def accumulate(d: Draw) -> None:
    """Bind a variable of this function to something made of itself."""
    kind = d.choose([k for k in ("M", "A", "V", "S", "i", "f") if any(n in d.scope.own for n in d.names(k))])
    name = rebind(d, kind)
    other = draw(d, "M" if kind == "M" else "V" if kind in ("A", "V") else "S" if kind == "S" else kind, 1)
    if kind == "i":
        d.line(f"{name} = ({name} + {other}) % 13")
    elif kind == "f":
        d.line(f"{name} = {name} * 0.5 + math.sin({other})")
    else:
        d.line(
            f"{name} = {d.choose(('{0} * 0.5 + {1}', 'paddle.tanh({0} + {1})', '{0} - 0.5 * {1}')).format(name, other)}"
        )


@statement(0.8)
def accumulated(d: Draw) -> None:
    accumulate(d)


def loop(d: Draw, head: str, kinds: dict[str, str]) -> None:
    """A loop with a body, perhaps with break, continue and else."""
    compound(d)
    leaves = d.chance(0.4)
    with d.block(head, loop=True):
        for name, kind in kinds.items():
            d.bind(name, kind)
        if leaves:
            with d.block(f"if {condition(d)}:"):
                if d.chance(0.3):
                    inner(d, 1, 1)
                d.line(d.choose(("break", "continue")))
        d.attempt(accumulate)
        inner(d, 1, 2)
    if d.chance(0.2):
        with d.block("else:"):
            inner(d, 1, 2)


@statement(1.5)
def over_range(d: Draw) -> None:
    i = d.fresh("i")
    form = d.choose(
        ("range({0} % 4)", "range({0} % 3, 4)", "range(3, 0, -1)", "reversed(range({0} % 4))", "counted({0} % 4)")
    )
    loop(d, f"for {i} in {form.format(draw(d, 'i', 1) if '{0}' in form else '')}:", {i: "i"})


@statement(1.0)
def over_list(d: Draw) -> None:
    t, i = d.fresh("t"), d.fresh("i")
    xs = draw(d, "LM", 1)
    head, kinds = d.choose(
        (
            (f"for {t} in {xs}:", {t: "A"}),
            (f"for {i}, {t} in enumerate({xs}):", {i: "i", t: "A"}),
            (f"for {i}, {t} in zip(range(9), {xs}):", {i: "i", t: "A"}),
            (f"for {i}, {t} in enumerate(reversed({xs}), start=2):", {i: "i", t: "A"}),
        )
    )
    loop(d, head, kinds)


@statement(0.6)
def over_two_lists(d: Draw) -> None:
    t, u = d.fresh("t"), d.fresh("t")
    loop(d, f"for {t}, {u} in zip({draw(d, 'LM', 1)}, {draw(d, 'LM', 1)}):", {t: "A", u: "A"})


@statement(0.6)
def over_numbers(d: Draw) -> None:
    i = d.fresh("i")
    loop(d, f"for {i} in {draw(d, 'Li', 1)}:", {i: "i"})


@statement(0.7)
def over_dict(d: Draw) -> None:
    kind = d.choose(("DM", "Di"))
    k, t, x = d.fresh("k"), d.fresh("t"), draw(d, kind, 1)
    item = "A" if kind == "DM" else "i"
    head, kinds = d.choose(
        (
            (f"for {k}, {t} in {x}.items():", {k: "s", t: item}),
            (f"for {t} in {x}.values():", {t: item}),
            (f"for {k} in sorted({x}):", {k: "s"}),
        )
    )
    loop(d, head, kinds)


@statement(0.7)
def over_rows(d: Draw) -> None:
    t = d.fresh("t")
    loop(d, f"for {t} in {draw(d, 'A', 1)}:", {t: "V"})


@statement(0.5)
def over_generator(d: Draw) -> None:
    t = d.fresh("t")
    loop(d, f"for {t} in {draw(d, 'G', 1)}:", {t: "A"})


@statement(0.8)
def counting(d: Draw) -> None:
    compound(d)
    i = d.fresh("i")
    d.line(f"{i} = {draw(d, 'i', 1)} % 4")
    other = f" and {condition(d)}" if d.chance(0.3) else ""
    with d.block(f"while {i} > 0{other}:", loop=True):
        d.line(f"{i} -= 1")
        d.scope.kinds[i] = "i"  # read, and not bound anew by the body
        if d.chance(0.3):
            with d.block(f"if {condition(d)}:"):
                d.line(d.choose(("break", "continue")))
        d.attempt(accumulate)
        inner(d, 1, 2)


@statement(0.4)
def halving(d: Draw) -> None:
    """A loop whose end depends on data."""
    if not d.reads:
        raise Refused
    compound(d)
    name = rebind(d, "V", "M", "A")
    i = d.fresh("i")
    d.line(f"{i} = 0")
    with d.block(f"while {i} < 5 and {name}.abs().sum() > {d.integer(1, 3)}.{d.odd()[-4:]}:", loop=True):
        d.line(f"{i} += 1")
        d.line(f"{name} = {name} * 0.5")
        inner(d, 1, 1)


# --- exceptions, contexts


ERRORS = ("ValueError", "KeyError", "IndexError", "ZeroDivisionError", "Oops")


@statement(1.0)
def trying(d: Draw) -> None:
    compound(d)
    caught = d.choose(("ValueError", "(KeyError, IndexError)", "Exception", "Oops", "ArithmeticError"))
    with d.block("try:"):
        inner(d, 1, 2)
        if d.chance(0.7):
            failing(d)
        if d.chance(0.3):
            inner(d, 1, 1)
    if d.chance(0.85):
        named = d.fresh("e") if d.chance(0.4) else None
        with d.block(f"except {caught} as {named}:" if named else f"except {caught}:"):
            if named:
                made(d, "s", f"type({named}).__name__")
            inner(d, 1, 2)
            if d.chance(0.15):
                d.line("raise" if d.chance(0.5) or not named else f"raise RuntimeError('again') from {named}")
        if d.chance(0.2):
            with d.block("else:"):
                inner(d, 1, 1)
        if d.chance(0.25):
            with d.block("finally:"):
                inner(d, 1, 1)
    else:
        with d.block("finally:"):
            inner(d, 1, 1)


def failing(d: Draw) -> None:
    """A statement that raises for some calls."""
    form = d.integer(0, 5)
    if form == 0:
        with d.block(f"if {condition(d)}:"):
            d.line(f"raise {d.choose(ERRORS)}({draw(d, 's', 1)})")
    elif form == 1 and d.names("Li"):
        made(d, "i", f"{d.pick('Li')}[{draw(d, 'i', 1)}]")
    elif form == 2 and d.names("DM"):
        made(d, "A", f"{d.pick('DM')}[{draw(d, 's', 1)}]")
    elif form == 3:
        made(d, "i", f"{d.integer(1, 9)} // {draw(d, 'i', 1)}")
    elif form == 4:
        made(d, "M", f"checked({draw(d, 'M', 1)}, {draw(d, 'i', 1)})")
    else:
        made(d, "i", f"int({draw(d, 's', 1)})")


@statement(0.5)
def caught(d: Draw) -> None:
    """An exception that a condition decides, with clauses of which one takes it or none."""
    compound(d)
    y, log = d.fresh(), d.fresh("log")
    d.line(f"{log} = 0")
    with d.block("try:"):
        with d.block(f"if {condition(d)}:"):
            d.line(f"raise {d.choose(ERRORS)}({draw(d, 's', 1)})")
        d.line(f"{y} = {draw(d, 'A', 1)}")
    for kind in d.choose(
        (("LookupError", "Exception"), ("(ValueError, Oops)", "Exception"), ("Exception",), ("KeyError",))
    ):
        with d.block(f"except {kind}:"):
            d.line(f"{y} = {draw(d, 'A', 1)}")
    if d.chance(0.4):
        with d.block("else:"):
            d.line(f"{log} = 1")
    if d.chance(0.4):
        with d.block("finally:"):
            d.line(f"{log} += 2")
    d.bind(y, "A")
    d.bind(log, "i")


@statement(0.3)
def asserting(d: Draw) -> None:
    d.line(f"assert {condition(d)} or {condition(d)}, {draw(d, 's', 1)}")


@statement(0.8)
def context(d: Draw) -> None:
    compound(d)
    head = d.choose(
        (
            "with paddle.no_grad():",
            f"with noted({draw(d, 's', 1)}):",
            f"with Swallow({d.choose(ERRORS)}) as w:",
            "with paddle.enable_grad():",
            f"with contextlib.suppress({d.choose(ERRORS)}):",
            f"with noted('n') as note, paddle.set_grad_enabled({condition(d)}):",
        )
    )
    if "noted" in head:
        outside(d)
    with d.block(head):
        if "note," in head:
            d.bind("note", "s")
        inner(d, 1, 2)
        if d.chance(0.3):
            failing(d)


# --- changes of containers and objects


@statement(1.5)
def list_change(d: Draw) -> None:
    kind = d.choose(("LM", "Li"))
    item, name = ("A" if kind == "LM" else "i"), d.pick(kind)
    if d.pure:
        copied = d.bind(d.fresh(), kind)
        d.line(f"{copied} = list({name})")
        name = copied
    x, y = draw(d, item, 1), draw(d, kind, 1)
    forms = [
        f"{name}.append({x})", f"{name}.append({x})", f"{name}.extend({y})", f"{name}.insert({d.integer(0, 2)}, {x})",
        f"if len({name}) < 9:\n    {name} += {y}" if name in d.scope.own else f"{name}.extend({y})",
        f"if {name}:\n    {name}.pop()", f"if len({name}) > 1:\n    {name}[{d.integer(-1, 1)}] = {x}",
        f"{name}[1:2] = {y}", f"if {name}:\n    del {name}[0]", f"{name}.reverse()", f"{name}[:] = {y}",
        f"if len({name}) > 4:\n    {name}.clear()",
    ]  # fmt: skip
    if kind == "Li":
        forms += [f"{name}.sort()", f"{name}.sort(key=lambda t: -t % 5)", f"if {x} in {name}:\n    {name}.remove({x})"]
        forms += [f"if {name}:\n    {name}[0] += {x}"]
    text = d.choose(forms)
    if text.startswith(name):  # maybe in a loop over the list
        with d.block(f"if len({name}) < 9:"):
            d.line(text)
    else:
        d.line(text)


@statement(1.2)
def dict_change(d: Draw) -> None:
    kind = d.choose(("DM", "Di"))
    item, name = ("A" if kind == "DM" else "i"), d.pick(kind)
    if d.pure:
        copied = d.bind(d.fresh(), kind)
        d.line(f"{copied} = dict({name})")
        name = copied
    k, x = draw(d, "s", 1), draw(d, item, 1)
    d.line(
        d.choose(
            (
                f"{name}[{k}] = {x}",
                f"{name}[{k}] = {x}",
                f"{name}.setdefault({k}, {x})",
                f"{name}.pop({k}, None)",
                f"{name}.update({{{k}: {x}}})",
                f"{name}.update(k2={x})",
                f"if {k} in {name}:\n    del {name}[{k}]",
                f"{name}[{k}] = {name}.get({k}, {x}) + {'1' if kind == 'Di' else x + '.sum(0)'}",
                f"if len({name}) > 3:\n    {name}.popitem()",
            )
        )
    )


@statement(1.4)
def object_change(d: Draw) -> None:
    outside(d)
    x = d.pick("O") if d.names("O") and d.chance(0.8) else "SHARED"
    d.line(
        d.choose(
            (
                f"{x}.count += 1",
                f"{x}.count = {draw(d, 'i', 1)}",
                f"{x}.data = {draw(d, 'V', 1)}",
                f"{x}.items.append({draw(d, 'A', 1)})",
                f"{x}.name = {draw(d, 's', 1)}",
                f"{x}.scale = {draw(d, 'f', 1)}",
                f"{x}.note = {draw(d, 's', 1)}",
                f"if hasattr({x}, 'note'):\n    del {x}.note",
                f"{x}[{draw(d, 'i', 1)}] = {draw(d, 'i', 1)}",
                f"{x} .bump({draw(d, 'i', 1)})",
                f"{x}.data = {x}.data * 0.5 + {draw(d, 'V', 1)}",
                f"{x} .best = {draw(d, 'i', 1)}",
            )
        ).replace(" .", ".")
    )


@statement(1.0)
def global_change(d: Draw) -> None:
    outside(d)
    if d.chance(0.15):
        known = draw(d, "s", 1)
        made(d, "V", f"CACHE.get({known}, WEIGHT[0])")
        return
    d.line(
        d.choose(
            (
                "COUNTS['calls'] += 1",
                f"COUNTS[{draw(d, 's', 1)}] = {draw(d, 'i', 1)}",
                f"LOG.append({draw(d, d.choose(('i', 's', 'f', 'V')), 1)})",
                f"set_total({draw(d, 'i', 1)})",
                f"CACHE[{draw(d, 's', 1)}] = {draw(d, 'V', 1)}",
                f"SEEN.add({draw(d, 'i', 1)})",
                f"SCALES['a'] = {draw(d, 'f', 1)}",
                f"LOG[:] = LOG[-{d.integer(1, 3)}:]",
            )
        )
    )


# --- functions


def finish(d: Draw) -> None:
    d.line(returned(d))


@statement(0.8)
def closure(d: Draw) -> None:
    compound(d)
    if d.scope.nested > 1:
        raise Refused
    name, t = d.fresh("g"), d.fresh("t")
    kind = d.choose(("A", "A", "S", "i"))
    numbers = [n for n in d.names("i", "f") if n in d.scope.own]
    with d.function(f"def {name}({t}):", kind, {t: "A"}):
        if numbers and d.chance(0.5):
            shared = d.choose(numbers)
            d.line(f"nonlocal {shared}")
            d.line(f"{shared} = {shared} * 0.5 + 1" if d.scope.kinds[shared] == "f" else f"{shared} += 1")
        inner(d, 1, 3)
        finish(d)
    if kind == "A":
        d.bind(name, "fn")
    for _ in range(d.integer(1, 2)):
        made(d, kind, f"{name}({draw(d, 'A', 1)})")


@statement(0.5)
def two_closures(d: Draw) -> None:
    """Two functions that share a variable, one of which changes it."""
    if d.scope.nested > 1:
        raise Refused
    a, get, put = d.fresh("cell"), d.fresh("get"), d.fresh("put")
    kind = d.choose(("V", "i", "S", "A"))
    d.line(f"{a} = {draw(d, kind, 1)}")
    d.line(f"{get} = lambda: {a}")
    with d.function(f"def {put}(t):", None, {"t": kind}):
        d.line(f"nonlocal {a}")
        more = f"{a} + t" if kind == "i" else f"{a}.sum() + t"
        d.line(f"old, {a} = {a}, {'t' if kind == 'A' else d.choose(('t', 't * 2', more))}")
        d.line("return old")
    d.bind(a, kind)
    for _ in range(d.integer(1, 2)):
        made(d, kind, f"{put}({draw(d, kind, 1)})")
    made(d, kind, f"{get}()")


# How a value is kept, set by a function, and read again.
_KEPT = (
    ("{a} = {value}", "nonlocal {a}\n    {a} = {new}", "{a}"),
    ("{a} = [{value}, {value}]", "{a}[0] = {new}", "{a}[0] + {a}[1]"),
    ("{a} = [{value}]", "{a}.append({new})\n    {a}.pop(0)", "{a}[-1]"),
    ("{a} = {{'k': {value}}}", "{a}.update(k={new})", "{a}['k']"),
    ("{a} = Box({value}, 1)", "{a}.data = {new}", "{a}.data"),
    ("{a} = [Box({value}, 2)]", "{a}[0].data = {new}", "{a}[0].data"),
    ("{a} = iter([{value}, {value}, {value}])", "next({a})", "next({a})"),
    ("{a} = collections.deque([{value}, {value}])", "{a}[1] = {new}", "{a}[0] * {a}[1]"),
)


@statement(0.6)
def set_by_a_function(d: Draw) -> None:
    """What a function changes that a branch or loop calls, whose text does not name it."""
    compound(d)
    if d.scope.nested > 1:
        raise Refused
    a, put = d.fresh("held"), d.fresh("put")
    first, change, read = d.choose(_KEPT)
    d.line(first.format(a=a, value=draw(d, "V", 1)))
    d.line(f"def {put}(t):\n    {change.format(a=a, new=d.choose(('t', 't * 0.5 + 1.0')))}")
    if d.chance(0.3):
        d.line(f"{put}({draw(d, 'V', 1)})")
    with d.block(f"if {condition(d)}:"):
        d.line(f"{put}({draw(d, 'V', 1)})")
    if d.chance(0.5) or "iter(" in first:
        with d.block("else:"):
            d.line(f"{put}({draw(d, 'V', 1)} * 2.0)")
    made(d, "V", read.format(a=a))


@statement(0.4)
def closures_of_a_loop(d: Draw) -> None:
    fs = d.fresh("fs")
    form = d.choose(("lambda t, i=i: t * i", "lambda t: t + i", "scaler(i * 0.5)", "functools.partial(scaled, by=i)"))
    d.line(f"{fs} = [{form} for i in range({d.integer(1, 3)})]")
    made(d, "LM", f"[f({draw(d, 'A', 1)}) for f in {fs}]")
    made(d, "fn", f"{fs}[-1]")


@statement(0.5)
def generator(d: Draw) -> None:
    compound(d)
    if d.scope.nested > 1:
        raise Refused
    name, t, i = d.fresh("gen"), d.fresh("t"), d.fresh("i")
    with d.function(f"def {name}({t}):", "A", {t: "A"}):
        if d.chance(0.5):
            with d.block(f"for {i} in range({draw(d, 'i', 1)} % 3):", loop=True):
                d.bind(i, "i")
                d.attempt(accumulate)
                d.line(f"yield {t} * {i} + {draw(d, 'S', 1)}")
        if d.chance(0.3):
            d.line(f"yield from halves({t})")
        if d.chance(0.3):
            with d.block("try:"):
                d.line(f"yield {draw(d, 'A', 1)}")
            with d.block("finally:"):
                inner(d, 1, 1)
        d.line(f"got = yield {draw(d, 'A', 1)}")
        with d.block("if got is not None:"):
            d.line(f"yield {t} + got")
    use = d.fresh()
    d.line(f"{use} = {name}({draw(d, 'A', 1)})")
    form = d.integer(0, 2)
    if form == 0:
        d.bind(use, "G")
    elif form == 1:
        made(d, "LM", f"list({use})")
    else:
        made(d, "LM", f"[next({use}), {use}.send({draw(d, 'i', 1)})]")
        d.line(f"{use}.close()")


@statement(1.6)
def helper(d: Draw) -> None:
    if not d.helpers:
        raise Refused
    name = d.choose(list(d.helpers))
    form, kind = d.helpers[name]
    made(d, kind, f"{form.format(draw(d, 'A', 1), i=draw(d, 'i', 1), f=draw(d, 'f', 1), s=draw(d, 's', 1))}")


@statement(0.3)
def recomputed(d: Draw) -> None:
    made(d, "A", f"recompute(smooth, {draw(d, 'A', 1)})")


# --- tensors


WRITES = {
    "M": (
        "{0}.add_({f})", "{0}[:, 1] = {f}", "{0}[1:] = {0}[:1] * 0.5", "{0}.scale_(0.5)", "{0}.tanh_()",
        "{0}[:, :2].zero_()", "{0}[:, 0] += {S}",
    ),
    "A": (
        "{0}.multiply_({S})", "{0}[:1] = {V}", "{0}.clip_(-1.0, 1.0)", "{0}[:, 2:] -= {f}",
        "{0}.T.add_(paddle.ones([4, 1]))",
    ),
    "V": (
        "{0}[{k}] = {f}", "{0}[1:3] *= {f}", "{0}.fill_({f})", "{0}.reshape([2, 2]).add_(paddle.ones([2, 2]))",
        "{0}[{k}] += {S}",
    ),
}  # fmt: skip


@statement(1.4)
def in_place(d: Draw) -> None:
    """A tensor or a view of one is written to."""
    kind = d.choose(("M", "A", "V"))
    x = d.fresh()
    if d.pure or d.chance(0.6):
        d.line(f"{x} = {draw(d, kind, 1)} * 1.0")
    else:
        d.line(f"{x} = {draw(d, kind, 1)}")
    d.bind(x, kind)
    guard = d.pure or d.chance(0.5)
    text = d.choose(WRITES[kind]).format(x, f=draw(d, "f", 1), S=draw(d, "S", 1), V=draw(d, "V", 1), k=d.integer(0, 3))
    if guard:
        d.line(text)
    else:
        with d.block("with paddle.no_grad():"):
            d.line(text)


@statement(0.5)
def view(d: Draw) -> None:
    """A tensor and a view of it, of which one is written to."""
    x, y = d.fresh(), d.fresh()
    d.line(f"{x} = {draw(d, 'M', 1)} * 1.0")
    d.line(f"{y} = {x}[{d.choose((':1', '1:', '::2', ':', ':, ::-1', ':, [0, 1, 2, 3]'))}]")
    d.bind(x, "M")
    d.bind(y, "A")
    d.line(f"{d.choose((x, y))}.{d.choose(('add_(1.0)', 'scale_(0.5)', 'tanh_()'))}")


@statement(0.5)
def gradient(d: Draw) -> None:
    x, g = d.fresh(), d.fresh()
    enables = d.chance(0.4)  # whatever the mode of the call is
    with d.block("with paddle.enable_grad():") if enables else nullcontext():
        d.line(f"{x} = {draw(d, 'M', 1)}{'' if enables and d.chance(0.5) else '.detach()'} * 0.5")
        d.line(f"{x}.stop_gradient = False")
        d.bind(x, "M")
        form = d.integer(0, 3)
        value = f"(paddle.tanh({x}) * {draw(d, 'M', 1)} + {x}).sum()"
        if form == 3:
            h = d.fresh("h")
            d.line(f"{h} = paddle.tanh({x}) * 0.5")
            d.line(f"({g},) = paddle.grad([({h} * {x}).sum() + {value}], [{x}], no_grad_vars=[{h}])")
        elif form == 0:
            d.line(f"({g},) = paddle.grad([{value}], [{x}])")
        elif form == 1:
            d.line(f"{g} = paddle.grad({value}, {x}, create_graph=True)[0]")
        else:
            d.line(f"{value}.backward()")
            d.line(f"{g} = {x}.grad")
    d.bind(x, "M")
    d.bind(g, "M")


@statement(0.5)
def made_leaf(d: Draw) -> None:
    """A leaf that wants a gradient, which it has by ``backward`` inside, or by that outside, if it is a result."""
    x, kind = d.fresh(), d.choose(("M", "V"))
    value = draw(d, kind, 1)
    forms = ["{}.detach()", "{}.detach().clone()", "paddle.zeros_like({})"]
    if kind == "V":
        forms += ["paddle.to_tensor([0.5, -1.0, 2.0, {k}.0], stop_gradient=False)"]
        if not d.pure:
            forms += [
                "paddle.create_parameter([4], 'float32', default_initializer=paddle.nn.initializer.Constant(0.5))"
            ]
    form = d.choose(forms)
    d.line(f"{x} = {form.format(value, k=d.integer(0, 3))}")
    if "{}" in form:
        d.line(f"{x}.stop_gradient = False")
    d.bind(x, kind)
    if d.chance(0.3) and form != forms[0]:  # a copy, which is written to alone
        with d.block("with paddle.no_grad():"):
            d.line(f"{x}.{d.choose(('add_(1.0)', 'scale_(0.5)'))}")
    if d.chance(0.3) and not d.scope.nested:
        d.line(f"({x} * {draw(d, kind, 1)}.detach()).sum().backward()")
        d.line(f"{x}.grad = {d.choose(('None', f'{x}.grad * 0.5', f'paddle.ones_like({x})'))}")
    if d.chance(0.7):
        made(d, "A" if kind == "M" else "V", f"{x} * {draw(d, kind, 1)}")


@statement(0.3)
def packed(d: Draw) -> None:
    """Tensors that gradients need are kept as something else, and counted."""
    compound(d)
    outside(d)
    if d.scope.nested:
        raise Refused
    x, pack, kept = d.fresh(), d.fresh("pack"), d.fresh("kept")
    d.line(f"{kept} = []")
    d.line(f"def {pack}(t):\n    {kept}.append(len({kept}))\n    return t.dtype, t.astype('float64')")
    with d.block(f"with paddle.autograd.saved_tensors_hooks({pack}, lambda p: p[1].astype(p[0])):"):
        d.line(f"{x} = paddle.tanh({draw(d, 'M', 1)}) * {draw(d, 'M', 1)}")
    d.bind(x, "M")
    made(d, "i", f"len({kept})")


@statement(0.3)
def watched(d: Draw) -> None:
    """A hook that notes how often it was called."""
    outside(d)
    if d.scope.nested:
        raise Refused
    x = d.fresh()
    d.line(f"{x} = {draw(d, 'M', 1)} * 0.5")
    with d.block(f"if not {x}.stop_gradient:"):
        d.line(f"{x}.register_hook(lambda g: LOG.append({draw(d, 's', 1)}))")
    d.bind(x, "M")


@statement(0.3)
def stopped(d: Draw) -> None:
    """A history that is stopped, and goes on; a leaf, where there was none."""
    x = d.fresh()
    d.line(f"{x} = {draw(d, 'M', 1)} * 1.5")
    d.bind(x, "M")
    d.line(f"{x}.stop_gradient = True")
    if d.chance(0.5):
        made(d, "A", f"{x} * 2.0")
    d.line(f"{x}.stop_gradient = False")
    if d.chance(0.7):
        made(d, "A", f"{x} + {x} * {draw(d, 'M', 1)}")


@statement(0.3)
def gradient_set(d: Draw) -> None:
    """The gradient of a leaf from outside is set, or written to."""
    outside(d)
    if d.scope.nested:
        raise Refused
    value = draw(d, "V", 1)
    d.line(f"WEIGHT.grad = {d.choose(('WEIGHT.detach() * 2', f'paddle.zeros_like(WEIGHT) + {value}.detach()'))}")
    if d.chance(0.5):
        d.line(d.choose(("WEIGHT.grad.scale_(0.5)", "WEIGHT.grad = WEIGHT.grad * 0.5", "WEIGHT.clear_gradient(False)")))


@statement(0.3)
def gradient_read(d: Draw) -> None:
    """A gradient from before the call, if there is one."""
    made(d, "V", "WEIGHT[0] if WEIGHT.grad is None else WEIGHT.grad[0] * 0.5")


@statement(0.2)
def tagged(d: Draw) -> None:
    """A tensor gets an attribute, which is read from it."""
    x = d.fresh()
    d.line(f"{x} = {draw(d, 'A', 1)} {d.choose(('* 2', '+ 1.0'))}")
    d.bind(x, "A")
    d.line(f"{x}.tag = {draw(d, 'i', 1)}")
    made(d, "i", f"{x}.tag")


@statement(0.4)
def left_by_an_error(d: Draw) -> None:
    """What an exception passes leaves the mode of gradients changed, or not."""
    compound(d)
    if d.scope.nested > 1:
        raise Refused
    enabled, name, t, y = (d.fresh(n) for n in ("enabled", "quiet", "t", "y"))
    d.line(f"{enabled} = paddle.is_grad_enabled()")
    decorated = d.chance(0.4)
    if decorated:
        d.line(d.choose(("@paddle.no_grad()", "@paddle.enable_grad()")))
    with d.function(f"def {name}({t}):", None, {t: "A"}):
        if not decorated or d.chance(0.3):
            d.line(f"paddle.set_grad_enabled({d.choose(('False', 'True', 'False'))})")
        with d.block(f"if {d.choose(('True', 'False', 'rows > 1', condition(d)))}:"):
            d.line(f"raise KeyError({draw(d, 's', 1)})")
        d.line(f"return {t} * 2")
    with d.block("try:"):
        d.line(f"{y} = {name}({draw(d, 'A', 1)})")
    with d.block("except KeyError:"):
        d.line(f"{y} = {draw(d, 'A', 1)}")
    d.bind(y, "A")
    if d.chance(0.6):
        made(d, "b", "paddle.is_grad_enabled()")
        made(d, "A", f"{y} * 0.5")
    d.line(f"paddle.set_grad_enabled({enabled})")


@statement(0.3)
def step(d: Draw) -> None:
    """A step of the optimizer."""
    outside(d)
    if d.scope.nested or d.scope.loops:
        raise Refused
    loss = d.fresh()
    d.line(f"{loss} = (NET({draw(d, 'M', 1)}.detach()) ** 2).sum() * 0.1")
    d.line(f"{loss}.backward()")
    d.line("OPTIMIZER.step()")
    d.line("OPTIMIZER.clear_grad()")
    d.bind(loss, "S")


@statement(0.3)
def backward(d: Draw) -> None:
    """Gradients gather in leaves outside."""
    outside(d)
    if d.scope.nested:
        raise Refused
    d.line(f"({draw(d, 'V', 1)} * WEIGHT[1]).sum().backward(retain_graph=True)")
    made(d, "V", "WEIGHT.grad[0]")


@statement(0.3)
def gone_through_again(d: Draw) -> None:
    """A history is gone through twice, by what has a part of it in common, which raises where it was not kept."""
    x, h, g = d.fresh(), d.fresh("h"), d.fresh()
    d.line(f"{x} = {draw(d, 'M', 1)}.detach() * 0.5")
    d.line(f"{x}.stop_gradient = False")
    d.line(f"{h} = paddle.tanh({x})")
    d.bind(x, "M")
    if d.chance(0.7):
        d.bind(h, "M")
    values = [d.choose((f"({h} * {draw(d, 'M', 1)}).sum()", f"{h}.sum()", f"({x} * 2.0).sum()")) for _ in range(2)]
    kept = d.choose(("True", "True", "False"))
    d.line(f"{g} = {x} * 0.0")
    for value, retain in zip(values, (kept, d.choose(("True", "False"))), strict=True):
        if d.scope.nested or d.chance(0.5):
            text = f"{g} = {g} + paddle.grad({value}, {x}, retain_graph={retain})[0]"
        else:
            text = f"{value}.backward(retain_graph={retain})"
        if kept == "False" and d.chance(0.5):
            with d.block("try:"):
                d.line(text)
            with d.block("except RuntimeError:"):
                d.line(f"{g} = {g} * 2.0")
        else:
            d.line(text)
    d.bind(g, "M")


@statement(0.2)
def schedule(d: Draw) -> None:
    """State of the library changes, where graphs end in either mode."""
    outside(d)
    d.line("SCHEDULE.step()")
    if d.chance(0.5):
        made(d, "M", f"{draw(d, 'M', 1)} * SCHEDULE.last_lr")


@statement(0.2)
def new_layer(d: Draw) -> None:
    made(d, "M", f"paddle.nn.{d.choose(('LayerNorm(4)', 'ReLU()', 'Softmax()'))}({draw(d, 'M', 1)})")


@statement(0.3)
def mode_of_net(d: Draw) -> None:
    outside(d)
    d.line(d.choose(("NET.eval()", "NET.train()", "NET.calls = NET.calls + 1")))


@statement(0.4)
def seeded(d: Draw) -> None:
    d.line(f"paddle.seed({draw(d, 'i', 1)} % 5)")
    made(d, "V", f"{d.choose(('paddle.rand([4])', 'paddle.randn([4]) * 0.5', 'paddle.uniform([4])'))}")


@statement(0.3)
def drawn(d: Draw) -> None:
    made(d, "M", f"{d.choose(('paddle.rand([rows, 4])', 'F.dropout(paddle.ones([rows, 4]), 0.3)'))}")


# --- output, and what is left


@statement(0.9)
def output(d: Draw) -> None:
    outside(d)
    kind = d.choose(("i", "s", "b", "Li", "i"))
    d.line(f"print({d.choose(('', repr('at') + ', '))}{draw(d, kind, 1)})")


@statement(0.2)
def deletion(d: Draw) -> None:
    name = d.fresh()
    d.line(f"{name} = {any_value(d)[1]}")
    d.line(f"del {name}")


@statement(0.3)
def discarded(d: Draw) -> None:
    d.line(any_value(d)[1])
