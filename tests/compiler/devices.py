"""Machines that run kernels on NumPy arrays: the interpreter, and blocks of threads emulated on the processor."""

from __future__ import annotations

import ctypes
import functools
import re
import shutil
import struct
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

import llvm_host
import numpy as np
import pytest

from umiak.backends.cuda import targets
from umiak.compiler.loop import interpreter
from umiak.compiler.loop.node import Node, dim, i64, replace
from umiak.compiler.loop.tree import IN, OUT
from umiak.compiler.render import opencl, ptx
from umiak.compiler.render.spmd import THREAD, resources

HERE = Path(__file__).parent
THREADS = 64
GUARD = 64  # bytes around scratch that must stay as they are


class Diverged(Exception):
    """Threads of a block waited at different places."""


def number(x: Node, dims: Sequence[int]) -> int:
    """An expression over dims."""
    value = replace([x], {dim(k): i64(v) for k, v in enumerate(dims)})[0]
    assert value.op == "const", value
    return value.attr


def pack(words: Sequence[float | int]) -> list[int]:
    """The scalar pack's words as integers."""
    return [struct.unpack("q", struct.pack("d" if isinstance(w, float) else "q", w))[0] for w in words]


class Fault(Exception):
    """Threads did what a device does not have to stand."""


class Interpreter:
    """Runs the tree itself."""

    def run(self, kernel, pointers, dims=(), words=(), blocks=3, scratch=None):
        scratch = {} if scratch is None else scratch
        return interpreter.run(kernel, pointers, dims, words, scratch=scratch)


@functools.cache
def program(kernel, target):
    return llvm_host.Program(kernel, target)


