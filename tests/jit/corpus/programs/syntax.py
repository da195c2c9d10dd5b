"""Syntax and built-in types in less usual ways."""

from __future__ import annotations

import collections
import functools
import itertools

from tests.jit.corpus.reasons import BREAKS, STRUCTURE
from tests.jit.corpus.registry import factory, given, program


@program(lambda t: given(t(2), [1, 2, 3, 4, 5, 6]), lambda t: given(t(2), [9, 8, 7, 6, 5, 4, 3]))
def slices_of_lists_assigned_and_deleted(x, items):
    copy = items[:]
    copy[1:3] = [x, 20, 30]
    del copy[-2:]
    copy[::2] = [0] * len(copy[::2])
    tail = copy.pop(1), copy + [1], copy * 2
    del copy[::2]
    return x * len(copy), copy, tail, items == list(items), [*items, *copy][-3:], items[::-2]


@program(lambda t: given(t(2), {"a": 1, "b": 2}), lambda t: given(t(2), {"c": 3}))
def views_of_dicts(x, table):
    keys, values, items = table.keys(), table.values(), table.items()
    table["z"] = 26
    merged = {**table, "a": 100, **{"q": x}}
    common = sorted(keys & {"a", "z"}), sorted(keys | {"m"}), ("z", 26) in items, sum(values), list(reversed(table))
    return x * len(keys), merged, common, dict(zip(keys, values)), {v: k for k, v in items}, max(table, key=table.get)


@program(lambda t: given(t(2), 3), lambda t: given(t(2), 0), lambda t: given(t(2), 7))
def else_of_loops(x, n):
    for k in range(n):
        if k == 5:
            break
    else:
        x = x + 1
    while n > 0:
        n -= 1
        if n == 1:
            x = x * 3
            break
    else:
        x = x - 7
    return x, n


@program(lambda t: given(t(2), 3), lambda t: given(t(2), 4))
def functions_without_a_name(x, n):
    fixed = (lambda f: (lambda g: g(g))(lambda g: f(lambda v: g(g)(v))))(
        lambda me: lambda k: 1 if k < 2 else k * me(k - 1)
    )
    curried = lambda a: lambda b: lambda c: a * b + c  # noqa: E731
    table = {"+": lambda a, b: a + b, "-": lambda a, b: a - b}
    return x * fixed(n), curried(x)(n)(1), table["+"](x, 1), (lambda *a, k=n, **kw: (a, k, kw))(x, z=1), (lambda: x)()


class Tree:
    def __init__(self, value, *children):
        self.value, self.children = value, children

    def __iter__(self):
        yield self.value
        for child in self.children:
            yield from child

    def depth(self):
        return 1 + max((c.depth() for c in self.children), default=0)


@program(lambda t: given(Tree(t(2), Tree(t(2)), Tree(t(2), Tree(t(2))))), lambda t: given(Tree(t(3))))
def generators_that_recurse(tree):
    return sum(tree), tree.depth(), [v * i for i, v in enumerate(tree)]


@program(lambda t: given(t(2), [1, 2, 3, 4]), lambda t: given(t(2), [5]), refused=BREAKS)
def iterators_of_itertools(x, items):
    a, b = itertools.tee(items)
    pairs = list(zip(a, itertools.islice(b, 1, None)))
    longest = list(itertools.zip_longest(items, "ab", fillvalue=None))
    groups = {k: [*g] for k, g in itertools.groupby(items, key=lambda n: n > 2)}
    kept = (
        [*itertools.compress(items, [1, 0, 1])],
        [*itertools.starmap(pow, [(2, 3)])],
        [*itertools.dropwhile(lambda n: n < 3, items)],
    )
    return (
        x * len(pairs),
        pairs,
        longest,
        groups,
        kept,
        list(itertools.permutations(items[:2])),
        [*itertools.repeat(x, 2)],
    )


@factory(lambda t: t(2), lambda t: t(2), refused=BREAKS)
def iterator_that_a_function_feeds():
    def f(x):
        state = [3]

        def read():
            state[0] -= 1
            return state[0]

        total = x
        for n in iter(read, 0):
            total = total * n + 1
        return total, state

    return f


@program(lambda t: given(t(2), 1), lambda t: given(t(2), 2), lambda t: given(t(2), 5))
def flow_through_finally(x, n):
    log = []

    def steps():
        for k in range(4):
            try:
                if k == n:
                    return k
                if k == 1:
                    continue
                log.append(k)
            finally:
                log.append(-k)
        return "end"

    return x * len(log), steps(), log


class Fluent:
    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def record(*args):
            self.calls.append((name, len(args)))
            return self

        return record


@program(lambda t: given(t(2)), lambda t: given(t(3)))
def chains_of_calls(x):
    f = Fluent().one(1).two(x, 2).three()
    return x.abs().exp().clip(0, 2).sum().unsqueeze(0) * len(f.calls), f.calls


