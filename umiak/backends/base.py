"""The interface of backends, and their discovery.

A distribution offers a backend by an entry point in the group ``umiak.backends`` that names a :class:`Backend` object,
or a class or function that makes one. Ours are declared likewise. Several backends may serve one device type: the
one with the highest ``priority`` gives memory and streams, and each is asked for a kernel in turn.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from umiak.core import storage, stream
from umiak.core.place import Place, from_index
from umiak.ops.base import REGISTRY

if TYPE_CHECKING:
    from umiak.backends.collectives import Collectives
    from umiak.compiler.plan import Call
    from umiak.core.buffer import Buffer
    from umiak.core.call_program import CallProgram
    from umiak.ops.base import Op

GROUP = "umiak.backends"
ROOT = "CUSTOM_DEVICE_ROOT"  # environment variable: folders of libraries with the reference's interface in C


class Kernel(NamedTuple):
    """An implementation of one op on one class of operands.

    Either native: ``address`` of ``int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars,
    int64_t stream)``, called with ``launch_self``; it returns 0, a code > 0 when it failed, or < 0 with a Python error
    set, or ``umiak.core.launches.LEFT_TO_PYTHON``: it did nothing, ``run`` is to do this call. ``dims`` are the
    integers it wants: expressions over the symbols of the call. On a place with streams it is called with the
    interpreter's lock. Or in Python:
    ``run(op, outs, ins, params)`` with a list of arrays to write, a list of arrays, numbers and Nones to read, and a
    tuple of numbers; beside a native one, it serves outputs that are not contiguous. Where the host cannot read the
    place's memory, arrays are :class:`umiak.core.buffer.Buffer`. Or over tensors: ``call(operands, params)`` gives a
    tuple of new ones, by ops.
    """

    address: int = 0
    launch_self: int = 0
    run: Callable[[Any, list, list, tuple], None] | None = None
    call: Callable[[tuple, tuple], tuple] | None = None
    residuals: bool = False  # it also writes the residuals of the op's forward_train when they follow the outputs
    keep: Any = None  # what must live as long as the kernel is used
    dims: Sequence[Any] | None = None
    # `int flat(void* self, void** ptrs, int64_t n, const uint64_t* scalars, int64_t stream)`, for operands and an
    # output that are contiguous and of one shape with n elements
    flat: int = 0
    explain: Callable[[Any, tuple, tuple, int], None] | None = None  # raises for a code, in the op's words
    # `int many(void* self, Rows* rows, int64_t stream)` (core/rows.pxd): the flat entry for many rows of operands
    many: int = 0
    name: str = ""  # in tables of launches; empty: the op's
    # (operands, outputs, dims) -> (bytes, flops) of a launch; ``dims`` is None for a flat one. Without it: the bytes of
    # operands and outputs
    work: Callable[[Sequence[Any], Sequence[Any], Sequence[int] | None], tuple[int, int]] | None = None
    # Of `call`, where a user wrote it: (op, operands, params, results, operand) raises for results that are not as the
    # op inferred them (operand -1), or for an operand that was written to and is not among ``writes``, as bits
    refuse: Callable[[Any, tuple, tuple, tuple, int], None] | None = None
    writes: int = 0

    def install(self, plan: Any, registers: Sequence[int] | None = None) -> None:
        """Let a plan of dispatch launch this kernel; ``registers`` of its shape program hold ``dims``."""
        dims = None if registers is None else list(registers)
        plan.set_kernel(
            self.address,
            self.launch_self,
            self.call or self.run,
            self.keep,
            dims,
            self.flat,
            self.explain,
            self.name,
            self.work,
            self.many,
        )
        if self.refuse is not None:
            plan.check_results(self.refuse, self.writes)


class TimeMark(Protocol):
    """A point in a stream's work whose time the device notes."""

    def milliseconds_to(self, later: Any) -> float:
        """Wait for this mark and a later one of the same device; the time between them."""


class WorkCapture(Protocol):
    """Work of a device that is recorded rather than done, and done at each replay."""

    def begin(self) -> None:
        """Record what this thread hands to the device from now on."""

    def end(self) -> None:
        """End the recording."""

    def replay(self) -> None:
        """Do the work, on the current stream."""

    def write_dot_files(self, folder: str, flags: int) -> None:
        """Write what was recorded to files in the language of Graphviz."""

    def reset(self) -> None:
        """Give what was recorded back."""


