"""Loading machine code: addresses, lifetimes, symbols, errors, threads, forks."""

import ctypes
import gc
import os
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace

import pytest

from tests.support.garbage import collect_garbage
from umiak.compiler import jit, statistics
from umiak.compiler.jit import arena, codegen, engine, image, link, object_cache

CONSTANT = "define i64 @{name}() {{\n  ret i64 {value}\n}}\n"
CALLS = """
declare double @{callee}(double)
define double @k(double %x) {{
  %y = call double @{callee}(double %x)
  %z = call double @{callee}(double %y)
  ret double %z
}}
"""
# Constants in memory, a loop, two functions of which one calls the other, and a table of pointers to functions.
RICH = """
@table = private unnamed_addr constant [2 x ptr] [ptr @twice, ptr @sum]
define i64 @twice(i64 %x) {
  %y = shl i64 %x, 1
  ret i64 %y
}
define i64 @sum(i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %s = phi i64 [ 0, %entry ], [ %t, %loop ]
  %t = add i64 %s, %i
  %j = add i64 %i, 1
  %go = icmp sle i64 %j, %n
  br i1 %go, label %loop, label %end
end:
  %u = call i64 @twice(i64 %t)
  ret i64 %u
}
define i64 @pick(i64 %which, i64 %x) {
  %p = getelementptr [2 x ptr], ptr @table, i64 0, i64 %which
  %f = load ptr, ptr %p
  %y = call i64 %f(i64 %x)
  ret i64 %y
}
define i64 @jump(i64 %x) {
  switch i64 %x, label %other [ i64 0, label %a i64 1, label %b i64 2, label %c i64 3, label %d i64 4, label %e ]
a:
  %ra = call i64 @twice(i64 50)
  ret i64 %ra
b:
  %rb = call i64 @sum(i64 3)
  ret i64 %rb
c:
  %rc = call i64 @twice(i64 7)
  ret i64 %rc
d:
  %rd = call i64 @sum(i64 5)
  ret i64 %rd
e:
  %re = call i64 @twice(i64 9)
  ret i64 %re
other:
  ret i64 -1
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @clear(ptr %p, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)
  ret void
}
define void @scale(ptr %p) {
  %x = load <4 x float>, ptr %p, align 4
  %y = fmul <4 x float> %x, <float 1.0, float 2.0, float 3.0, float 4.0>
  store <4 x float> %y, ptr %p, align 4
  ret void
}
"""
MUTABLE = """
@counter = global i64 5
define i64 @next() {
  %x = load i64, ptr @counter
  %y = add i64 %x, 1
  store i64 %y, ptr @counter
  ret i64 %y
}
"""


@pytest.fixture(autouse=True)
def isolated(tmp_path):
    """A cache, a table and counters of the test's own."""
    before = object_cache.FOLDER.value
    object_cache.FOLDER.set(str(tmp_path / "cache"))
    collect_garbage()  # what other tests left in cycles would be found in memory
    engine.forget()
    statistics.reset()
    yield
    object_cache.FOLDER.set(before)
    engine.forget()


def constant(value, name="k"):
    return CONSTANT.format(name=name, value=value)


def call(library, name, *values, kind=ctypes.c_int64):
    return ctypes.CFUNCTYPE(kind, *[kind] * len(values))(library.address(name))(*values)


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "UMIAK_CACHE_DIR": os.path.dirname(object_cache.FOLDER.value), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_runs():
    library = jit.load(constant(42), ["k"])
    assert call(library, "k") == 42
    assert library.names == ("k",)


def test_calls_loops_constants_and_tables_of_functions():
    library = jit.load(RICH, ["twice", "sum", "pick", "jump", "clear", "scale"])
    assert call(library, "sum", 10) == 110
    assert [call(library, "jump", i) for i in range(6)] == [100, 12, 14, 30, 18, -1]
    assert call(library, "pick", 0, 21) == 42
    assert call(library, "pick", 1, 4) == 20
    values = (ctypes.c_float * 4)(1, 1, 1, 1)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.address("scale"))(ctypes.addressof(values))
    assert list(values) == [1, 2, 3, 4]
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library.address("clear"))(ctypes.addressof(values), 12)
    assert list(values) == [0, 0, 0, 4]


@pytest.mark.skipif(not jit.host().triple.startswith("x86_64"), reason="the own linker knows x86-64")
def test_rich_text_is_linked_here():
    linked = link.link(codegen.compile_object(RICH, jit.host(), "rich"))
    assert set(linked.exports) == {"twice", "sum", "pick", "jump", "clear", "scale"}
    assert set(linked.imports) == {"memset"}
    assert image.Image.unpack(linked.pack()) == linked


