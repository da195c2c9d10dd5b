#pragma once
/* Parts of one piece of work on several threads. Included by parallel.pyx alone: what is static here exists once.
 *
 * One piece of work has the threads at a time. Who comes while they are busy, or from inside a part, runs its parts
 * itself, so nothing here waits for anything but parts that are being run.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef int (*umiak_part_fn)(void *arg, int64_t part);

enum { UMIAK_UNDECIDED = -1, UMIAK_SERIAL = 0, UMIAK_POOL = 1, UMIAK_GOMP = 2 };

static __thread int umiak_inside = 0; /* this thread is running a part */

/* ---- the floating-point mode (flush to zero, rounding) of a part is that of the thread that asked for it ---- */
#if defined(__x86_64__)
static inline uint32_t umiak_fp_mode(void) { uint32_t m; __asm__ volatile("stmxcsr %0" : "=m"(m)); return m & ~0x3Fu; }
static inline void umiak_set_fp_mode(uint32_t m) { __asm__ volatile("ldmxcsr %0" : : "m"(m)); }
static inline void umiak_pause(void) { __asm__ volatile("pause"); }
#elif defined(__aarch64__)
static inline uint32_t umiak_fp_mode(void) { uint64_t m; __asm__ volatile("mrs %0, fpcr" : "=r"(m)); return (uint32_t)m; }
static inline void umiak_set_fp_mode(uint32_t m) { uint64_t w = m; __asm__ volatile("msr fpcr, %0" : : "r"(w)); }
static inline void umiak_pause(void) { __asm__ volatile("yield"); }
#else
static inline uint32_t umiak_fp_mode(void) { return 0; }
static inline void umiak_set_fp_mode(uint32_t m) { (void)m; }
static inline void umiak_pause(void) {}
#endif

/* ---- the work in hand ---- */
#define UMIAK_NO_FAILURE INT64_MAX
#define UMIAK_CLOSED 0xFFFFFFFFu

static struct {
    /* Generation above, the next part below. A part is claimed by compare and swap, which fails if the work has changed;
     * below is UMIAK_CLOSED while the other fields do. */
    _Alignas(64) _Atomic uint64_t ticket;
    _Alignas(64) _Atomic uint32_t done; /* parts that have been run; the owner sleeps on it */
    _Atomic uint32_t owner_sleeps;
    _Alignas(64) umiak_part_fn fn;
    void *arg;
    _Atomic uint32_t parts;
    uint32_t fp_mode;
    _Atomic int64_t failed; /* part << 32 | code of the first part that failed */
} umiak_work;

static _Atomic int umiak_busy; /* someone has the threads */

static void umiak_note_failure(_Atomic int64_t *failed, int64_t part, int code)
{
    int64_t mine = part << 32 | (uint32_t)code, seen = atomic_load(failed);
    while (mine < seen && !atomic_compare_exchange_weak(failed, &seen, mine)) {}
}

static int umiak_run_serial(umiak_part_fn fn, void *arg, int64_t parts)
{
    int result = 0, inside = umiak_inside;
    umiak_inside = 1;
    for (int64_t i = 0; i < parts; i++) {
        int code = fn(arg, i);
        if (result == 0) result = code;
    }
    umiak_inside = inside;
    return result;
}

static void umiak_futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0); /* EINTR, EAGAIN: the caller looks again */
}

static void umiak_futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static inline int64_t umiak_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Run parts until none is left to claim. */
static void umiak_run_parts(void)
{
    uint64_t t = atomic_load_explicit(&umiak_work.ticket, memory_order_acquire);
    for (;;) {
        uint32_t next = (uint32_t)t, parts = atomic_load_explicit(&umiak_work.parts, memory_order_relaxed);
        if (next >= parts) return;
        if (!atomic_compare_exchange_weak_explicit(&umiak_work.ticket, &t, t + 1, memory_order_acq_rel,
                                                   memory_order_acquire))
            continue;
        /* The part is ours and not yet done, so the fields stay as they are until we say so. */
        uint32_t mode = umiak_fp_mode();
        if (mode != umiak_work.fp_mode) umiak_set_fp_mode(umiak_work.fp_mode);
        int code = umiak_work.fn(umiak_work.arg, next);
        if (mode != umiak_work.fp_mode) umiak_set_fp_mode(mode);
        if (code) umiak_note_failure(&umiak_work.failed, next, code);
        if (atomic_fetch_add(&umiak_work.done, 1) + 1 == parts && atomic_load(&umiak_work.owner_sleeps))
            umiak_futex_wake(&umiak_work.done, 1);
        t = atomic_load_explicit(&umiak_work.ticket, memory_order_acquire);
    }
}

