"""LLVM text to objects and assembly: the only part that needs llvmlite, which is imported at the first use.

No optimiser pass runs: texts come with their vectors, unrolling and hoisting done. Loop-strength reduction is off: it
undoes the addressing that the renderer chose.
"""

from __future__ import annotations

import platform
import threading
from typing import Any

from umiak.compiler import dump
from umiak.compiler.jit.errors import CompileError
from umiak.compiler.jit.target import Target
from umiak.util.locks import fork_safe

# For the process: LLVM has no others. Preparation for selection finds next to nothing in texts like these.
LLVM_OPTIONS = ("-disable-lsr", "-disable-cgp")

# Relocation and code model. Our linker takes small position-independent code on x86-64. Elsewhere LLVM's loader may put
# data more than 4 GB from code, which ends the process: references are absolute addresses there.
ADDRESSING = {"x86_64": ("pic", "small")}

# LLVM takes one thread at a time anyway: llvmlite has a lock around every call. Forking waits for this one.
LOCK = fork_safe(threading.RLock())

_llvm: Any = None
_all_targets = False
_machines: dict[tuple[Target, bool], Any] = {}


def binding() -> Any:
    """``llvmlite.binding``, with the host's code generator ready and LLVM's options set: whoever compiles begins here,
    so that what comes out does not depend on who came first. Hold ``LOCK``."""
    global _llvm
    if _llvm is None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        for option in LLVM_OPTIONS:
            llvm.set_option("umiak", option)
        _llvm = llvm
    return _llvm


def describe_host() -> Target:
    """Return the target that describes the processor of this machine."""
    with LOCK:
        llvm = binding()
        triple, cpu = llvm.get_process_triple(), llvm.get_host_cpu_name()
        features = llvm.get_host_cpu_features().flatten()
        machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features)
        return Target(triple, cpu, features, str(machine.target_data))


def addressing(target: Target) -> tuple[str, str]:
    """The relocation and the code model of what is compiled for a target."""
    return ADDRESSING.get(target.machine, ("static", "large"))


def target_machine(target: Target, library: bool = False) -> Any:
    """LLVM's machine for a target; hold ``LOCK``. ``library``: for objects that a linker puts into a shared library."""
    global _all_targets
    machine = _machines.get((target, library))
    if machine is None:
        llvm = binding()
        if not _all_targets and target.machine != platform.machine():
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
            _all_targets = True
        relocation, model = ("pic", "default") if library else addressing(target)
        machine = _machines[target, library] = llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu, features=target.features, opt=target.opt, reloc=relocation, codemodel=model, jit=not library
        )
    return machine


def compile_object(text: str, target: Target, name: str, library: bool = False) -> bytes:
    """The relocatable object of a text; ``name`` is for the error. ``library``: for a linker, see
    :func:`target_machine`."""
    with LOCK:
        return _with_module(text, target, name, target_machine(target, library).emit_object)


def assembly(text: str, target: Target, name: str) -> str:
    with LOCK:
        return _with_module(text, target, name, target_machine(target).emit_assembly)


def _with_module(text: str, target: Target, name: str, emit: Any) -> Any:
    """``emit(module)`` of the parsed and verified text.

    Each text has a context of its own, since a context keeps every type and constant it has seen. The first line
    carries the target, so that LLVM's line numbers stay those of the text.
    """
    llvm = binding()
    head = "" if "target triple" in text else f'target triple = "{target.triple}" '
    head += "" if "target datalayout" in text else f'target datalayout = "{target.layout}" '
    context = llvm.create_context()
    module = None
    try:
        try:
            module = llvm.parse_assembly(head + text, context=context)
            module.verify()
        except RuntimeError as error:
            message = str(error).replace(head, "").strip()
            refused = CompileError(f"[jit] requires valid LLVM text of {name!r}, got: {message}")
            refused.text = text
            raise refused from None
        return emit(module)
    finally:
        if module is not None:
            module.close()
        context.close()


def replay(inputs: dict[str, Any]) -> None:
    """Make the stages of a recorded text again."""
    target = Target(**inputs["target"])
    dump.dump("llvm", inputs["name"], inputs["text"])
    dump.dump("asm", inputs["name"], assembly(inputs["text"], target, inputs["name"]))
