"""All ambient state, behind one thread-local pointer."""

from typing import Any

from umiak.core.place import Place

MODE_GRAD: int  # bits of EngineContext.plan_mode
AMP_MASK: int
OBSERVE_TRACE: int  # bits of EngineContext.observers
OBSERVE_PROFILE: int
OBSERVE_NAN: int
OBSERVE_LOG: int
OBSERVE_HOOKS: int

class RankState:
    rank: int
    default_dtype: int
    place: Place
    generators: dict
    names: dict[str, int]
    values: dict[Any, Any]

class EngineContext:
    state: RankState
    trace: list
    values: dict[Any, Any]
    grad_enabled: bool  # settable
    observers: int
    plan_mode: int
    place: Place  # read-only: where ops without tensor operands run now
    saved_hooks: tuple | None  # (pack, unpack) around tensors that calls save for their gradients
    wanted: list | None  # read-only: the tensors that the running `grad` asks for
    def set_amp(self, level: int, dtype_id: int, custom: int = 0) -> None: ...
    def amp(self) -> tuple[int, int, int]: ...  # level, dtype id, custom list id
    def get_stream(self, place: Place) -> int: ...
    def set_stream(self, place: Place, stream: int) -> int: ...
    def fork(self) -> EngineContext: ...  # a context for another thread of the same rank
    def activate(self) -> EngineContext | None: ...  # make it this thread's context; returns the former one

def current() -> EngineContext: ...
def capture_of() -> Any: ...  # the tracer of the function that is being captured, or None
def is_tracing() -> bool: ...  # whether calls are recorded in a program
def observe_everywhere(bits: int, on: bool) -> None: ...  # in all threads
def new_rank(rank: int) -> EngineContext: ...  # a virtual rank

class place_guard:
    """Calls without tensor operands run on ``place`` inside; None changes nothing."""

    def __init__(self, place: Place | None) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *exc: object) -> None: ...

class no_grad_guard:
    def __enter__(self) -> None: ...
    def __exit__(self, *exc: object) -> None: ...