def test_mutable_data_goes_through_llvm_and_is_private_to_a_library():
    library = jit.load(MUTABLE, ["next"])
    assert [call(library, "next") for _ in range(2)] == [6, 7]
    other = jit.load(MUTABLE.replace("5", "50"), ["next"])
    assert call(other, "next") == 51
    assert call(library, "next") == 8


def test_llvm_loads_the_same_as_the_own_linker(monkeypatch):
    def refuse(data):
        raise link.UnsupportedError("all")

    monkeypatch.setattr(link, "link", refuse)
    object_cache.ENABLED.set(False)
    try:
        library = jit.load(RICH, ["sum"])
        assert call(library, "pick", 1, 4) == 20
        assert call(jit.load(CALLS.format(callee="sqrt"), ["k"]), "k", 16.0, kind=ctypes.c_double) == 2
        with pytest.raises(jit.SymbolError, match="'k' uses, got none called 'no_such_function'"):
            jit.load(CALLS.format(callee="no_such_function"), ["k"])
    finally:
        object_cache.ENABLED.set(True)


def test_one_text_is_compiled_once_while_it_lives():
    library = jit.load(constant(1), ["k"])
    assert jit.load(constant(1), ["k"]) is library
    assert statistics.total("compiled") == 1
    assert statistics.total("from_memory") == 1


def test_code_lives_as_long_as_its_library_and_no_longer(monkeypatch):
    monkeypatch.setattr(engine.KEEP, "value", 0)
    arena.MEMORY.write(1, lambda _: b"")  # takes back what earlier tests dropped
    used = arena.MEMORY.used
    library = jit.load(constant(7), ["k"])
    address = library.address("k")
    gc.collect()
    others = [jit.load(constant(100 + i), ["k"]) for i in range(20)]
    assert call(library, "k") == 7
    assert address not in {other.address("k") for other in others}
    del library, others
    again = jit.load(constant(8), ["k"])
    assert arena.MEMORY.used <= used + again.size + arena.PAGE
    assert call(again, "k") == 8


def test_what_nobody_uses_is_bounded(monkeypatch):
    monkeypatch.setattr(engine.KEEP, "value", 3)
    for i in range(6):
        jit.load(constant(i), ["k"])
    jit.load(constant(3), ["k"])  # the least recently used of the three: now the most
    jit.load(constant(6), ["k"])
    statistics.reset()
    for i in (3, 5, 6):
        jit.load(constant(i), ["k"])
    assert statistics.total("from_memory") == 3
    jit.load(constant(4), ["k"])
    assert statistics.total("from_disk") == 1


def test_what_nobody_uses_is_bounded_in_bytes(monkeypatch):
    monkeypatch.setattr(engine.KEEP_MB, "value", 0)
    jit.load(constant(0), ["k"])
    jit.load(constant(0), ["k"])
    assert statistics.total("from_memory") == 0


def test_many_texts_share_memory_and_keep_their_names():
    requests = [(constant(i), ["k"]) for i in range(50)]
    used = arena.MEMORY.used
    libraries = jit.load_many([*requests, requests[0]])
    assert [call(library, "k") for library in libraries] == [*range(50), 0]
    assert libraries[50] is libraries[0]
    assert arena.MEMORY.used - used <= 50 * 64 + arena.PAGE
    assert all(library.address("k") % 64 == 0 for library in libraries)
    assert statistics.total("compiled") == 50


def test_many_takes_what_is_loaded_already():
    first = jit.load(constant(1), ["k"])
    assert jit.load_many([(constant(0), ["k"]), (constant(1), ["k"])])[1] is first
    assert jit.load_many([]) == []


def test_invalid_text_names_the_kernel_and_the_line():
    with pytest.raises(jit.CompileError, match=r"(?s)'softmax'.*:3:11:") as caught:
        jit.load("define i64 @softmax() {\n  %x = add i64 1, 2\n  ret i32 %x\n}\n", ["softmax"])
    assert "ret i32" in caught.value.text
    with pytest.raises(jit.CompileError, match="dominate"):
        jit.load("define i64 @k() {\n  %y = add i64 %x, 2\n  %x = add i64 1, 2\n  ret i64 %y\n}\n", ["k"])
    assert call(jit.load(constant(3), ["k"]), "k") == 3


def test_a_failure_in_a_batch_fails_the_batch_and_leaves_nothing_pending():
    with pytest.raises(jit.CompileError):
        jit.load_many([(constant(1), ["k"]), ("nonsense", ["k"])])
    assert not engine._TABLE.pending
    assert call(jit.load(constant(1), ["k"]), "k") == 1


