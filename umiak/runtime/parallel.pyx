"""Work in parts on several threads: one function, three drivers. See parallel.pyi, and pool.h for the threads."""
import atexit
import os
import warnings

from libc.stdint cimport int64_t

from umiak.util import flags

cdef extern from "umiak/runtime/pool.h" nogil:
    enum:
        UMIAK_UNDECIDED
        UMIAK_SERIAL
        UMIAK_POOL
        UMIAK_GOMP
    int umiak_parallel_run(part_t fn, void* arg, int64_t parts)
    bint umiak_acquire(int64_t wait)
    void umiak_pool_stop()
    bint umiak_gomp_open(bint load)
    void umiak_after_fork()
    void atomic_store(int* p, int value)
    int umiak_inside, umiak_driver, umiak_threads, umiak_own, umiak_busy
    bint umiak_forked
    struct umiak_pool_t "umiak_pool":
        int64_t spin, rounds
        int count
    umiak_pool_t umiak_pool

DRIVERS = ("serial", "pool", "gomp")
cdef int64_t FOREVER = 1 << 62


cdef int parallel_for(part_t fn, void* arg, int64_t parts) noexcept nogil:
    thread_count()
    return umiak_parallel_run(fn, arg, parts)


cdef int thread_count() noexcept nogil:
    """Return the number of threads to use; 1 if work is serial anyway."""
    if umiak_threads == 0 or umiak_driver == UMIAK_UNDECIDED:
        decide()
    if umiak_driver == UMIAK_SERIAL:
        return 1
    return umiak_own if umiak_own else umiak_threads


cdef void decide() noexcept with gil:
    """Choose the driver and the number of threads, once. What the environment says was checked at import."""
    global umiak_threads
    if umiak_driver == UMIAK_UNDECIDED:
        choose_driver(_DRIVER.value)
    if umiak_threads == 0:
        umiak_threads = _THREADS.value or _environment or available_cpus()


# ---- how many --------------------------------------------------------------------------------------------------------
def _from_environment():
    """Return the number that ``UMIAK_NUM_THREADS`` or ``OMP_NUM_THREADS`` asks for; 0 for none."""
    text = os.environ.get("UMIAK_NUM_THREADS", "").strip()
    if text:
        if not text.isdecimal() or not 0 < int(text) < 1 << 16:
            raise ValueError(f"UMIAK_NUM_THREADS requires a positive number, got {text!r}")
        return int(text)
    text = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()      # further items are for nested regions
    if text:
        if text.isdecimal() and 0 < int(text) < 1 << 16:
            return int(text)
        warnings.warn(f"OMP_NUM_THREADS requires a positive number, got {text!r}; it is ignored", RuntimeWarning)
    return 0


