"""The processor that this process runs on — known without llvmlite once any process of the user has asked it.

Importing llvmlite takes 25 ms. Its answer is kept on disk under what identifies the processor and the library, so
a process whose kernels are all in the cache never imports it.
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, replace
from functools import cache

from umiak.compiler.jit import codegen, object_cache
from umiak.compiler.jit.target import Target
from umiak.util import flags
from umiak.util.errors import op_error


def _check_level(level: int) -> None:
    if not 0 <= level <= 3:
        raise op_error(ValueError, "FLAGS_jit_opt", "a level from 0 to 3", level)


OPT = flags.define(
    "jit_opt", Target.opt, "how hard code generation tries, 0 to 3", compile_key=True, on_change=_check_level
)

# The fields of /proc/cpuinfo that name a processor on x86 and on ARM; others (clock, core) vary from read to read.
_IDENTITY = (
    "vendor_id cpu_family model model_name stepping flags "
    "CPU_implementer CPU_architecture CPU_variant CPU_part CPU_revision Features"
).split()

_hosts: dict[int, Target] = {}


def host() -> Target:
    """The target of this machine, with ``FLAGS_jit_opt``."""
    processor = _hosts.get(OPT.value)
    if processor is None:
        processor = _hosts[OPT.value] = replace(_describe(), opt=OPT.value)
    return processor


@cache
def _describe() -> Target:
    processor = _processor()
    if processor is None:
        return codegen.describe_host()
    key = f"host {toolchain()} {platform.machine()} {processor}"
    known = object_cache.get(key)
    if known is not None:
        return Target(**json.loads(known))
    target = codegen.describe_host()
    object_cache.put(key, json.dumps(asdict(target)).encode())
    return target


def _processor() -> str | None:
    """Return an identity of the processor, None where the system does not tell."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            block = file.read(8192).partition("\n\n")[
                0
            ]  # the first core; all of them would take long on a large machine
    except OSError:
        return None
    pairs = (line.partition(":")[::2] for line in block.splitlines())
    known = {name.strip().replace(" ", "_"): value.strip() for name, value in pairs}
    identity = {name: known[name] for name in _IDENTITY if name in known}
    return json.dumps(identity) if "flags" in identity or "Features" in identity else None


@cache
def toolchain() -> str:
    """llvmlite's version and its library's size, which tells builds with different LLVMs apart."""
    import llvmlite  # the package alone is light; ``llvmlite.binding`` loads LLVM

    library = os.path.join(os.path.dirname(llvmlite.__file__), "binding", "libllvmlite.so")
    size = os.path.getsize(library) if os.path.exists(library) else 0
    return f"llvmlite {llvmlite.__version__} {size}"