class Processor:
    """This machine, through the renderer for processors; the parallel range in as many parts as there are blocks."""

    target = llvm_host.RUNNABLE[0]

    def run(self, kernel, pointers, dims=(), words=(), blocks=3, scratch=None):
        compiled = program(kernel, self.target)
        scratch = {} if scratch is None else scratch
        names = [b.name for b in kernel.buffers if b.space in (IN, OUT)]
        arguments = compiled.prepare(dict(zip(names, pointers)), dims, words)
        # Global scratch outlives a kernel.
        whole = scratch.setdefault("whole", compiled.keep[1])
        arguments[3][1] = -(-whole.ctypes.data // 64) * 64
        n = number(resources(kernel).range, dims)
        part = -(-n // blocks)
        for lo in range(0, n, part or 1):
            code = compiled.function(*arguments, lo, min(lo + part, n))
            if code:
                return code
        return 0


class Avx2(Processor):
    """The same without the widest vectors."""

    def __init__(self):
        if len(llvm_host.RUNNABLE) < 2:
            pytest.skip("this processor is one already")
        self.target = llvm_host.RUNNABLE[1]


class Device:
    """A launch as a driver does it: scratch and an error word besides the arguments, any number of blocks."""

    def run(self, kernel, pointers, dims=(), words=(), blocks=3, scratch=None, part=(0, 1 << 62)):
        need = resources(kernel, THREADS)
        scratch = {} if scratch is None else scratch
        units = blocks * (need.threads if need.unit == THREAD else 1)
        if "whole" not in scratch:
            scratch["whole"] = np.full(number(need.global_scratch, dims) + GUARD, 0xA5, np.uint8)
        local = np.full(units * number(need.local, dims) + GUARD, 0xA5, np.uint8)
        error = np.zeros(1, np.uint32)
        arrays = [np.ascontiguousarray(p) for p in pointers]
        assert all(a is p for a, p in zip(arrays, pointers)), "buffers are one-dimensional and dense"
        shared = number(need.shared, dims)
        integers = [*dims, *pack(words)[: need.words]]
        self.launch(kernel, arrays, integers, local, scratch["whole"], error, blocks, shared, part, need.threads)
        assert (local[-GUARD:] == 0xA5).all() and (scratch["whole"][-GUARD:] == 0xA5).all(), "written beyond scratch"
        return int(error[0])


@functools.cache
def compiled(text: str, mode: int = ctypes.RTLD_LOCAL) -> ctypes.CDLL:
    """C text as a library."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("the emulation of threads requires a C compiler")
    with tempfile.TemporaryDirectory(prefix="umiak-emulator-") as folder:
        source, library = Path(folder, "text.c"), Path(folder, "text.so")
        source.write_text(text)
        flags = ["-O1", "-w", "-shared", "-fPIC", "-fsigned-char", "-fwrapv", "-ffp-contract=off", f"-I{HERE}"]
        done = subprocess.run([compiler, *flags, "-o", library, source, "-lm"], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{done.stderr}\n{text}")
        return ctypes.CDLL(str(library), mode=mode)


def emulator() -> ctypes.CDLL:
    # Its names are what the texts of devices call.
    return compiled((HERE / "emulator.c").read_text(), ctypes.RTLD_GLOBAL)


class Emulated(Device):
    """Text of a device, run by coroutines. ``entry`` is the address of a function of the array of arguments."""

    def launch(self, kernel, arrays, integers, local, whole, error, blocks, shared, part, threads):
        runtime = emulator()
        memory = (ctypes.c_ubyte * (1 << 20)).in_dll(runtime, "emulated_shared")
        assert shared <= len(memory), "more shared memory than the emulator has"
        values = [a.ctypes.data for a in arrays] + integers + [a.ctypes.data for a in (local, whole, error)]
        values += [*part, ctypes.addressof(memory)]
        args = (ctypes.c_int64 * len(values))(*values)
        code = runtime.emulated_run(ctypes.c_void_p(self.entry(kernel)), args, blocks, threads)
        if code == 2:
            raise Fault(f"{kernel.name}: {ctypes.c_char_p.in_dll(runtime, 'emulated_fault').value.decode()}")
        if code:
            raise Diverged(kernel.name)


class OpenCL(Emulated):
    """OpenCL C, compiled as C."""

    def entry(self, kernel):
        text = opencl.render(kernel, THREADS)
        types = [a.strip().rsplit(" ", 1)[0] for a in re.search(r"^void \w+\((.*)\) {$", text, re.M)[1].split(",")]
        call = ", ".join(f"({t})args[{k}]" for k, t in enumerate(types))
        text = re.sub(r"^    __local (\w+ \w+\[)", r"    static \1", text, flags=re.M)
        library = compiled(f'#include "opencl.h"\n{text}\nvoid entry(long* args) {{ {kernel.name}({call}); }}\n')
        return ctypes.cast(library.entry, ctypes.c_void_p).value


INSTRUCTION = re.compile(
    r'^  (?:(\S+) = )?call (\{[^}]*\}|\w+) asm(?: sideeffect)? "([\w.:]+) [^"]*", "[^"]*"\((.*)\) #1$', re.M
)
STORE = re.compile(r"^  store (?:<(\d+) x (\w+)>|(\w+)) \S+, ptr addrspace\(3\) (\S+), align \d+.*$", re.M)
BYTES = {"i8": 1, "i16": 2, "half": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}
FORMATS = ("bf16", "f16", "e4m3", "e5m2")  # as the emulator counts them


def with_calls(text: str) -> str:
    """LLVM text in which instructions of inline assembly are calls of the emulator's functions; these leave what they
    give where their first argument points to."""
    names: dict[str, str] = {}

    def many(result: str | None, type_: str, instruction: str, given: str) -> str:
        """An instruction with more registers than a function of C has arguments: by way of memory."""
        arguments = [a for a in given.split(", ") if a]
        lines = [f"  store {a}, ptr getelementptr (i8, ptr @taken, i64 {8 * k})" for k, a in enumerate(arguments)]
        name = f"emulated_wgmma_{instruction.split('.')[1]}"
        operands = ["ptr @given", "ptr @taken", f"i32 {type_.count(',') + 1 if result else 0}", f"i32 {len(arguments)}"]
        shape = re.search(r"\.f32\.(\w+)\.", instruction)
        if shape is not None:
            operands.append(f"i32 {FORMATS.index(shape[1])}")
        names[name] = f"declare void @{name}({', '.join(o.split()[0] for o in operands)}) #1"
        lines.append(f"  call void @{name}({', '.join(operands)}) #1")
        return "\n".join([*lines, *([f"  {result} = load {type_}, ptr @given"] if result else [])])

    def call(found: re.Match) -> str:
        result, type_, instruction, given = found.groups()
        if instruction.startswith("wgmma"):
            return many(result, type_, instruction, given)
        name = "emulated_" + re.sub(r"[.:]+", "_", instruction)
        if instruction.startswith("setmaxnreg"):  # and what threads have at first
            most = re.search(r'"nvvm.maxnreg"="(\d+)"', text)
            given += f", i32 {most[1]}"
        types = [a.split()[0] for a in given.split(", ") if a]
        names[name] = f"declare void @{name}({', '.join(['ptr', *types])}) #1"
        arguments = ", ".join(["ptr @given", *([given] if given else [])])
        line = f"  call void @{name}({arguments}) #1"
        return line if result is None else f"{line}\n  {result} = load {type_}, ptr @given"

    def stored(found: re.Match) -> str:
        count, element, scalar, address = found.groups()
        size = int(count or 1) * BYTES[element or scalar]
        return f"{found[0]}\n  call void @emulated_stored(ptr addrspace(3) {address}, i32 {size})"

    if "wgmma" in text:  # what threads write, tensor cores see when it is published
        text = STORE.sub(stored, text)
        names["emulated_stored"] = "declare void @emulated_stored(ptr, i32)"
    text = INSTRUCTION.sub(call, text)
    assert " asm " not in text, "an instruction that is not understood"
    if names:
        first = [f"@{x} = internal global [4096 x i8] zeroinitializer, align 16" for x in ("given", "taken")]
        text = text.replace("\n", "\n" + "\n".join([*first, *names.values()]) + "\n", 1)
    return text


class Ptx(Emulated):
    """The LLVM text of NVPTX, as functions of the processor."""

    engines: dict = {}  # keeps the code
    arch = "sm_90"

    def entry(self, kernel):
        text = ptx.render(kernel, self.arch, THREADS)
        if text not in self.engines:
            self.engines[text] = self.engine(kernel.name, text)
        return self.engines[text].get_function_address("entry")

    def engine(self, name, text):
        from llvmlite import binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        emulator()
        triple = binding.get_process_triple()
        names = {
            r"nvvm.read.ptx.sreg.tid.x": "tid", "nvvm.read.ptx.sreg.ctaid.x": "block",
            "nvvm.read.ptx.sreg.nctaid.x": "blocks", "nvvm.shfl.sync.down.i32": "down",
            "nvvm.shfl.sync.up.i32": "up", "nvvm.shfl.sync.bfly.i32": "across",
            "nvvm.barrier.cta.sync.aligned.all": "barrier",
        }  # fmt: skip
        for old, new in names.items():
            text = text.replace(f"@llvm.{old}(", f"@emulated_{new}(")
        text = with_calls(text)
        text = re.sub(r" addrspace\([13]\)", "", text).replace("ptx_kernel ", "")
        text = re.sub(r'"target-cpu"="\w+"', "", text).replace(ptx.TRIPLE, triple)
        text = text.replace(f"@{name}_shared", "@emulated_shared")
        parameters = re.search(rf"define void @{name}\((.*)\) #0", text)[1].split(", ")
        loads = [f"  %p{k} = getelementptr i64, ptr %args, i64 {k}\n  %a{k} = load {p.split()[0]}, ptr %p{k}"
                 for k, p in enumerate(parameters)]  # fmt: skip
        call = ", ".join(f"{p.split()[0]} %a{k}" for k, p in enumerate(parameters))
        text += "\n".join(["define void @entry(ptr %args) {", *loads, f"  call void @{name}({call})", "  ret void }"])
        module = binding.parse_assembly(text)
        module.verify()
        machine = binding.Target.from_triple(triple).create_target_machine(
            cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=1
        )
        engine = binding.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        return engine


class Warpgroups(Ptx):
    """That of devices whose warps multiply by four."""

    arch = "sm_90a"


class Pocl(Device):
    """OpenCL C, on whatever OpenCL there is; skips where there is none."""

    def __init__(self):
        self.cl = pytest.importorskip("pyopencl")
        try:
            platforms = self.cl.get_platforms()
        except self.cl.Error as e:
            pytest.skip(f"no device of OpenCL: {e}")
        # Oclgrind interprets, which takes long; tests of plugins/opencl have it watch kernels.
        devices = [d for p in platforms if p.name != "Oclgrind" for d in p.get_devices()]
        if not devices:
            pytest.skip("no device of OpenCL but an interpreter")
        self.context = self.cl.Context(devices[:1])
        self.queue = self.cl.CommandQueue(self.context)

    def launch(self, kernel, arrays, integers, local, whole, error, blocks, shared, part, threads):
        cl = self.cl
        given = [*arrays, local, whole, error]
        held = []
        for a in given:
            # Atomics of parts of words read and write whole ones. Buffers of no bytes are not allowed.
            held.append(cl.Buffer(self.context, cl.mem_flags.READ_WRITE, max(-(-a.nbytes // 8) * 8, 8)))
            if a.size:
                cl.enqueue_copy(self.queue, held[-1], a)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            program = cl.Program(self.context, opencl.render(kernel, THREADS)).build()
        n = len(arrays)
        args = [*held[:n], *(np.int64(i) for i in integers), *held[n:], *map(np.int64, part)]
        if shared:
            args.append(cl.LocalMemory(shared))
        getattr(program, kernel.name)(self.queue, (blocks * threads,), (threads,), *args)
        for a, b in zip(given, held):
            if a.size and a.flags.writeable:
                cl.enqueue_copy(self.queue, a, b)
        self.queue.finish()


class Cuda(Device):
    """PTX on a device of CUDA, through the driver; skips where there is none."""

    def __init__(self):
        try:
            self.driver = ctypes.CDLL("libcuda.so.1")
        except OSError as e:
            pytest.skip(f"no driver of CUDA: {e}")
        device, context, major, minor = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
        if self.driver.cuInit(0):
            pytest.skip("no device of CUDA")
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        for attribute, value in ((75, major), (76, minor)):
            self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.arch = targets.architecture((major.value, minor.value), version.value)

    def call(self, name, *args):
        code = getattr(self.driver, name)(*args)
        if code:
            raise RuntimeError(f"{name} failed with {code}")

    def launch(self, kernel, arrays, integers, local, whole, error, blocks, shared, part, threads):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        text = ptx.assemble(ptx.render(kernel, self.arch, THREADS), self.arch).encode()
        self.call("cuModuleLoadData", ctypes.byref(module), text)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel.name.encode())
        given, held = [*arrays, local, whole, error], []
        for a in given:
            held.append(ctypes.c_uint64())
            self.call("cuMemAlloc_v2", ctypes.byref(held[-1]), ctypes.c_size_t(max(a.nbytes, 1)))
            if a.nbytes:
                self.call("cuMemcpyHtoD_v2", held[-1], ctypes.c_void_p(a.ctypes.data), ctypes.c_size_t(a.nbytes))
        n = len(arrays)
        values = [*held[:n], *map(ctypes.c_int64, integers), *held[n:], *map(ctypes.c_int64, part)]
        args = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        self.call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, shared, None, args, None)
        self.call("cuCtxSynchronize")
        for a, address in zip(given, held):
            if a.nbytes:
                self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(a.ctypes.data), address, ctypes.c_size_t(a.nbytes))
            self.call("cuMemFree_v2", address)
        self.call("cuModuleUnload", module)


DEVICES = {
    "interpreter": Interpreter, "cpu": Processor, "avx2": Avx2, "ptx": Ptx, "wgmma": Warpgroups, "opencl": OpenCL,
    "pocl": Pocl, "cuda": Cuda,
}  # fmt: skip
