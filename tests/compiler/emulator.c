/* Blocks of threads on one processor: every thread is a coroutine that runs up to the next barrier or exchange.

All threads of a block must arrive at the same one, as on a device; emulated_run() tells where they do not. */
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

enum { MOST = 1024, STACK = 128 * 1024 };
static ucontext_t scheduler, contexts[MOST];
static char* stacks;
static const void* waiting[MOST]; /* the place of the barrier that a thread has arrived at; NULL: it has ended */
static int32_t slots[2][MOST];    /* what threads give away; two, because some run ahead by one exchange */
static int round_of[MOST];
static int current, block, blocks;
static void (*entry)(void*);
static void* arguments;

unsigned char emulated_shared[1 << 20] __attribute__((aligned(64)));

int32_t emulated_tid(void) { return current; }
int32_t emulated_block(void) { return block; }
int32_t emulated_blocks(void) { return blocks; }

static void wait_at(const void* place) {
    waiting[current] = place;
    swapcontext(&contexts[current], &scheduler);
}

static int32_t exchange(const void* place, int32_t x, int by, int up) {
    int32_t* slot = slots[round_of[current]++ & 1];
    int partner = (current & 31) + (up ? -by : by);
    int me = current;
    slot[me] = x;
    wait_at(place);

    return partner < 0 || partner > 31 ? x : slot[(me & ~31) + partner];
}

int32_t emulated_down(int32_t mask, int32_t x, int32_t by, int32_t clamp) {
    return exchange(__builtin_return_address(0), x, by, 0);
}
int32_t emulated_up(int32_t mask, int32_t x, int32_t by, int32_t clamp) {
    return exchange(__builtin_return_address(0), x, by, 1);
}
void emulated_barrier(int32_t number) {

    wait_at(__builtin_return_address(0));
}
void emulated_barrier_at(long line) {

    wait_at((const void*)line);
}

static void thread(void) {
    entry(arguments);
    waiting[current] = NULL;
    swapcontext(&contexts[current], &scheduler);
}

/* 0, or 1 where threads of a block waited at different places. */
int emulated_run(void (*function)(void*), void* args, int n_blocks, int threads) {
    if (!stacks) stacks = malloc((size_t)MOST * STACK);
    entry = function, arguments = args, blocks = n_blocks;

    for (block = 0; block < n_blocks; block++) {
        for (int t = 0; t < threads; t++) {
            getcontext(&contexts[t]);
            contexts[t].uc_stack.ss_sp = stacks + (size_t)t * STACK;
            contexts[t].uc_stack.ss_size = STACK;
            contexts[t].uc_link = NULL;
            makecontext(&contexts[t], thread, 0);
            round_of[t] = 0;
        }
        do {
            for (current = 0; current < threads; current++) swapcontext(&scheduler, &contexts[current]);
            for (int t = 1; t < threads; t++)
                if (waiting[t] != waiting[0]) return 1;
        } while (waiting[0]);
    }
    return 0;
}
