"""Functions and types in C whose results depend on their arguments alone."""

from __future__ import annotations

import collections
import datetime
import functools
import itertools
import math
import operator
import sys

PURE_TYPES = frozenset(
    (
        slice, range, frozenset, complex, bytes, bytearray, object, collections.deque, collections.OrderedDict,
        collections.defaultdict, collections.Counter, property, staticmethod, classmethod,
        functools.partial, functools.cmp_to_key, itertools.chain, itertools.count, itertools.cycle, itertools.repeat,
        itertools.product, itertools.combinations, itertools.permutations, itertools.islice, itertools.accumulate,
        itertools.starmap, itertools.takewhile, itertools.dropwhile, itertools.zip_longest, itertools.groupby,
        itertools.compress, operator.itemgetter, operator.attrgetter, operator.methodcaller, datetime.timedelta,
        memoryview,
        *((itertools.pairwise,) if sys.version_info >= (3, 10) else ()),
    )
)  # fmt: skip
# Of these, what iterates over its arguments.
ITERATING = PURE_TYPES - {
    slice, range, object, property, staticmethod, classmethod, functools.partial, functools.cmp_to_key,
    itertools.count, itertools.repeat, operator.itemgetter, operator.attrgetter, operator.methodcaller,
    datetime.timedelta, complex,
}  # fmt: skip
PURE_MODULES = frozenset(("math", "cmath", "_operator", "operator", "itertools", "_functools", "_collections"))
PURE = frozenset(
    (
        abs, all, any, ascii, bin, callable, chr, divmod, format, hex, isinstance, issubclass, max, min, oct, ord, pow,
        repr, round, sorted, sum, hash,
    )
)  # fmt: skip
# Functions that may be given symbolic numbers, of which they make others, or conditions that become guards.
SYMBOLIC = frozenset((abs, max, min, pow, sum, any, all, divmod, callable, math.floor, math.ceil, math.trunc))
OF_FRAMES = frozenset(
    (exec, eval, locals, globals, vars, dir, breakpoint, sys._getframe, compile)
)  # fmt: skip