class Sharing(Protocol):
    """Tensors of a device that other processes use, as long as they use them."""

    def send(self, x: Any) -> tuple[Any, int]:
        """Describe a tensor to another process, once: something to pickle, and a descriptor that goes with it, which
        stays the sender's."""

    def receive(self, shared: Any, descriptor: int, like: tuple[Any, Sequence[int], Sequence[int]]) -> Any:
        """The tensor that another process has described, of a dtype, sizes and strides; the descriptor is closed."""


class Properties(NamedTuple):
    """A device as its maker describes it: model, version of what it can do, bytes of memory, units that compute."""

    name: str
    major: int
    minor: int
    memory: int
    units: int


class Span(NamedTuple):
    """Work of a device, as its own profiler tells. Times are nanoseconds of ``time.time_ns``."""

    name: str
    kind: str  # one of the kinds of ``umiak.observe.event``, or a word of the device's
    start: int
    end: int
    lane: str  # what it ran on, one span after the other: a stream
    args: dict[str, Any]


class Tracer(Protocol):
    """The profiler of a device type: it records from ``start`` to ``stop``, once."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> list[Span]:
        """End, and give what was recorded."""


class Replay(Protocol):
    """The calls of a captured program, in the device's own form."""

    def run(self, inputs: list[Any], words: list, donation: bytes | None) -> list[Any]:
        """Do as ``CallProgram.run`` does."""


class Backend:
    """One way to run ops. Subclasses set the class attributes and define ``allocator``, ``kernel`` and ``supports``."""

    name: str = ""  # of the backend; the device type unless set
    device_type: str = ""
    priority: int = 0
    has_streams: bool = False  # work is queued: kernels may return before they are done
    fuses: bool = False  # it has kernels for groups of operations (compiler.fused.Fused)

    def device_count(self) -> int:
        """Return the number of devices; their ids start at 0."""
        return 1

    def properties(self, place: Place) -> Properties | None:
        """Return the properties of a device; None where the backend does not tell."""
        return None

    def memory_info(self, place: Place) -> tuple[int, int] | None:
        """Return the free and the total memory of a device in bytes, all processes counted; None where the backend does
        not tell."""
        return None

    def capturing(self, place: Place, stream: int) -> bool:
        """Return whether work that a stream gets is recorded into a graph of the device, rather than done."""
        return False

    def work_capture(self, place: Place, pool: int | None) -> WorkCapture | None:
        """A new recording of work of a device, which has its memory in common with others of the same pool; None where
        the device records none."""
        return None

    def sharing(self, place: Place) -> Sharing | None:
        """Return what shares tensors of a place with other processes; None where they have to be copied."""
        return None

    def collect_shared(self) -> None:
        """Let go of memory that other processes have stopped using."""

    def time_mark(self, place: Place, stream: int) -> TimeMark | None:
        """Mark the end of what a stream has, by the device's own clock; None where it has none."""
        return None

    def allocator(self, place: Place) -> storage.Allocator:
        """A new allocator of memory of ``place``. Asked for once per place."""
        raise NotImplementedError(f"backend {self.name!r} gives no memory")

    def stream_driver(self, place: Place) -> stream.StreamDriver | None:
        """Return the driver of the streams of ``place``; None when all work is done as soon as it is handed in."""
        return None

    def pinned(self, place: Place, sizes: Sequence[int], dtype: Any) -> Any:
        """A new tensor of the host, whose memory the device of a place reads and writes by itself; None where there is
        no such memory."""
        return None

    def is_pinned(self, x: Any) -> bool:
        """Return whether a tensor lies in memory of the host that :meth:`pinned` gave."""
        return False

    def copy(self, target: Buffer, source: Buffer, stream: int) -> bool:
        """Hand a copy of contiguous elements to ``stream``: of the place of ``target``, or where that is memory of the
        host, of ``source``. At least one of them is of this backend's.

        Memory of the host that is read has been read when this returns; whoever wants what is written there waits for
        the stream. False, and nothing done, where elements have to go by way of the host.
        """
        raise NotImplementedError(f"backend {self.name!r} does not copy")

    def collectives(self, place: Place) -> Collectives | None:
        """Return the device's own library of collectives for memory of ``place``; None: elements go by the host."""
        return None

    def tracer(self) -> Tracer | None:
        """Return a new recording of the devices' own profiler; None where they have none."""
        return None

    def replays(self, calls: CallProgram) -> Replay | None:
        """Return what runs the calls of a captured program in their place, perhaps as graphs of the device; None: they
        run one by one."""
        return None

    def kernel(self, call: Call) -> Kernel | None:
        """Return the kernel of a class of calls: ``call.op`` on ``call.metas`` (a Meta or None each), and more.

        None when there is no kernel for them.
        """
        raise NotImplementedError(f"backend {self.name!r} gives no kernels")

    def opaque(self, op: Op) -> bool:
        """Return whether a composite is to stay one call inside of others, rather than its decomposition."""
        return False

    def fuses_epilogue(self, op: Op, metas: Sequence[Any], params: Sequence[Any], steps: Sequence[Any]) -> bool:
        """Return whether ``steps`` behind a matmul or a convolution of operands ``metas`` had better be part of its
        launch (compiler.epilogue.FusedEpilogue)."""
        return False

    def fuses_gradient(self, op: Op, metas: Sequence[Any], gated: bool, summed: str) -> bool:
        """Return whether a matmul of operands ``metas`` had better put relu's gradient behind it, where ``gated``, and
        give sums of ``summed``, in its launch (compiler.gradient_epilogue.FusedGradient)."""
        return False

    def adds_bias(self, op: Op, metas: Sequence[Any]) -> bool:
        """Return whether the launch of a matmul of operands ``metas`` adds a bias sooner than a kernel behind it does
        that has nothing else to do."""
        return False

    def channels_last(self, op: Op, metas: Sequence[Any]) -> bool:
        """Return whether a convolution (or a gradient of one, perhaps FusedEpilogue) of operands ``metas`` had better
        get and give images with channels last, where others do so too (compiler.layout.ChannelsLast)."""
        return False

    def kernel_strip(self, op: Op, metas: Sequence[Any], params: Sequence[Any]) -> tuple[int, int] | None:
        """Return the strips in which the launch of a convolution wants its kernels (compiler.strips), for images with
        channels last: so many output channels, and a multiple of so many input channels; or those of a matmul in which
        it wants the second matrix, of columns and rows; or those of a recurrent layer, whose w may be narrower than x.
        None: as they are. ``metas`` are of x, w and the result, without symbols."""
        return None

    def lays_out(self, op: Op, metas: Sequence[Any]) -> bool:
        """Return whether the second operand of a matmul, a matrix that is taken transposed, had better be transposed in
        memory before (compiler.simplify)."""
        return False

    def supports(self, op: Op) -> bool:
        """Return whether there are kernels of ``op``, for some operands at least. Without one it runs as its
        decomposition."""
        raise NotImplementedError(f"backend {self.name!r} does not say what it supports")

    def __repr__(self) -> str:
        return f"<backend {self.name}>"


