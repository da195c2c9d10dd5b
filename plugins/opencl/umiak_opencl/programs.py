"""Texts to programs. What a driver has made of a text is kept on disk, where machine code of the CPU is kept."""

from __future__ import annotations

import hashlib
import threading
import warnings

import pyopencl as cl

from umiak.compiler.jit import object_cache
from umiak.util import flags
from umiak_opencl.device import Device

# Operations round as the loop IR says; contraction is switched off in the texts that must not have it.
OPTIONS = "-w -cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
FURTHER = flags.define(
    "opencl_options", "", "further options of programs of OpenCL; -cl-opt-disable compiles in a third of the time"
)

_lock = threading.Lock()
_programs: dict[tuple[int, str, str], cl.Program] = {}


class BuildError(RuntimeError):
    """The driver does not take a text."""


def program(device: Device, text: str, options: str = "") -> cl.Program:
    """A text as a program of a device."""
    options = f"{OPTIONS} {FURTHER.value} {options}"
    key = (device.number, text, options)
    with _lock:
        found = _programs.get(key)
        if found is None:
            found = _programs[key] = _made(device, text, options)
    return found


def _made(device: Device, text: str, options: str) -> cl.Program:
    d = device.device
    words = (text, options, d.name, d.vendor, d.driver_version, d.version, cl.VERSION_TEXT)
    key = f"opencl-{hashlib.sha256(repr(words).encode()).hexdigest()}"
    binary = object_cache.get(key)
    with warnings.catch_warnings():
        # A driver's remarks on a text that it takes.
        warnings.simplefilter("ignore", cl.CompilerWarning)
        if binary is not None:
            try:
                return cl.Program(device.context, [d], [binary]).build(options)
            except cl.Error:
                pass  # another version's: made again below
        try:
            made = cl.Program(device.context, text).build(options, cache_dir=False)
        except cl.Error as error:
            raise BuildError(f"{d.name} refuses a kernel: {error}\n{text}") from error
    object_cache.put(key, made.get_info(cl.program_info.BINARIES)[0])
    return made
