"""Native launches of matmuls and convolutions, by the libraries that a system has.

Providers are asked in the order of ``FLAGS_cpu_providers``; one that is left out is as if it were not installed.

* ``onednn``: float32 and 16-bit floats. From the wheel ``onednn-cpu-gomp``, on x86-64.
* ``blas``: floating and complex types by SciPy's BLAS; 16-bit floats by way of float32, convolutions by way of columns.
* ``plain``: every type, in loops, on any system. Always there.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from umiak.backends.cpu.providers import common
from umiak.backends.cpu.providers.gemm import DTYPES, USE_BLAS, USE_ONEDNN, USE_SMALL
from umiak.backends.cpu.providers.launch import Dim, Launch, sizes, strides
from umiak.ops import convolution as conv_ops
from umiak.ops import linalg
from umiak.util import flags, log
from umiak.util.lazy import loaded

if TYPE_CHECKING:
    from umiak.ops.base import Op

WHEEL = "onednn-cpu-gomp"
LOG = log.get("cpu")

# What each provider computes, and the libraries that its launches use. Small matmuls of float32 need none.
PROVIDERS = {
    "onednn": (("float32", "bfloat16", "float16"), USE_ONEDNN | USE_SMALL),
    "blas": (("float32", "float64", "complex64", "complex128", "bfloat16", "float16"), USE_BLAS | USE_SMALL),
    "plain": (tuple(DTYPES), 0),
}
# Which of the three a convolution's launch computes, as im2col.pxd calls it.
KINDS: dict[type, str] = {
    conv_ops.Conv: "FORWARD",
    conv_ops.ConvInputGrad: "INPUT_GRAD",
    conv_ops.ConvWeightGrad: "WEIGHT_GRAD",
}

set_threads = common.set_threads
get_threads = common.get_threads


def _check(value: str) -> None:
    unknown = [name for name in value.split(",") if name and name not in PROVIDERS]
    if unknown:
        raise ValueError(f"[FLAGS_cpu_providers] requires names among {', '.join(PROVIDERS)}, got {', '.join(unknown)}")


FLAG = flags.define(
    "cpu_providers",
    ",".join(PROVIDERS),
    "libraries that may compute matmuls and convolutions on the CPU, the preferred one first",
    on_change=_check,
)

DETERMINISTIC = flags.define(
    "cpu_deterministic",
    False,
    "libraries on one thread, so that no result depends on how many threads there are (our own kernels never do)",
    on_change=lambda on: set_threads(1 if on else 0),
)


WINOGRAD = {"auto": -1, "never": 0, "2": 2, "4": 4}


def _choose(value: str) -> None:
    if value not in WINOGRAD:
        raise ValueError(f"[FLAGS_cpu_winograd] requires one of {', '.join(WINOGRAD)}, got {value}")
    from umiak.backends.cpu.providers import winograd

    winograd.choose(WINOGRAD[value])


WINOGRAD_FLAG = flags.define(
    "cpu_winograd",
    "auto",
    "convolutions of kernel 3 × 3 in float32 (and bfloat16) by Winograd's algorithm: auto (where it is faster), never, "
    "or in tiles of 2 or 4 outputs along an axis wherever it is possible; an infinity becomes NaN in tiles that see it",
    on_change=_choose,
)


@functools.cache
def refusal(name: str) -> str | None:
    """Return the reason why a provider cannot be used here; None when it can."""
    if name == "plain":
        return None
    try:
        if name == "onednn":
            _load_onednn()
        else:
            from umiak.backends.cpu.providers import blas

            blas.load()
    except (OSError, ImportError, LookupError) as error:
        LOG.info("provider %s is not used: %s", name, error)
        return str(error)
    return None


def before_gomp() -> None:
    """Called before a library that brings libgomp is loaded; the assembler puts in its place what makes the engine's
    threads the same ones."""


def _load_onednn() -> None:
    from importlib import metadata

    before_gomp()

    from umiak.backends.cpu.providers import onednn

    try:
        files = metadata.files(WHEEL) or []
    except metadata.PackageNotFoundError:
        files = []
    libraries = [str(f.locate()) for f in files if f.name == "libdnnl.so.3"]
    # Without the wheel, whatever the system has under this name.
    onednn.load(libraries[0] if libraries else "libdnnl.so.3")


def available() -> Iterator[str]:
    """The providers that are asked, in order. One is loaded when its turn comes: BLAS takes 0.1 s, and few need it."""
    return (name for name in FLAG.value.split(",") if name and refusal(name) is None)


def find(op: Op, metas: Sequence[Any], epilogue: Sequence[Any] = (), strip: tuple[int, int] = (0, 0)) -> Launch | None:
    """Return a launch of ``op`` on operands of these classes; None when no provider that is switched on has one.

    ``epilogue`` names what follows ``matmul`` or ``conv`` in the same launch, in order: "bias" (along the last axis of
    a matmul, the channels of a convolution) and "add" (a residual, of the result's shape and strides) bring an
    operand each; "relu", "tanh", "sigmoid", "silu", "gelu" and "gelu_tanh" none, nor do those of
    convolutions alone: "hard_swish", ("scale", factor) and ("shift", term). ``strip``: the kernels of a
    convolution (the second matrix of a matmul) are given in strips of so many output channels (columns), with a
    multiple of so many input channels (rows), as convolution.pyx (matmul.pyx) says; ``metas`` are of what they hold.
    """
    if not isinstance(op, (linalg.MatmulOp, *KINDS)) or any(m is None or m.dtype is None for m in metas):
        return None
    dtype = metas[0].dtype.name
    if epilogue and (dtype not in PROVIDERS["blas"][0] or dtype.startswith("complex")):
        return None
    for name in FLAG.value.split(","):
        if name and dtype in PROVIDERS[name][0] and refusal(name) is None:
            return _launch(name, op, metas, dtype, tuple(epilogue), strip)
    return None


def _launch(
    name: str, op: Any, metas: Sequence[Any], dtype: str, epilogue: tuple[Any, ...], strip: tuple[int, int]
) -> Launch | None:
    from umiak.backends.cpu.providers import convolution, matmul

    codes = matmul.STEPS if isinstance(op, linalg.MatmulOp) else convolution.STEPS
    names = [step if isinstance(step, str) else step[0] for step in epilogue]
    unknown = [step for step in names if step not in codes]
    if unknown:
        raise ValueError(f"[providers] requires steps among {', '.join(codes)}, got {', '.join(unknown)}")
    steps, libraries = tuple(codes[step] for step in names), PROVIDERS[name][1]
    out = 2 + sum(step in ("bias", "add") for step in epilogue)
    ranks = [len(m.shape) for m in metas]
    dims = [d for i, rank in enumerate(ranks) for d in (*sizes(i, rank), *strides(i, rank))]
    state: Any
    if isinstance(op, linalg.MatmulOp):
        if epilogue and ranks[1] == 1:
            return None  # a bias would have no axis
        x, y = ranks
        rank = max(x, y, 2) - (x == 1) - (y == 1)
        widens = isinstance(op, linalg.WideningMatmul) and metas[0].dtype.itemsize == 2
        transposed = op.transpose_x, op.transpose_y
        state = matmul.LaunchState(DTYPES[dtype], x, y, *transposed, libraries, steps, strip, widens)
        return Launch(name, matmul.ADDRESS, state.pointer, (*dims, *strides(out, rank)), state)
    if dtype not in PROVIDERS["blas"][0] or dtype.startswith("complex") or (epilogue and type(op) is not conv_ops.Conv):
        return None
    numbers = tuple(0.0 if isinstance(step, str) else step[1] for step in epilogue)
    state = convolution.LaunchState(
        convolution.KINDS[KINDS[type(op)]], DTYPES[dtype], op.nd, libraries, steps, strip, numbers
    )
    result = (*sizes(out, ranks[0]), *strides(out, ranks[0]))
    return Launch(name, convolution.ADDRESS, state.pointer, (*dims, *result), state)


loaded(__name__)
