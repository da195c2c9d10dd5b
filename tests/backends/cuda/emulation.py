"""Kernels of the recording driver, run by the emulator of blocks of threads (tests/compiler/emulator.c)."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence

from devices import Ptx, emulator
from recording_driver import RecordingDriver, require

_entries: dict[str, tuple[int, list[bool]]] = {}  # by image: the address, and which arguments are pointers
_machine = Ptx()


def execute(
    driver: RecordingDriver, image: str, name: str, blocks: int, threads: int, shared: int, arguments: Sequence[int]
) -> None:
    """Run a launch. The image is the LLVM text that PTX would be assembled from."""
    if image not in _entries:
        engine = _machine.engines[image] = _machine.engine(name, image)
        parameters = re.search(rf"define ptx_kernel void @{name}\((.*)\) #0", image)[1].split(", ")
        _entries[image] = engine.get_function_address("entry"), [p.startswith("ptr") for p in parameters]
    entry, pointers = _entries[image]
    require(len(arguments) == len(pointers), f"{name} takes {len(pointers)} arguments, got {len(arguments)}")
    require(f'"nvvm.reqntid"="{threads}"' in image, f"{name} is launched with {threads} threads")
    runtime = emulator()
    memory = (ctypes.c_ubyte * (1 << 20)).in_dll(runtime, "emulated_shared")
    require(shared <= len(memory), f"{name} has more shared memory than the emulator")
    values = [driver.host(a) if is_pointer and a else a for a, is_pointer in zip(arguments, pointers)]
    packed = (ctypes.c_uint64 * len(values))(*values)
    require(not runtime.emulated_run(ctypes.c_void_p(entry), packed, blocks, threads), f"threads of {name} diverge")
