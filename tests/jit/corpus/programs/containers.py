"""Lists, dicts, sets and the classes of ``collections``: read, made and changed."""

from __future__ import annotations

import collections
import heapq

import paddle
from tests.jit.corpus.reasons import BREAKS
from tests.jit.corpus.registry import driver, factory, given, program


@program(lambda t: given(t(2), [1.0, 2.0]), lambda t: given(t(2), [5.0]), lambda t: given(t(3), []))
def list_methods(x, items):
    items.extend([3, 4])
    items.append(x * 2)
    items.insert(0, "first")
    last = items.pop()
    items.remove(3)
    index = items.index("first")
    items.reverse()
    again = items.copy()
    items.clear()
    return again, last, index, again.count("first"), items


@program(
    lambda t: given(t(2), {"a": 1}),
    lambda t: given(t(2), {"b": 2, "c": 3}),
    lambda t: given(t(2), {}),
)
def dict_methods(x, table):
    table["x"] = x * len(table)
    table.update(z=3, a=4)
    table.setdefault("a", 100)
    table.setdefault("new", []).append(1)
    popped = table.pop("b", None)
    items = [(k, v) for k, v in table.items() if k != "x"]
    merged = table | {"m": 1}
    table |= {"n": 2}
    found = table.get("c", -1), table.get("q"), "z" in table, len(table), list(table)
    del table["z"]
    return table["x"], popped, items, merged.keys() - {"x"}, found, dict.fromkeys("ab", 0), table.popitem()


@program(lambda t: given(t(2), {1, 2}), lambda t: given(t(2), {3}), lambda t: given(t(2), set()))
def set_methods(x, numbers):
    numbers.add(7)
    numbers.discard(1)
    numbers |= {8}
    other = frozenset({7, 9})
    both = numbers & other, numbers | other, numbers - other, numbers ^ other, numbers <= other
    return x * len(numbers), both, {other: 1}, sorted(numbers), 7 in other, numbers.isdisjoint({100})


@program(lambda t: given(t(2), {"a", "bc"}), lambda t: given(t(2), {"a"}), lambda t: given(t(2), {"xyz", "a", "q"}))
def sets_of_strings(x, names):
    for name in sorted(names):
        x = x * len(name)
    if "a" in names and {"bc"} <= names:
        x = x + 1
    return x, sum(map(len, names)), names | {"new"}


@program(lambda t: given(t(2), collections.deque([1, 2], maxlen=3)), lambda t: given(t(2), collections.deque([5])))
def deque_methods(x, queue):
    queue.append(x.shape[0])
    queue.appendleft(9)
    queue.rotate(1)
    first = queue.popleft()
    return x * first + queue[0], len(queue), list(queue)


@program(lambda t: given(t(2), "abca"), lambda t: given(t(2), "zz"), lambda t: given(t(2), ""), refused=BREAKS)
def counters_and_defaultdicts(x, text):
    counts = collections.Counter(text)
    counts["a"] += 2
    groups = collections.defaultdict(list)
    for i, c in enumerate(text):
        groups[c].append(i)
    tensors = collections.defaultdict(lambda: paddle.zeros([2]))
    tensors["k"] = tensors["k"] + x
    ordered = collections.OrderedDict(b=1, a=2)
    ordered.move_to_end("b")
    return counts, groups, counts.most_common(1), tensors["k"], ordered, x * counts["missing"]


@program(lambda t: given([[1, 2], [3]], t(2)), lambda t: given([[5]], t(2)))
def nested_lists_shared(nest, x):
    nest.append(nest[0])
    nest[0].append(x.shape[0])
    inner = nest[-1]
    return x * len(inner), inner is nest[0], nest


@factory(lambda t: given(t(2), "a"), lambda t: given(t(2), "b"), lambda t: given(t(2), "a"))
def cache_in_a_closure():
    cache = {}

    def f(x, key):
        if key not in cache:
            cache[key] = x.detach() * 2
        else:
            cache[key] = cache[key] + 1
        return x + cache[key], sorted(cache)

    return f


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(2), lambda t: t(2))
def history_that_grows():
    history = []

    def f(x):
        history.append(x.detach())
        if len(history) > 2:
            history.pop(0)
        return sum(history) / len(history), len(history)

    return f


@program(
    lambda t: given({"a": t(2), "b": [t(2), {"c": t(2)}]}),
    lambda t: given({"a": t(3), "b": [t(3), {"c": t(3)}]}),
)
def nested_inputs_and_outputs(tree):
    out = {k: v * 2 if isinstance(v, paddle.Tensor) else v for k, v in tree.items()}
    out["sum"] = (tree["a"] + tree["b"][0], [tree["b"][1]["c"]])
    tree["b"][1]["new"] = tree["a"] * 3
    return out


@program(lambda t: given([t(2), t(2)]), lambda t: given([t(3), t(3), t(3)]), lambda t: given([]))
def list_of_tensors(xs):
    if not xs:
        return None
    stacked = paddle.stack(xs)
    xs[0], xs[-1] = xs[-1], xs[0]
    xs.append(stacked.sum(axis=0))
    return stacked


@program(
    lambda t: given(t(4), (1, 2), [0, 1]),
    lambda t: given(t(4), (3,), [2]),
    lambda t: given(t(4), (), []),
)
def comparison_and_concatenation(x, pair, items):
    joined = pair + tuple(items)
    flags = pair == (1, 2), pair < (2,), items != [2], pair * 2, items > [1]
    return x * len(joined), flags, joined[::-1], [1, 2, 3][1:] + items, (1, 2) in [pair], not items


@program(lambda t: given(t(3), [4, 1, 3]), lambda t: given(t(3), [9, 8]), refused=BREAKS)
def heap_of_numbers(x, numbers):
    heapq.heapify(numbers)
    heapq.heappush(numbers, 2)
    least = heapq.heappop(numbers)
    return x * least, numbers, heapq.nlargest(2, numbers)


@program(lambda t: given(t(3), {"k": [1]}), lambda t: given(t(4), {"k": [2]}), raises="RuntimeError")
def dict_changed_while_it_is_walked(x, table):
    y = x * 2
    for key in table:
        table[key + "x"] = 1
    return y


@program(lambda t: given(t(2), [3, 1]), lambda t: given(t(2), [2]), raises="KeyError")
def missing_key_after_mutation(x, items):
    items.append(len(items))
    table = {3: "three"}
    return x * 2, table[items[0]]


class Stack(list):
    """A list with a method and an attribute."""

    name = "stack"

    def push(self, x):
        self.append(x)
        return self


class Defaults(dict):
    def __missing__(self, key):
        self[key] = len(key)
        return self[key]


@program(lambda t: given(t(2), Stack([1]), Defaults()), lambda t: given(t(3), Stack(), Defaults(abc=9)), refused=BREAKS)
def subclasses_of_list_and_dict(x, stack, table):
    stack.push(x * 2).push(5)
    stack.size = len(stack)
    return x * table["abc"] + table["z"], stack, stack.name, table, stack[-1]


@driver(lambda t: given(t(2), [1, 2]), lambda t: given(t(2), [1, 2, 3]), lambda t: given(t(2), [1]))
def list_changed_between_calls(capture):
    shared = []

    @capture
    def f(x):
        total = x * 0
        for n in shared:
            total = total + x * n
        return total

    def call(x, numbers):
        shared[:] = numbers
        return f(x)

    return call
