/* A stack for signal handlers, one per thread that computes with oneDNN.
 *
 * Its matmuls in float32 (up to 3.11.1, https://github.com/uxlfoundation/oneDNN/issues/4845) point the stack pointer into memory of
 * theirs for as long as they run. A signal's frame would be written below it, over what the heap has there. Handlers that ask for a
 * stack of their own, as Python's and faulthandler's do (SA_ONSTACK), leave the heap alone. */
#pragma once

#if defined(__linux__)
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static __thread int umiak_signals_known;
static pthread_key_t umiak_signals_key;

/* A frame holds all vector registers. */
static size_t umiak_signals_bytes(void) { return ((size_t)getauxval(AT_MINSIGSTKSZ) + (64 << 10) + 4095) & ~(size_t)4095; }

static void umiak_signals_end(void *own)
{
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == own) {
        now.ss_flags = SS_DISABLE;
        sigaltstack(&now, NULL);
    }
    munmap(own, umiak_signals_bytes());
}

static int umiak_signals_init(void) { return pthread_key_create(&umiak_signals_key, umiak_signals_end); }

/* Does nothing where the thread has one, or there is no memory. */
static void umiak_signals_stack(void)
{
    stack_t now, made = {0};
    if (umiak_signals_known) return;
    umiak_signals_known = 1;
    if (sigaltstack(NULL, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;
    made.ss_size = umiak_signals_bytes();
    made.ss_sp = mmap(NULL, made.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made.ss_sp == MAP_FAILED) return;
    if (sigaltstack(&made, NULL) != 0 || pthread_setspecific(umiak_signals_key, made.ss_sp) != 0)
        umiak_signals_end(made.ss_sp);
}
#else
static int umiak_signals_init(void) { return 0; }
static void umiak_signals_stack(void) {}
#endif
