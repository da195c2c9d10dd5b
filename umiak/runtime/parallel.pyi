"""Work in parts on several threads, through one function. Threads start at the first use.

From C: ``int parallel_for(int (*fn)(void* arg, int64_t part), void* arg, int64_t parts)`` calls ``fn`` once for each
part and returns when all have run: 0, or the code of the first part (by index) that returned another. It may be called
from any thread, with or without the GIL; parts must not need the GIL if the caller holds it. A part inherits the
caller's floating-point mode. Calls from inside a part, calls while other work has the threads, and calls in a forked
child run one part after the other.
"""

from collections.abc import Callable

ADDRESS: int  # of parallel_for
COUNT_ADDRESS: int  # of ``int thread_count(void)``
LANES_ADDRESS: int  # of parallel_for in which each part has one thread for what it does
DRIVERS: tuple[str, ...]

def set_num_threads(n: int) -> None:
    """How many threads work on one thing, the caller's among them; 0 asks the environment and the system again.

    Without it: ``FLAGS_paddle_num_threads``, ``UMIAK_NUM_THREADS``, ``OMP_NUM_THREADS``, else as many as the process
    may use CPUs. A forked child has one thread until it is told otherwise.
    """

def get_num_threads() -> int: ...
def own_threads(n: int) -> int:
    """How many threads work on what the calling thread does, 0 for as many as on all else; returns what it was before.

    The threads of ``pool`` begin anew where the number differs from that of the work before.
    """

def available_cpus() -> int:
    """CPUs that this process may use: its affinity, and the quota of its control group where there is one."""

def set_driver(name: str) -> None:
    """Who runs parts: ``serial``, ``pool`` (threads of our own), ``gomp`` (GNU OpenMP, shared with libraries that use
    it; refused where there is none), or ``auto``: ``gomp`` if the process has loaded it already, else ``pool``."""

def join_gomp() -> None:
    """Have parts run by ``gomp`` from now on, because a library does; in a forked child nothing changes, where the
    library computes on one thread."""

def get_driver() -> str:
    """The driver in use; ``auto`` has been decided."""

def set_spin(microseconds: float) -> None:
    """How long threads of ``pool`` look out for more work before they sleep."""

def run(fn: Callable[[int], object], parts: int) -> None:
    """``fn(i)`` for all parts. If some raise, the exception of the first of them, by index, is raised in the end."""

def counters() -> dict[str, int]:
    """``threads``: how many threads of ``pool`` there are; ``rounds``: pieces of work they were given."""

def shutdown() -> None:
    """End the threads of ``pool``; the next work starts new ones. Runs by itself at exit."""