static void umiak_post(umiak_part_fn fn, void *arg, uint32_t parts)
{
    uint64_t t = atomic_load(&umiak_work.ticket);
    atomic_store(&umiak_work.ticket, t | UMIAK_CLOSED);
    umiak_work.fn = fn;
    umiak_work.arg = arg;
    umiak_work.fp_mode = umiak_fp_mode();
    atomic_store(&umiak_work.failed, UMIAK_NO_FAILURE);
    atomic_store(&umiak_work.done, 0);
    atomic_store(&umiak_work.owner_sleeps, 0);
    atomic_store(&umiak_work.parts, parts);
    atomic_store(&umiak_work.ticket, ((t >> 32) + 1) << 32);
}

static int umiak_work_result(void)
{
    int64_t failed = atomic_load(&umiak_work.failed);
    return failed == UMIAK_NO_FAILURE ? 0 : (int)(uint32_t)failed;
}

/* ---- own threads ---- */
static struct {
    _Alignas(64) _Atomic uint32_t generation; /* grows with every piece of work; idle threads sleep on it */
    _Atomic uint32_t sleepers;
    _Atomic int stop;
    int64_t spin; /* ns that a thread looks on before it sleeps */
    int count;    /* threads there are, the caller's not among them */
    int asked;    /* how many were asked for */
    pthread_t *threads;
    _Atomic int64_t rounds; /* pieces of work that were handed to the threads */
} umiak_pool = {.spin = 50000};

/* Look at `word` until it is no longer `value`, for a while at most. The clock is read now and then, because how long a
 * pause takes differs ten-fold between CPUs. Yielding lets another process have the core while we have nothing to do. */
static int umiak_spin(_Atomic uint32_t *word, uint32_t value, int until_equal)
{
    int64_t end = 0;
    for (int round = 0;; round++) {
        for (int i = 0; i < 64; i++) {
            if ((atomic_load_explicit(word, memory_order_acquire) == value) == until_equal) return 1;
            umiak_pause();
        }
        int64_t now = umiak_now();
        if (end == 0) end = now + umiak_pool.spin;
        if (now >= end) return 0;
        if (round >= 4) sched_yield();
    }
}

static void *umiak_pool_thread(void *start)
{
    uint32_t seen = (uint32_t)(uintptr_t)start;
    umiak_inside = 1;
    for (;;) {
        if (!umiak_spin(&umiak_pool.generation, seen, 0)) {
            atomic_fetch_add(&umiak_pool.sleepers, 1);
            while (atomic_load(&umiak_pool.generation) == seen) umiak_futex_wait(&umiak_pool.generation, seen);
            atomic_fetch_sub(&umiak_pool.sleepers, 1);
        }
        seen = atomic_load(&umiak_pool.generation);
        if (atomic_load(&umiak_pool.stop)) return NULL;
        umiak_run_parts();
    }
}

/* The functions below are called by who has the threads (umiak_busy). */
static void umiak_pool_stop(void)
{
    if (umiak_pool.threads == NULL) return;
    atomic_store(&umiak_pool.stop, 1);
    atomic_fetch_add(&umiak_pool.generation, 1);
    umiak_futex_wake(&umiak_pool.generation, INT32_MAX);
    for (int i = 0; i < umiak_pool.count; i++) pthread_join(umiak_pool.threads[i], NULL);
    atomic_store(&umiak_pool.stop, 0);
    free(umiak_pool.threads);
    umiak_pool.threads = NULL;
    umiak_pool.count = 0;
}

/* Fewer threads than asked for are no error: parts are claimed by whoever there is. */
static void umiak_pool_start(int count)
{
    sigset_t all, former;
    umiak_pool.asked = count;
    umiak_pool.threads = calloc((size_t)count, sizeof(pthread_t));
    if (umiak_pool.threads == NULL) return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former); /* signals are for the threads that know what to do with them */
    while (umiak_pool.count < count
           && pthread_create(&umiak_pool.threads[umiak_pool.count], NULL, umiak_pool_thread,
                             (void *)(uintptr_t)atomic_load(&umiak_pool.generation)) == 0)
        umiak_pool.count++;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
}

