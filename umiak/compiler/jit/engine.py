"""``load``: from texts to libraries, each text compiled once per process and, with the cache, once per user."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict
from weakref import WeakValueDictionary

from umiak.compiler import compilation_log, dump, statistics
from umiak.compiler.jit import arena, codegen, object_cache
from umiak.compiler.jit.errors import JitError
from umiak.compiler.jit.image import ALIGN, Image
from umiak.compiler.jit.library import Library
from umiak.compiler.jit.processor import host, toolchain
from umiak.compiler.jit.symbols import resolve
from umiak.compiler.jit.target import Target
from umiak.util import flags
from umiak.util.errors import op_error
from umiak.util.locks import fork_safe

ABI = 1  # of kernels (docs/design/loop_ir.md) and of what is kept on disk
_IMAGE, _OBJECT = b"I", b"O"  # first byte of what is kept: linked here, or LLVM's to load
_TRAP = b"\xcc"

KEEP = flags.define("jit_keep", 1024, "how many libraries stay loaded while nobody uses them")
KEEP_MB = flags.define("jit_keep_mb", 64, "how much code stays loaded while nobody uses it")


class _Pending:
    """A library that one thread makes and others may wait for."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.done = threading.Event()
        self.library: Library | None = None  # None when it could not be made


class _Table:
    """Libraries by text: all that live, weakly, and the recently used, strongly."""

    def __init__(self) -> None:
        self.lock = fork_safe(threading.Lock())
        self.live: WeakValueDictionary[bytes, Library] = WeakValueDictionary()
        self.recent: OrderedDict[bytes, Library] = OrderedDict()
        self.bytes = 0
        self.pending: dict[bytes, _Pending] = {}

    def find(self, key: bytes) -> Library | None:
        with self.lock:
            library = self.live.get(key)
            if library is not None:
                self._keep(key, library)
        return library

    def claim(self, key: bytes) -> Library | _Pending:
        """The library, or who makes it: maybe this thread from now on."""
        with self.lock:
            library = self.live.get(key)
            if library is None:
                return self.pending.setdefault(key, _Pending())
            self._keep(key, library)
            return library

    def publish(self, key: bytes, pending: _Pending, library: Library | None) -> None:
        with self.lock:
            if library is not None:
                self.live[key] = library
                self._keep(key, library)
            self.pending.pop(key, None)
        pending.library = library
        pending.done.set()

    def _keep(self, key: bytes, library: Library) -> None:
        if key in self.recent:
            self.recent.move_to_end(key)
            return
        self.recent[key] = library
        self.bytes += library.size
        limit = KEEP_MB.value << 20
        while self.recent and (len(self.recent) > KEEP.value or self.bytes > limit):
            self.bytes -= self.recent.popitem(last=False)[1].size

    def drop(self) -> None:
        """Keep nothing that nobody uses."""
        with self.lock:
            self.recent.clear()
            self.bytes = 0


_TABLE = _Table()
_prefixes: dict[Target, object] = {}


# Whoever makes them is not in the child; the lock is free by then.
os.register_at_fork(after_in_child=_TABLE.pending.clear)


def load(text: str, names: Sequence[str], target: Target | None = None) -> Library:
    """The machine code of an LLVM text that defines ``names``; the first one names it in reports and dumps."""
    target = target or host()
    library = _TABLE.find(_key(text, target))
    if library is None:
        return load_many([(text, names)], target)[0]
    statistics.count(_title(names), "from_memory")
    _require(library, names)
    return library


def load_many(requests: Sequence[tuple[str, Sequence[str]]], target: Target | None = None) -> list[Library]:
    """The libraries of several ``(text, names)``, in order. New ones share a block of memory, until the last goes."""
    target = target or host()
    keys = [_key(text, target) for text, _ in requests]
    libraries: dict[bytes, Library] = {}
    mine: dict[bytes, tuple[_Pending, str, str]] = {}
    others: list[tuple[bytes, _Pending]] = []
    try:
        for key, (text, names) in zip(keys, requests):
            if key in mine:
                continue
            claim = _TABLE.claim(key)
            if isinstance(claim, Library):
                libraries[key] = claim
                statistics.count(_title(names), "from_memory")
            elif claim.thread == threading.get_ident():
                mine[key] = claim, text, _title(names)
            else:
                others.append((key, claim))
        # Own ones first, so that two threads that wait for each other's texts both go on.
        if mine:
            libraries.update(_make({key: (text, name) for key, (_, text, name) in mine.items()}, target))
    finally:
        for key, (pending, _, _) in mine.items():
            _TABLE.publish(key, pending, libraries.get(key))
    for key, pending in others:
        pending.done.wait()
        if pending.library is not None:
            libraries[key] = pending.library
    for key, request in zip(keys, requests):
        if key not in libraries:  # failed in another thread: the error is raised in this one too
            libraries[key] = load(*request, target)
        _require(libraries[key], request[1])
    return [libraries[key] for key in keys]