class Absent(Exception):
    """Raised by what makes a backend where this machine has no device of it. Nobody is warned; the reason, a sentence,
    is told to whoever asks for the device."""


_by_name: dict[str, Backend] = {}
_broken: dict[str, str] = {}  # entry point -> why it was skipped
_absent: dict[str, str] = {}  # entry point -> why there is no device
_discovered = False


def register(backend: Backend) -> Backend:
    """Add a backend by hand, as entry points do by themselves."""
    if not isinstance(backend, Backend):
        raise TypeError(f"a backend must be a umiak.backends.Backend, got {type(backend).__name__}")
    if not backend.device_type or ":" in backend.device_type:
        raise ValueError(f"a backend must name its device type (without a colon), got {backend.device_type!r}")
    backend.name = backend.name or backend.device_type
    former = _by_name.get(backend.name)
    if former is None:
        _by_name[backend.name] = backend
        clear_plans()
    elif former is not backend:
        raise ValueError(f"there is a backend {backend.name!r} already, made by {type(former).__module__}")
    return backend


def clear_plans() -> None:
    """Plans hold kernels of the backends there were; with others, every class of operands is planned anew."""
    for cls in REGISTRY.values():
        for op in cls._instances.values():
            op.clear()


def unregister(name: str) -> None:
    """Take a backend away. Places that it has set up keep their memory and streams."""
    del _by_name[name]
    clear_plans()