static int umiak_pool_run(umiak_part_fn fn, void *arg, int64_t parts, int threads)
{
    if (umiak_pool.threads == NULL || umiak_pool.asked != threads - 1) {
        umiak_pool_stop();
        umiak_pool_start(threads - 1);
    }
    umiak_post(fn, arg, (uint32_t)parts);
    atomic_fetch_add(&umiak_pool.generation, 1);
    umiak_pool.rounds++;
    if (atomic_load(&umiak_pool.sleepers)) umiak_futex_wake(&umiak_pool.generation, (int)parts - 1);
    umiak_inside = 1;
    umiak_run_parts();
    umiak_inside = 0;
    if (!umiak_spin(&umiak_work.done, (uint32_t)parts, 1)) {
        atomic_store(&umiak_work.owner_sleeps, 1);
        for (;;) {
            uint32_t done = atomic_load(&umiak_work.done);
            if (done == (uint32_t)parts) break;
            umiak_futex_wait(&umiak_work.done, done);
        }
    }
    return umiak_work_result();
}

/* ---- GNU OpenMP, when the process has it or the system does ---- */
static void (*umiak_gomp_parallel)(void (*)(void *), void *, unsigned, unsigned);

/* Its threads look on for milliseconds before they sleep, which starves a second process on the same CPUs. It reads the
 * number of rounds once, when it is loaded; unless the user has said something, it shall be some 50 us. */
static int umiak_gomp_open(int load)
{
    if (umiak_gomp_parallel == NULL) {
        int ours = load && getenv("GOMP_SPINCOUNT") == NULL && getenv("OMP_WAIT_POLICY") == NULL;
        if (ours) setenv("GOMP_SPINCOUNT", "2000", 1);
        void *library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL | (load ? 0 : RTLD_NOLOAD));
        if (ours) unsetenv("GOMP_SPINCOUNT");
        if (library != NULL) *(void **)&umiak_gomp_parallel = dlsym(library, "GOMP_parallel");
    }
    return umiak_gomp_parallel != NULL;
}

static void umiak_gomp_thread(void *unused)
{
    int inside = umiak_inside;
    (void)unused;
    umiak_inside = 1;
    umiak_run_parts();
    umiak_inside = inside;
}

static int umiak_gomp_run(umiak_part_fn fn, void *arg, int64_t parts, int threads)
{
    umiak_post(fn, arg, (uint32_t)parts);
    umiak_gomp_parallel(umiak_gomp_thread, NULL, (unsigned)(parts < threads ? parts : threads), 0);
    return umiak_work_result();
}

/* ---- who runs it ---- */
static int umiak_driver = UMIAK_UNDECIDED;
static int umiak_threads = 0; /* 0: not known yet */
static __thread int umiak_own = 0; /* how many this thread wants for what it does; 0: as many as all */
static int umiak_forked = 0;  /* libgomp hangs in a forked child of a process that has used it */

static int umiak_parallel_run(umiak_part_fn fn, void *arg, int64_t parts)
{
    int free = 0, result, threads = umiak_own ? umiak_own : umiak_threads;
    if (parts <= 1 || threads <= 1 || umiak_driver == UMIAK_SERIAL || umiak_inside || parts >= UMIAK_CLOSED
        || !atomic_compare_exchange_strong(&umiak_busy, &free, 1))
        return umiak_run_serial(fn, arg, parts);
    result = umiak_driver == UMIAK_GOMP && !umiak_forked ? umiak_gomp_run(fn, arg, parts, threads)
                                                         : umiak_pool_run(fn, arg, parts, threads);
    atomic_store(&umiak_busy, 0);
    return result;
}

/* Have the threads, for at most `wait` ns. */
static int umiak_acquire(int64_t wait)
{
    int64_t end = umiak_now() + wait;
    for (;;) {
        int free = 0;
        if (atomic_compare_exchange_strong(&umiak_busy, &free, 1)) return 1;
        if (umiak_now() >= end) return 0;
        usleep(50);
    }
}

/* In a forked child: the threads are gone, and whoever had them. */
static void umiak_after_fork(void)
{
    free(umiak_pool.threads);
    umiak_pool.threads = NULL;
    umiak_pool.count = 0;
    atomic_store(&umiak_pool.sleepers, 0);
    atomic_store(&umiak_pool.stop, 0);
    atomic_store(&umiak_busy, 0);
    umiak_forked = 1;
    umiak_threads = 1;
    umiak_own = 0;
}