def test_a_name_that_the_text_lacks():
    with pytest.raises(jit.SymbolError, match=r"\(k\), got 'other'"):
        jit.load(constant(1), ["k", "other"])
    with pytest.raises(jit.SymbolError, match="'other'"):
        jit.load(constant(1), ["other"])


def test_symbols_of_the_mathematics_library():
    assert call(jit.load(CALLS.format(callee="cbrt"), ["k"]), "k", 512.0, kind=ctypes.c_double) == 2


def test_unresolved_symbol_is_named():
    with pytest.raises(jit.SymbolError, match="'k' uses, got none called 'umiak_no_such_function'"):
        jit.load(CALLS.format(callee="umiak_no_such_function"), ["k"])


def test_registered_symbol():
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    plus_one = kind(lambda x: x + 1)
    address = ctypes.cast(plus_one, ctypes.c_void_p).value
    jit.add_symbol("umiak_test_plus_one", address)
    jit.add_symbol("umiak_test_plus_one", address)
    assert call(jit.load(CALLS.format(callee="umiak_test_plus_one"), ["k"]), "k", 1.0, kind=ctypes.c_double) == 3
    with pytest.raises(ValueError, match="one address per name"):
        jit.add_symbol("umiak_test_plus_one", address + 16)
    with pytest.raises(ValueError, match="not null"):
        jit.add_symbol("umiak_test_null", 0)


def test_the_same_text_for_another_level_is_other_code():
    library = jit.load(constant(1), ["k"])
    assert jit.load(constant(1), ["k"], replace(jit.host(), opt=1)) is not library
    assert statistics.total("compiled") == 2


def test_code_of_another_machine_compiles_and_does_not_load():
    machine = "aarch64" if jit.host().machine != "aarch64" else "x86_64"
    layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32"
    other = jit.Target(f"{machine}-unknown-linux-gnu", "generic", "", layout)
    if machine == "aarch64":
        assert "ret" in codegen.assembly(constant(1), other, "k")
        with pytest.raises(link.UnsupportedError):
            link.link(codegen.compile_object(constant(1), other, "k"))
    with pytest.raises(jit.JitError, match=f"{jit.host().machine} machine runs, got {machine}"):
        jit.load(constant(1), ["k"], other)


def test_threads_compile_each_text_once():
    barrier = threading.Barrier(8)
    found = [None] * 8

    def work(index):
        barrier.wait()
        order = range(10) if index % 2 else reversed(range(10))
        found[index] = {i: jit.load_many([(constant(i), ["k"]), (constant(i + 10), ["k"])]) for i in order}

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(10):
        assert len({id(library) for each in found for library in each[i]}) == 2
        assert [call(library, "k") for library in found[0][i]] == [i, i + 10]
    assert statistics.total("compiled") == 20


def test_threads_that_wait_for_a_failure_get_the_error_too():
    barrier = threading.Barrier(4)
    errors = []

    def work():
        barrier.wait()
        try:
            jit.load("nonsense", ["k"])
        except jit.CompileError as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 4


def test_forked_children_keep_and_load_code():
    # In a process of its own: another thread compiles and loads all along, so that locks are held when it forks.
    done = run_python(
        f"""
        import ctypes, os, sys, threading
        from umiak.compiler import jit
        from umiak.compiler.jit import engine
        text = {CONSTANT!r}
        load = lambda i: jit.load(text.format(name="k", value=i), ["k"])
        run = lambda library: ctypes.CFUNCTYPE(ctypes.c_int64)(library.address("k"))()
        kept = load(1)
        stop = threading.Event()
        def work():
            i = 1000
            while not stop.is_set():
                load(i)
                i += 1
        thread = threading.Thread(target=work)
        thread.start()
        good = True
        for child in range(8):
            pid = os.fork()
            if pid == 0:
                good = run(kept) == 1 and run(load(2 + child)) == 2 + child and run(load(1001)) == 1001
                os._exit(0 if good else 1)
            good &= os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        stop.set()
        thread.join()
        good &= run(kept) == 1 and run(load(5)) == 5
        sys.exit(0 if good else 1)
        """,
        PYTHONWARNINGS="ignore::DeprecationWarning",  # newer Pythons warn of forking with threads, which is the point
    )
    assert done.returncode == 0, done.stderr


def test_warm_process_needs_no_llvm():
    code = f"""
        import sys
        from umiak.compiler import jit, statistics
        jit.load({constant(9)!r}, ["k"])
        print(statistics.total("compiled"), statistics.total("from_disk"), "llvmlite.binding" in sys.modules)
    """
    outputs = [run_python(code, FLAGS_jit_cache_folder=object_cache.FOLDER.value).stdout.split() for _ in range(2)]
    assert outputs == [["1", "0", "True"], ["0", "1", "False"]]