def _quota():
    """CPUs that the control group allows, rounded up; None where it does not say."""
    for path in ("/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"):
        try:
            with open(path) as file:
                words = file.read().split()
            if len(words) == 1:
                with open("/sys/fs/cgroup/cpu/cpu.cfs_period_us") as file:
                    words += file.read().split()
            quota, period = int(words[0]), int(words[1])
        except (OSError, ValueError, IndexError):                         # absent, or "max"
            continue
        if quota > 0 and period > 0:
            return -(-quota // period)
    return None


def available_cpus():
    count = len(os.sched_getaffinity(0))
    quota = _quota()
    return count if quota is None else max(1, min(count, quota))


cdef int take_threads() except -1:
    """Have the threads, once the work in hand is done. Its parts may want the GIL."""
    if umiak_inside:
        raise RuntimeError("threads cannot be changed from inside of a part of what they are running")
    with nogil:
        umiak_acquire(FOREVER)
    return 0


def set_num_threads(int n):
    global umiak_threads
    if not 0 <= n < 1 << 16:
        raise ValueError(f"[set_num_threads] requires a number of threads >= 0, got {n}")
    if n != umiak_threads:
        take_threads()
        umiak_pool_stop()
        umiak_threads = n
        atomic_store(&umiak_busy, 0)


def get_num_threads():
    if umiak_own:
        return umiak_own
    if umiak_threads == 0:
        decide()
    return umiak_threads


def own_threads(int n):
    global umiak_own
    cdef int before = umiak_own
    if not 0 <= n < 1 << 16:
        raise ValueError(f"[own_threads] requires a number of threads >= 0, got {n}")
    umiak_own = n
    return before


# ---- who -------------------------------------------------------------------------------------------------------------
cdef int choose_driver(str name) except -1:
    global umiak_driver
    cdef int chosen
    if name == "auto":
        name = "gomp" if umiak_gomp_open(False) and not umiak_forked else "pool"
    if name not in DRIVERS:
        raise ValueError(f"[set_driver] requires one of auto, {', '.join(DRIVERS)}, got {name!r}")
    chosen = DRIVERS.index(name)
    if chosen == UMIAK_GOMP:
        if umiak_forked:
            raise RuntimeError("[set_driver] cannot use 'gomp' in a forked child: it waits for its parent's threads")
        if not umiak_gomp_open(True):
            raise RuntimeError("[set_driver] requires libgomp.so.1 for 'gomp', and there is none")
    take_threads()
    umiak_pool_stop()
    umiak_driver = chosen
    atomic_store(&umiak_busy, 0)
    return 0


def set_driver(str name not None):
    choose_driver(name)


def join_gomp():
    if not umiak_forked:
        choose_driver("gomp")


def get_driver():
    if umiak_driver == UMIAK_UNDECIDED:
        choose_driver(_DRIVER.value)
    return DRIVERS[UMIAK_POOL if umiak_driver == UMIAK_GOMP and umiak_forked else umiak_driver]


def set_spin(double microseconds):
    if not 0 <= microseconds <= 1e6:
        raise ValueError(f"[set_spin] requires microseconds between 0 and 1000000, got {microseconds}")
    umiak_pool.spin = <int64_t>(microseconds * 1e3)


def counters():
    return {"threads": umiak_pool.count, "rounds": umiak_pool.rounds}


def shutdown():
    # At exit a daemon thread may have the threads for ever: then they end with the process.
    if not umiak_inside and umiak_acquire(100000000):
        umiak_pool_stop()
        atomic_store(&umiak_busy, 0)


# ---- parts with one thread each --------------------------------------------------------------------------------------
cdef struct Lanes:
    part_t fn
    void* arg


cdef int lane(void* arg, int64_t part) noexcept nogil:
    global umiak_own
    cdef Lanes* work = <Lanes*>arg
    cdef int before = umiak_own, code
    umiak_own = 1
    code = work.fn(work.arg, part)
    umiak_own = before
    return code


cdef int run_lanes(part_t fn, void* arg, int64_t parts) noexcept nogil:
    cdef Lanes work
    work.fn, work.arg = fn, arg
    return parallel_for(lane, &work, parts)


# ---- from Python -----------------------------------------------------------------------------------------------------
cdef class PythonParts:
    cdef object fn
    cdef object error
    cdef int64_t part           # that raised it


cdef int python_part(void* arg, int64_t part) noexcept with gil:
    cdef PythonParts work = <PythonParts>arg
    try:
        work.fn(part)
    except BaseException as error:
        if work.error is None or part < work.part:
            work.error = error
            work.part = part
        return 1
    return 0


def run(fn, int64_t parts):
    cdef PythonParts work = PythonParts()
    if parts < 0:
        raise ValueError(f"[run] requires a number of parts >= 0, got {parts}")
    work.fn = fn
    with nogil:
        parallel_for(python_part, <void*>work, parts)
    if work.error is not None:
        error, work.error = work.error, None                              # or the frame in its traceback keeps it alive
        raise error


ADDRESS = <size_t><void*>&parallel_for
COUNT_ADDRESS = <size_t><void*>&thread_count
LANES_ADDRESS = <size_t><void*>&run_lanes

cdef int _environment = _from_environment()
_THREADS = flags.define("paddle_num_threads", 0, "threads that work on one op; 0: OMP_NUM_THREADS, or one per CPU",
                        on_change=set_num_threads)
_DRIVER = flags.define("parallel_driver", "auto", f"who runs parts of an op: auto, {', '.join(DRIVERS)}",
                       on_change=set_driver)


def _after_fork():
    umiak_after_fork()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(shutdown)
