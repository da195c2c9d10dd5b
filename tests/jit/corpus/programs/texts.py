"""Strings, bytes, formats, printing and logging."""

from __future__ import annotations

import logging
import sys
import warnings

import paddle
from tests.jit.corpus.reasons import BREAKS, PRINTED, READS
from tests.jit.corpus.registry import given, program

LOG = logging.getLogger("corpus")


@program(lambda t: given(t(2), 3, 2.5), lambda t: given(t(2), 10, -1.0), lambda t: given(t(3), 3, 2.5))
def formats_of_numbers(x, n, ratio):
    text = f"{n:>4}|{ratio:.2f}|{n!r}|{n + 1=}|{x.shape}|{'nested ' + str(n)}"
    more = "{:03d} {name}".format(n, name="z") + "%d %s %.1f" % (n, "s", ratio)
    return x * len(text), text, more, format(n, "b"), f"{ratio:{n}.1f}", f"{x.dtype}"


@program(lambda t: t.of([1.0, 2.5], grad=False), lambda t: t.of([-4.0], grad=False), refused=READS)
def formats_of_tensors(x):
    y = x * 2
    return (
        y,
        f"{y.sum().item():.3f}",
        str(y.tolist()),
        f"{float(y[0])}",
        repr(y.shape),
        "%s" % y.dtype,
        f"{y[0].item():>8}",
    )


@program(lambda t: t.of([1.0, 2.0], grad=False), lambda t: t.of([3.0], grad=False), refused=BREAKS)
def text_of_a_tensor(x):
    y = x * 2
    return y + 1, str(y), f"{y.sum()}"


@program(lambda t: given(t(2), "ab,cd"), lambda t: given(t(2), "Hello, World,x"), lambda t: given(t(2), ""))
def string_methods(x, text):
    parts = text.split(",")
    joined = "-".join(p.strip().upper() for p in parts)
    flags = text.startswith("ab"), "cd" in text, text.find("d"), text.isalpha(), text[::-1], text[-1:], text * 2
    swapped = text.replace(",", ";").partition(";")
    return x * len(parts), joined, flags, swapped, ord((text + "a")[0]), chr(98), text < "b", text.encode()


@program(lambda t: given(t(2), b"abc"), lambda t: given(t(2), b"\x00\xff"), refused=BREAKS)
def bytes_and_bytearrays(x, data):
    array = bytearray(data)
    array.append(7)
    array[0] = 65
    return x * sum(array), bytes(array), data[0], data.hex(), int.from_bytes(data, "big"), data + b"!", len(array)


@program(
    lambda t: given(t(2, grad=False), 1), lambda t: given(t(2, grad=False), 2), lambda t: given(t(3, grad=False), 1)
)
def prints_of_numbers_and_shapes(x, n):
    print("start", n, x.shape)
    y = x * n
    print(f"n={n}", end="; ")
    print("a", "b", sep="-", file=sys.stdout)
    return y


@program(lambda t: t.of([1.0, 2.0], grad=False), lambda t: t.of([0.5, 4.0], grad=False), differs=PRINTED)
def print_of_a_tensor_in_the_middle(x):
    y = x * 2
    print(y)
    z = y + 1
    print("sum", z.sum().item())
    return z


@program(lambda t: given(t.of([1.0]), 3), lambda t: given(t.of([-1.0]), 2), differs=PRINTED)
def prints_in_branches_and_loops(x, n):
    for i in range(n):
        if x.sum() > 0:
            print("positive", i)
            x = x - 1
        else:
            print("negative", i)
            x = x + 2
    return x


@program(lambda t: given(t(2), "step"), lambda t: given(t(2), "other"), lambda t: given(t(3), "step"), refused=BREAKS)
def logging_calls(x, name):
    LOG.info("%s with %d rows", name, x.shape[0])
    y = x * 2
    LOG.debug("not shown")
    if LOG.isEnabledFor(logging.WARNING):
        LOG.warning("second %s", name)
    return y + 1


@program(lambda t: given(t(2), 1), lambda t: given(t(3), 2))
def warning_inside(x, n):
    y = x * n
    warnings.warn(f"careful {n}", UserWarning)
    return y + 1


@program(lambda t: given(t(2), "3", "2.5"), lambda t: given(t(2), "-7", "1e2"))
def conversions_between_classes(x, whole, real):
    n, f = int(whole), float(real)
    numbers = int(f), int("ff", 16), float(n), bool(n), str(n), complex(n, 1), list("ab"), tuple([n]), repr(f), hex(255)
    return (
        x * n + f,
        numbers,
        bool(""),
        bool([0]),
        int(True),
        str(None),
        str(b"x"),
        ascii("é"),
        set("aa"),
        dict([(1, 2)]),
    )


@program(lambda t: given(t(2), "a"), lambda t: given(t(2), "b"), lambda t: given(t(2), "zz"))
def dispatch_on_a_string(x, op):
    if op == "a":
        x = x + 1
    elif op in ("b", "c"):
        x = x * 2
    elif op.startswith("z") and len(op) > 1:
        x = x - 1
    return x


@program(lambda t: given(t(2), "x * 2 + k", 3), lambda t: given(t(2), "x - k", 1), refused=BREAKS)
def eval_of_a_text(x, text, k):
    y = eval(text, {"x": x, "k": k})
    return y + paddle.ones_like(y)


@program(lambda t: given(t(2), 2), lambda t: given(t(2), 3), refused=BREAKS)
def exec_of_a_text(x, n):
    scope = {"x": x * 1, "n": n}
    exec("y = x * n\nfor _ in range(n):\n    y = y + 1\n", scope)
    return scope["y"] * 2