def test_importing_the_framework_imports_no_llvm():
    done = run_python(
        "import sys, paddle; import umiak.compiler.jit; print([m for m in sys.modules if 'llvmlite' in m])"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_system_that_denies_executable_memory():
    done = run_python(
        f"""
        import ctypes, errno, sys
        from umiak.compiler import jit
        jit.check.cache_clear()
        libc = ctypes.CDLL(None, use_errno=True)
        PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
        if libc.prctl(PR_SET_MDWE, ctypes.c_ulong(REFUSE_EXEC_GAIN), *[ctypes.c_ulong(0)] * 3):
            sys.exit(77)
        try:
            jit.load({constant(1)!r}, ["k"])
        except jit.MemoryDeniedError as error:
            print(error)
        """
    )
    if done.returncode == 77:
        pytest.skip("the kernel has no PR_SET_MDWE")
    assert done.returncode == 0, done.stderr
    for word in ("mprotect", "EACCES", "SELinux", "MemoryDenyWriteExecute", "'ref' device"):
        assert word in done.stdout


def maps():
    with open("/proc/self/maps", encoding="utf-8") as file:
        return sum(1 for _ in file)


def test_thirty_thousand_kernels_alive_at_once():
    # Distinct code from one compilation: the loading is what is bounded here, not LLVM's time.
    text, target = constant(0), jit.host()
    packed = engine._packed(engine._key(text, target), text, "k", target)
    before, used, reserved = maps(), arena.MEMORY.used, arena.MEMORY.reserved
    single = [engine._place([("k", packed)], target)[0] for _ in range(10_000)]
    batches = [engine._place([("k", packed)] * 100, target) for _ in range(200)]
    libraries = [*single, *(library for batch in batches for library in batch)]
    assert len({library.address("k") for library in libraries}) == 30_000
    assert {call(library, "k") for library in libraries[::1000]} == {0}
    assert maps() - before < 100
    assert arena.MEMORY.used - used <= 10_000 * arena.PAGE + 20_000 * 64 + 200 * arena.PAGE
    del libraries, single, batches
    engine._place([("k", packed)], target)
    assert arena.MEMORY.used - used <= 2 * arena.PAGE
    assert arena.MEMORY.reserved <= reserved + arena.ARENA
    assert maps() - before < 100


@pytest.mark.slow
def test_thirty_thousand_texts_in_one_process(monkeypatch):
    # LLVM compiles one; the objects of the others are that one with another constant.
    original = 0x12345678
    compiled = codegen.compile_object(constant(original), jit.host(), "k")
    assert compiled.count(original.to_bytes(4, "little")) == 1

    def compile_object(text, target, name):
        value = int(text.split()[-2])
        return compiled.replace(original.to_bytes(4, "little"), value.to_bytes(4, "little"))

    monkeypatch.setattr(codegen, "compile_object", compile_object)
    monkeypatch.setattr(object_cache, "get", lambda key: None)
    monkeypatch.setattr(object_cache, "put", lambda key, payload: None)
    before, used, alive = maps(), arena.MEMORY.used, len(engine._TABLE.live)
    for i in range(30_000):
        assert call(jit.load(constant(i), ["k"]), "k") == i
    assert statistics.total("compiled") == 30_000
    assert maps() - before < 100
    assert len(engine._TABLE.recent) == engine.KEEP.value
    assert len(engine._TABLE.live) <= alive + engine.KEEP.value + 1
    assert arena.MEMORY.used - used <= (engine.KEEP.value + 2) * arena.PAGE


@pytest.mark.skipif(jit.host().machine != "x86_64", reason="the own linker knows x86-64")
def test_forked_children_share_maps_too():
    done = run_python(
        f"""
        import os, sys
        from umiak.compiler import jit
        from umiak.compiler.jit import engine
        text = {constant(0)!r}
        packed = engine._packed(engine._key(text, jit.host()), text, "k", jit.host())
        place = lambda: engine._place([("k", packed)], jit.host())[0]
        maps = lambda: sum(1 for _ in open("/proc/self/maps"))
        kept = [place() for _ in range(500)]
        del kept[::2]
        before = maps()
        pid = os.fork()
        more = [place() for _ in range(1000)]
        grown = maps() - before
        if pid == 0:
            os._exit(grown > 100)
        sys.exit(grown > 100 or os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """
    )
    assert done.returncode == 0, done.stderr