def forget() -> None:
    """Unload what nobody uses."""
    _TABLE.drop()


def _title(names: Sequence[str]) -> str:
    return names[0] if names else "(unnamed)"


def _require(library: Library, names: Sequence[str]) -> None:
    for name in names:
        library.address(name)


def _key(text: str, target: Target) -> bytes:
    prefix = _prefixes.get(target)
    if prefix is None:
        options = (*codegen.LLVM_OPTIONS, *codegen.addressing(target))
        parts = (f"ABI {ABI}", toolchain(), *options, target.key, "")
        prefix = _prefixes[target] = hashlib.sha256("\0".join(parts).encode())
    digest = prefix.copy()
    digest.update(text.encode())
    return digest.digest()


def _make(requests: dict[bytes, tuple[str, str]], target: Target) -> dict[bytes, Library]:
    """Compile or read ``(text, name)`` and load them together."""
    if target.machine != host().machine:
        raise op_error(JitError, "jit.load", f"a target that this {host().machine} machine runs", target.triple)
    arena.check()
    packed = [(name, _packed(key, text, name, target)) for key, (text, name) in requests.items()]
    start = time.perf_counter()
    libraries = _place(packed, target)
    share = (time.perf_counter() - start) / len(packed)
    for name, _ in packed:
        statistics.add_time(name, "load", share)
    return dict(zip(requests, libraries))


def _packed(key: bytes, text: str, name: str, target: Target) -> bytes:
    """Return the cache entry of a text."""
    _show(text, name, target)
    with statistics.timed(name, "disk"):
        code = object_cache.get(key)
    if code is not None:
        statistics.count(name, "from_disk")
        return code
    with statistics.timed(name, "codegen"):
        data = codegen.compile_object(text, target, name)
    statistics.count(name, "compiled")
    from umiak.compiler.jit import link  # what a process whose kernels are on disk does not need

    with statistics.timed(name, "link"):
        try:
            packed = _IMAGE + link.link(data).pack()
        except link.UnsupportedError:
            packed = _OBJECT + data
    with statistics.timed(name, "disk"):
        object_cache.put(key, packed)
    return packed


def _show(text: str, name: str, target: Target) -> None:
    with compilation_log.logged("llvm", name, lambda: {"text": text, "name": name, "target": asdict(target)}):
        dump.dump("llvm", name, text)
        dump.dump("asm", name, lambda: codegen.assembly(text, target, name))


def _place(packed: list[tuple[str, bytes]], target: Target) -> list[Library]:
    """Load what ``_packed`` gave; images go into one block."""
    libraries: list[Library | None] = [None] * len(packed)
    images: list[tuple[int, Image, dict[str, int], int]] = []
    end = 0
    for i, (name, data) in enumerate(packed):
        if data[:1] == _OBJECT:
            from umiak.compiler.jit import orc

            libraries[i] = orc.load_object(data[1:], target, name)
            continue
        code = Image.unpack(data[1:])
        images.append((i, code, {symbol: resolve(symbol, name) for symbol in code.imports}, end))
        end += _aligned(len(code.code))
    if images:
        block = arena.MEMORY.write(
            end,
            lambda address: b"".join(
                code.filled(address + start, imports).ljust(_aligned(len(code.code)), _TRAP)
                for _, code, imports, start in images
            ),
        )
        size = block.size // len(images)
        for i, code, _, start in images:
            addresses = {symbol: block.address + start + offset for symbol, offset in code.exports.items()}
            libraries[i] = Library(addresses, block, size)
    return libraries  # type: ignore[return-value]


def _aligned(size: int) -> int:
    return -(-size // ALIGN) * ALIGN