class Matrix:
    """Indices of every form, and attributes that are set and deleted."""

    def __init__(self):
        self.log = []

    def __getitem__(self, key):
        self.log.append(repr(key))
        return len(self.log)

    def __setitem__(self, key, value):
        self.log.append((repr(key), type(value).__name__))

    def __delitem__(self, key):
        self.log.append(("del", repr(key)))

    def __setattr__(self, name, value):
        if name != "log":
            self.log.append(("set", name))
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        self.log.append(("del", name))
        object.__delattr__(self, name)

    def __contains__(self, x):
        return x == 3

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.log.append("exit")


@program(lambda t: given(t(2)), lambda t: given(t(3)), refused=BREAKS)
def indices_of_every_form(x):
    m = Matrix()
    k = m[1, 2:3, ..., None] + m[::2] + m[(1,)] + m["a"]
    m[0:1] = x
    m[k] += 1
    del m[1, 2]
    m.attr = k
    m.attr += 1
    del m.attr
    with m as same:
        pass
    return x * k, m.log, 3 in m, 4 not in m, same is m


@program(lambda t: given(t(2), 3), lambda t: given(t(2), 4), refused=BREAKS)
def classes_that_hold_functions(x, n):
    class Registry(dict):
        def register(self, name=None):
            def add(f):
                self[name or f.__name__] = f
                return f

            return add

    registry = Registry()

    @registry.register()
    def double(v):
        return v * 2

    @registry.register("power")
    def _(v, k=n):
        return v**k

    return [f(x) for f in registry.values()], list(registry), functools.reduce(lambda v, f: f(v), registry.values(), x)


@program(lambda t: given(t(2), 2), lambda t: given(t(2), 3), refused=BREAKS)
def single_dispatch(x, n):
    @functools.singledispatch
    def show(v):
        return "other"

    @show.register
    def _(v: int):
        return f"int {v}"

    @show.register(list)
    def _(v):
        return [show(i) for i in v]

    return x * n, show([n, "a", [n]]), functools.partial(max, 1)(n)


@program(lambda t: given(t(2), "a=1;b=22"), lambda t: given(t(2), "c=3"))
def parsing_of_a_text(x, text):
    table = dict(part.split("=") for part in text.split(";"))
    numbers = {k: int(v) for k, v in table.items()}
    total = sum(numbers.values())
    head, sep, rest = text.partition(";")
    flags = (
        text.isascii(),
        text.count("="),
        text.rfind("="),
        text.title(),
        text.center(12, "*"),
        text.translate({61: 58}),
    )
    return x * total, numbers, head, sep, rest, flags, ",".join(sorted(table)), text.encode().decode()[::-1]


@program(lambda t: given(t(2), [3, 1, 2]), lambda t: given(t(2), [5, 5]), refused=BREAKS)
def sorting_and_ranking(x, items):
    order = sorted(range(len(items)), key=items.__getitem__)
    pairs = sorted(zip(items, "abc"), key=lambda p: (-p[0], p[1]))
    items.sort(reverse=True)
    compare = functools.cmp_to_key(lambda a, b: b - a)
    return x * order[0], order, pairs, items, sorted(items, key=compare), min(items, default=0), [*map(str, items)]


@program(lambda t: given(t(2), 3), lambda t: given(t(2), 4), refused=BREAKS)
def named_tuples_and_defaults(x, n):
    Point = collections.namedtuple("Point", ["x", "y"], defaults=[n])
    p = Point(x)
    q = p._replace(y=x * 2)
    counts = collections.Counter("hello"[:n])
    chain = collections.ChainMap({"a": 1}, {"a": 2, "b": n})
    return p.x * p.y + q.y, p._fields, counts.total(), chain["a"] + chain["b"], Point._make([1, 2])


@program(lambda t: given(t(2), t(2)), lambda t: given(t(3), t(3)))
def assignments_in_a_row(a, b):
    c = d = a * 2
    c, d = d + 1, c
    (e, f), g = (c, d), [a, b]
    g[0], g[1] = g[1], g[0]
    i = 0
    i, g[i] = 1, c
    h = [*g, *(e, f)]
    d += 1
    return c, d, g, len(h), h[1] is a


@program(lambda t: t.of([2.0, 3.0]), lambda t: t.of([-2.0, 3.0]), refused=STRUCTURE)
def assertions_and_conditions_on_tensors(x):
    assert x.shape[0] == 2 and x.ndim == 1, "shape"
    y = x if (x[0] > 0 and x[1] > 0) or x[0] < -10 else -x
    z = [v for v in (x, y) if (v > 0).all()]
    return y, len(z), bool((x == x).all()) and not (x != x).any(), x[0] > x[1] or "no"


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(2))
def function_that_changes_itself():
    def f(x):
        f.calls = getattr(f, "calls", 0) + 1
        y = x * f.calls
        if f.calls == 2:
            f.note = "second"
        return y, hasattr(f, "note")

    return f


@program(lambda t: given(t(2), 3), lambda t: given(t(2), 5), raises="RecursionError")
def endless_recursion(x, n):
    def down(k):
        return down(k + 1) if k != n else x * k

    return down(n - 1) + (down(n + 1) if n > 4 else 0)