def discover(again: bool = False) -> None:
    """Load the backends of all installed distributions, and of the libraries below ``CUSTOM_DEVICE_ROOT``. Done once; a
    broken one is reported and skipped.

    ``again``: look for what has come since.
    """
    global _discovered
    if _discovered and not again:
        return
    # Imported here: it takes longer than everything else in this package together.
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP):
        try:
            backend = entry.load()
            register(backend if isinstance(backend, Backend) else backend())
            _absent.pop(entry.name, None)
        except Absent as error:
            _absent[entry.name] = str(error)
        except Exception as error:  # a plug-in's own; the others are to run
            origin = f" of {entry.dist.name}" if entry.dist is not None else ""
            _skip(entry.name, f"{entry.name!r}{origin} ({entry.value})", error)
    if ROOT in os.environ:
        _load_libraries(os.environ[ROOT])
    _discovered = True


def _skip(name: str, shown: str, error: Exception) -> None:
    _broken[name] = f"{type(error).__name__}: {error}"
    warnings.warn(f"backend {shown} is skipped: {_broken[name]}", RuntimeWarning, stacklevel=3)


Loader = Callable[[str], Iterable[tuple[str, Callable[[], Backend]]]]
_loader: Loader | None = None


def install_loader(loader: Loader) -> None:
    """Let ``loader(folder)`` name the backends of a folder of ``CUSTOM_DEVICE_ROOT``, and say what loads each."""
    global _loader
    _loader = loader


def _load_libraries(roots: str) -> None:
    assert _loader is not None, "the assembler installs it"
    for folder in filter(None, roots.split(os.pathsep)):
        try:
            libraries = list(_loader(folder))
        except Exception as error:
            _skip(folder, repr(folder), error)
            continue
        for name, load in libraries:
            try:
                register(load())
            except Exception as error:  # a library's own; the others are to run
                _skip(name, repr(name), error)


def absence(name: str) -> str | None:
    """Return why this machine has no device of an entry point, in a sentence; None where it has, or none is known."""
    discover()
    return _absent.get(name)


def backends_of(device_type: str) -> list[Backend]:
    """The backends of a device type, highest priority first."""
    discover()
    backends = [b for b in _by_name.values() if b.device_type == device_type]
    if not backends:
        known = ", ".join(device_types()) or "no device at all (is umiak installed?)"
        text = f"no backend runs {device_type!r}; there are backends for {known}"
        if device_type in _absent:
            text += f". {_absent[device_type].rstrip('.')}"
        if _broken:
            text += f". Skipped: {'; '.join(f'{name} ({why})' for name, why in _broken.items())}"
        raise ValueError(text)
    backends.sort(key=lambda b: -b.priority)
    return backends


def get(name: str | Place) -> Backend:
    """The backend of this name; of a place, the one that gives its memory."""
    if isinstance(name, Place):
        return backends_of(name.device_type)[0]
    discover()
    try:
        return _by_name[name]
    except KeyError:
        raise ValueError(f"there is no backend {name!r}; there are {', '.join(sorted(_by_name)) or 'none'}") from None


def device_types() -> list[str]:
    """Device types that some backend runs."""
    discover()
    return sorted({b.device_type for b in _by_name.values()})


# Kernels of ops that are no device's business: (class of ops, what gives the kernel of a call)
_everywhere: list[tuple[type[Op], Callable[[Call], Kernel]]] = []


def provide(cls: type[Op], kernel: Callable[[Call], Kernel]) -> None:
    """Let ``kernel(call)`` say how ops of a class run, wherever their operands are: no backend is asked."""
    _everywhere.append((cls, kernel))


def runs_everywhere(op: Op) -> bool:
    """Return whether an op is no device's business: a copy between places, communication, a function of the user's."""
    return any(isinstance(op, cls) for cls, _ in _everywhere)


def find_kernel(call: Call) -> Kernel | None:
    """The kernel of an op that has one everywhere; else the first one among the backends of the call's place."""
    for cls, kernel in _everywhere:
        if isinstance(call.op, cls):
            return kernel(call)
    for backend in backends_of(call.place.device_type):
        candidate = backend.kernel(call)
        if candidate is not None:
            return candidate
    return None


def open_place(index: int) -> None:
    """Give a place its allocator and stream driver; called by the core before the first use of the place."""
    place = from_index(index)
    backend = backends_of(place.device_type)[0]
    count = backend.device_count()
    if place.device_id >= count:
        raise ValueError(
            f"{place.name} requires over {place.device_id} devices of type {place.device_type!r}, got {count}"
        )
    stream.install_driver(index, backend.stream_driver(place))
    storage.install_allocator(index, backend.allocator(place))


stream.set_opener(open_place)
