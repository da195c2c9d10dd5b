"""Damage to files: of bytes, and of what bytes mean in a format. All of it follows from the generator that is given."""

from __future__ import annotations

import json
import pickletools
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

LARGEST = 256 << 10  # bytes of a mutated file
NUMBERS = [0, 1, 2, 127, 128, 255, 256, 4095, 4096, 65535, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32]
NUMBERS += [1 << 40, (1 << 53) + 1, (1 << 60) - 1, 1 << 60, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
HUGE = [*NUMBERS, -1, -2, 10**30, 10**400, 1.5, -0.0, 1e308, True, False, None]

Mutator = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


def place(r: random.Random, data: bytes) -> int:
    """Where to do something: anywhere, or near the ends, where the fields are."""
    n = len(data)
    near = min(n, 80)
    return r.choice((r.randrange(n + 1), r.randrange(near + 1), n - r.randrange(near + 1)))


def flip(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    out = bytearray(data)
    for _ in range(r.choice((1, 1, 1, 2, 8))):
        if out:
            out[min(place(r, data), len(out) - 1)] ^= 1 << r.randrange(8)
    return bytes(out)


def byte(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    at = place(r, data)
    return data[:at] + bytes([r.randrange(256)]) + data[at + r.randrange(2) :]


def truncate(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return data[: place(r, data)]


def extend(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    rest = r.choice((b"\0", b".", b"}", b"\n", b"\x80\x04N.", data, r.randbytes(r.randrange(1, 100))))
    return data + rest if data else data  # what follows nothing is a file of its own


def chunk(r: random.Random, data: bytes) -> bytes:
    at = place(r, data)
    return data[at : at + r.choice((1, 4, 8, 40, 400))]


def remove(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    at = place(r, data)
    return data[:at] + data[at + r.choice((1, 2, 4, 8, 40)) :]


def splice(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    at, part = place(r, data), chunk(r, r.choice(others))
    return data[:at] + part + data[at + r.choice((0, len(part))) :]


def repeat(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    part = chunk(r, data)
    times = min(r.choice((2, 10, 1000, 100_000)), max(LARGEST - len(data), 0) // max(len(part), 1))
    at = place(r, data)
    return data[:at] + part * times + data[at:]


def number(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A length or an offset, in place of the bytes that are there."""
    at, width = place(r, data), r.choice((1, 2, 4, 8))
    value = r.choice((*NUMBERS, len(data), len(data) - 1, len(data) + 1, r.randrange(len(data) + 1)))
    value &= (1 << 8 * width) - 1
    return data[:at] + value.to_bytes(width, r.choice(("little", "little", "big"))) + data[at + width :]


def swap(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    a, b = sorted((place(r, data), place(r, data)))
    n = min(r.choice((1, 4, 8, 64)), b - a)
    return data[:a] + data[b : b + n] + data[a + n : b] + data[a : a + n] + data[b + n :]


BYTES: tuple[Mutator, ...] = (flip, flip, byte, truncate, extend, remove, splice, repeat, number, number, swap)


# JSON


def deep(r: random.Random) -> str:
    n = r.choice((10, 500, 1100, 20_000))
    return r.choice(("[" * n + "]" * n, '{"a":' * n + "1" + "}" * n, "[" * n))


def paths(value: Any, at: tuple = ()) -> list[tuple]:
    out = [at]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        out += paths(inner, (*at, key))
    return out


def change(value: Any, at: tuple, new: Any) -> Any:
    if not at:
        return new
    value[at[0]] = change(value[at[0]], at[1:], new)
    return value


def look(value: Any, at: tuple) -> Any:
    for key in at:
        value = value[key]
    return value


MARK = "@@marked@@"


def json_text(r: random.Random, text: bytes, others: Sequence[bytes]) -> bytes:
    """Another value, type, key or nesting somewhere in a JSON text."""
    try:
        value = json.loads(text)
        everywhere = paths(value)
    except (ValueError, RecursionError):
        return flip(r, text, others)
    for _ in range(r.choice((1, 1, 2, 4))):
        at = r.choice(everywhere)
        kind = r.randrange(6)
        try:
            if kind == 0:
                value = change(value, at, r.choice(HUGE))
            elif kind == 1:
                value = change(value, at, look(json.loads(json.dumps(value)), r.choice(everywhere)))
            elif kind == 2:
                value = change(value, at, r.choice(("", "x" * 5000, "../../etc/passwd", "\0", "w", [], {}, [[]] * 40)))
            elif kind == 3:
                value = change(value, at, MARK)
            elif kind == 4:
                here = look(value, at)
                if isinstance(here, dict) and here:
                    here.pop(r.choice(list(here)))
                elif isinstance(here, list):
                    here.insert(r.randrange(len(here) + 1), r.choice(HUGE))
            else:
                here = look(value, at)
                if isinstance(here, (int, float)):
                    value = change(value, at, here + r.choice((-1, 1, 4, 1 << 31)))
                elif isinstance(here, dict):
                    here[r.choice(("x", "__metadata__", "umiak", "", "w"))] = r.choice(HUGE)
        except (KeyError, IndexError, TypeError, OverflowError):
            pass
    out = json.dumps(value, separators=(",", ":"), ensure_ascii=r.random() < 0.5)
    what = r.choice((deep(r), "9" * 5000, "NaN", "1e999", "-0", '{"a":1,"a":2}', '{"a":1,' * 200 + '"b":2' + "}" * 200))
    out = out.replace(f'"{MARK}"', what)
    if r.random() < 0.1 and out.startswith("{") and ":" in out:  # a key twice
        key = out[1 : out.index(":")]
        out = f"{{{key}:{r.choice(('1', '{}', '[]'))},{out[1:]}"
    return out.encode("utf-8", "surrogatepass")


# Pickles

OPCODES = [o.code.encode("latin1") for o in pickletools.opcodes]


def opcodes(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Opcodes left out, twice, in another order, in between, or with other arguments."""
    try:
        at = [pos for _, _, pos in pickletools.genops(data)]
    except Exception:
        return flip(r, data, others)
    parts = [data[a:b] for a, b in zip(at, [*at[1:], len(data)])]
    for _ in range(r.choice((1, 1, 2, 5))):
        i = r.randrange(len(parts))
        kind = r.randrange(8)
        if kind == 0:
            del parts[i]
            parts = parts or [b"."]
        elif kind == 1:
            j = r.randrange(len(parts))
            parts[i], parts[j] = parts[j], parts[i]
        elif kind == 2:
            parts.insert(i, parts[r.randrange(len(parts))])
        elif kind == 3:
            parts.insert(i, opcode(r))
        elif kind == 4:
            run = parts[i : i + r.choice((1, 2, 4))]
            size = max(sum(map(len, run)), 1)
            parts[i:i] = run * min(r.choice((3, 100, 20_000)), LARGEST // size)
        elif kind == 5:
            parts[i] = parts[i][:1] + number(r, parts[i][1:], others)
        elif kind == 6:
            parts[i] = b"h" + bytes([r.randrange(60)])
        else:
            parts.insert(i, blow_up(r))
    return b"".join(parts)[: 2 * LARGEST]


def opcode(r: random.Random) -> bytes:
    code = r.choice(OPCODES)
    wide = struct.pack("<I", r.choice((0, 1, 5, 1 << 31)))
    argument = r.choice((b"", bytes([r.randrange(8)]), wide, b"1\n", b"a\nb\n"))
    return code + argument


def blow_up(r: random.Random) -> bytes:
    """A few opcodes that stand for much."""
    n = r.choice((20, 40, 3000))
    colliding = b"".join(b"\x8a\x0b" + (i * ((1 << 61) - 1)).to_bytes(11, "little") + b"N" for i in range(n))
    doubled = b"".join(b"r" + struct.pack("<I", 900 + i) + b"2\x86" for i in range(n))
    return r.choice(
        (
            b")" + b"\x85" * n,
            b"]" * n + b"a" * (n - 1),
            b"K\x01" + doubled,
            b"}K\x01" + doubled + b"Ns",
            b"\x8f(K\x01" + doubled + b"\x90",
            b"}(" + colliding + b"u",
            b"(" * n,
            b"\x8f" * n,
            b"c_codecs\nencode\nX\x04\x00\x00\x00\xc3\xa9aaX\x06\x00\x00\x00latin1\x86R",
            b"cbuiltins\nbytearray\nC\x04abcd\x85R",
            b"ccollections\nOrderedDict\n)R",
            b"cnumpy\ndtype\nX\x02\x00\x00\x00f8K\x00K\x01\x87R",
        )
    )


# AOA

WORDS = [
    "$LAYER_ID",
    "$EXPERT_ID",
    "$LAYER_ID_OFFSET",
    "*",
    "^T",
    "->",
    ",",
    "=",
    "_",
    "[0:4]",
    "[0:1000000000]",
    "axis=0",
]
WORDS += [
    "axis=-7",
    "fused_qkv",
    "fused_ffn",
    "num_heads=4",
    "num_key_value_groups=1000000000",
    "permute='[1,0]'",
    "'",
    "[",
]
WORDS += [
    "dtype='float16'",
    "src_dtype='float32'",
    "#",
    "9" * 30,
    "\0",
    "é",
    "layers.0.q",
    "x" * 300,
    "equal",
    "]",
    "\n",
]


def statements(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Other words, lines more than once or in another order, doubled names."""
    rows = data.decode("utf-8", "replace").split("\n")
    for _ in range(r.choice((1, 1, 2, 5))):
        i = r.randrange(len(rows))
        words = rows[i].split(" ")
        kind = r.randrange(7)
        if kind == 0:
            words[r.randrange(len(words))] = r.choice(WORDS)
        elif kind == 1:
            words.insert(r.randrange(len(words) + 1), r.choice(WORDS))
        elif kind == 2:
            words.pop(r.randrange(len(words)))
        elif kind == 3:
            rows.insert(r.randrange(len(rows) + 1), rows[i])
            continue
        elif kind == 4:
            n = r.choice((3, 5, 9)) if r.random() < 0.98 else 70
            rows[i:i] = [f"x, x -> d0, axis={r.choice((0, 1))}"] + [f"d{k}, d{k} -> d{k + 1}, axis=0" for k in range(n)]
            continue
        elif kind == 5:
            words = [w.replace("q", r.choice(("k", "q[0:3]", "*", "q^T"))) for w in words]
        else:
            n = r.choice((3, 20, 40)) if r.random() < 0.95 else 600
            rows += [f"c{k} -> c{k + 1}, permute='[1,0]'" for k in range(n)]
            continue
        rows[i] = " ".join(words) if words else ""
    return "\n".join(rows).encode("utf-8", "surrogatepass")
