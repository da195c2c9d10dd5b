/* Blocks of threads on one processor: every thread is a coroutine that runs up to the next barrier or exchange.

All threads of a block, or of a warp, must arrive at the same one, as on a device; emulated_run() tells where they do
not, and where threads wait for others that never arrive.

Instructions on tiles do as the PTX ISA says of fragments, and asynchronous copies arrive when they are waited for. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { MOST = 1024, STACK = 128 * 1024, WARP = 32, COPIES = 512, NAMED = 16 };
enum scope { READY, OF_BLOCK, OF_WARP, OF_SOME, ENDED };
static ucontext_t scheduler, contexts[MOST];
static char* stacks;
static enum scope state[MOST];
static const void* place_of[MOST]; /* where a thread waits */
static int round_of[MOST];
static int current, block, blocks;
static void (*entry)(void*);
static void* arguments;

typedef struct {
    uint32_t words[8];
} gift; /* what a thread gives to its warp */
static gift gifts[2][MOST]; /* two, because some run ahead by one exchange */

static struct {
    int arrived, generation;
} named[NAMED];
static int number_of[MOST], generation_of[MOST];

typedef struct {
    char* to;
    const char* from;
    int32_t bytes, given;
} copy;
static copy copies[MOST][COPIES];
static int n_copies[MOST], ends_of[MOST][COPIES], n_groups[MOST];

unsigned char emulated_shared[1 << 20] __attribute__((aligned(64)));

int32_t emulated_tid(void) { return current; }
int32_t emulated_block(void) { return block; }
int32_t emulated_blocks(void) { return blocks; }

static void wait_in(enum scope scope, const void* place) {
    state[current] = scope;
    place_of[current] = place;
    swapcontext(&contexts[current], &scheduler);
}

/* What all threads of the warp give at this place. */
static const gift* of_warp(const void* place, const gift* mine) {
    int me = current;
    gift* all = gifts[round_of[me]++ & 1];
    all[me] = *mine;
    wait_in(OF_WARP, place);

    return all + (me & ~(WARP - 1));
}

static int32_t exchange(const void* place, int32_t x, int partner) {
    gift mine = {{(uint32_t)x}};
    const gift* all = of_warp(place, &mine);
    return partner < 0 || partner >= WARP ? x : (int32_t)all[partner].words[0];
}

int32_t emulated_down(int32_t mask, int32_t x, int32_t by, int32_t clamp) {
    return exchange(__builtin_return_address(0), x, (current & 31) + by);
}
int32_t emulated_up(int32_t mask, int32_t x, int32_t by, int32_t clamp) {
    return exchange(__builtin_return_address(0), x, (current & 31) - by);
}
int32_t emulated_across(int32_t mask, int32_t x, int32_t by, int32_t clamp) {
    return exchange(__builtin_return_address(0), x, (current & 31) ^ by);
}
void emulated_barrier(int32_t number) {

    wait_in(OF_BLOCK, __builtin_return_address(0));
}
void emulated_barrier_at(long line) {

    wait_in(OF_BLOCK, (const void*)line);
}

void emulated_barrier_cta_arrive_aligned(void* result, int32_t number, int32_t threads) {
    if (++named[number].arrived == threads) named[number].arrived = 0, named[number].generation++;
}
void emulated_barrier_cta_sync_aligned(void* result, int32_t number, int32_t threads) {
    int generation = named[number].generation;
    emulated_barrier_cta_arrive_aligned(result, number, threads);
    if (named[number].generation != generation) return;
    number_of[current] = number, generation_of[current] = generation;
    wait_in(OF_SOME, NULL);
}

/* --- tiles --- */

/* Addresses of shared memory have 32 bits in instructions. */
static unsigned char* shared(int32_t address) {
    return emulated_shared + (uint32_t)((uint32_t)address - (uint32_t)(uintptr_t)emulated_shared);
}

static void copy_later(int32_t to, int64_t from, int32_t bytes, int32_t given) {
    copy* c = &copies[current][n_copies[current]++];
    *c = (copy){(char*)shared(to), (const char*)from, bytes, given};
    memset(c->to, 0x5b, bytes);
    if (n_copies[current] == COPIES) abort();
}
void emulated_cp_async_cg_shared_global(void* result, int32_t to, int64_t from, int32_t bytes, int32_t given) {
    copy_later(to, from, bytes, given);
}
void emulated_cp_async_ca_shared_global(void* result, int32_t to, int64_t from, int32_t bytes, int32_t given) {
    copy_later(to, from, bytes, given);
}
void emulated_cp_async_commit_group(void* result) { ends_of[current][n_groups[current]++] = n_copies[current]; }
void emulated_cp_async_wait_group(void* result, int32_t pending) {
    int me = current, done = n_groups[me] - pending;
    if (done <= 0) return;
    int end = ends_of[me][done - 1];
    for (int k = 0; k < end; k++) {
        copy* c = &copies[me][k];
        memset(c->to, 0, c->bytes);
        memcpy(c->to, c->from, c->given);
    }
    memmove(copies[me], copies[me] + end, (n_copies[me] - end) * sizeof(copy));
    memmove(ends_of[me], ends_of[me] + done, pending * sizeof(int));
    n_copies[me] -= end, n_groups[me] = pending;
    for (int k = 0; k < pending; k++) ends_of[me][k] -= end;
}

/* Matrix k of 8 x 8 numbers of 16 bits has the lines that lanes 8 k to 8 k + 7 point to; a lane gets two numbers of a
   line, or of a column where it is turned. */
static void load_matrices(const void* place, uint32_t* result, int32_t address, int count, int turned) {
    int lane = current & 31;
    gift mine = {{(uint32_t)address}};
    const gift* all = of_warp(place, &mine);
    for (int k = 0; k < count; k++)
        for (int half = 0; half < 2; half++) {
            int line = turned ? lane % 4 * 2 + half : lane / 4, at = turned ? lane / 4 : lane % 4 * 2 + half;
            uint16_t x;
            memcpy(&x, shared(all[8 * k + line].words[0]) + 2 * at, 2);
            result[k] = half ? result[k] | (uint32_t)x << 16 : x;
        }
}
#define LDMATRIX(name, count, turned) \
    void emulated_ldmatrix_sync_aligned_m8n8_##name##_shared_b16(void* result, int32_t address) { \
        load_matrices(__builtin_return_address(0), result, address, count, turned); }
LDMATRIX(x4, 4, 0)
LDMATRIX(x2, 2, 0)
LDMATRIX(x4_trans, 4, 1)
LDMATRIX(x2_trans, 2, 1)

static float of_float(int exponent_bits, int mantissa_bits, uint32_t x, int infinite) {
    int sign = x >> (exponent_bits + mantissa_bits) & 1, e = x >> mantissa_bits & ((1 << exponent_bits) - 1);
    int m = x & ((1 << mantissa_bits) - 1), bias = (1 << (exponent_bits - 1)) - 1, last = (1 << exponent_bits) - 1;
    double v;
    if (e == last && (infinite || m == (1 << mantissa_bits) - 1))
        v = infinite && !m ? __builtin_inf() : __builtin_nan("");
    else
        v = __builtin_ldexp(e ? m + (1 << mantissa_bits) : m, (e ? e : 1) - bias - mantissa_bits);
    return (float)(sign ? -v : v);
}

enum format { BF16, F16, E4M3, E5M2 };
static float number(const uint32_t* words, int k, enum format format) {
    if (format >= E4M3) {
        uint32_t byte = words[k / 4] >> 8 * (k % 4) & 0xff;
        return format == E4M3 ? of_float(4, 3, byte, 0) : of_float(5, 2, byte, 1);
    }
    uint32_t half = words[k / 2] >> 16 * (k % 2) & 0xffff;
    return format == BF16 ? of_float(8, 7, half, 1) : of_float(5, 10, half, 1);
}

/* D (16 x 8) = A (16 x K) B (K x 8) + C. A lane has, `some` numbers at a time: of A rows lane / 4 and eight below, for
   the first half of K, then the second one; of B column lane / 4, likewise. */
static void multiply(const void* place, float* d, const uint32_t* a, const uint32_t* b, const float* c, enum format f) {
    int lane = current & 31, some = f >= E4M3 ? 4 : 2, half = 4 * some;
    gift mine;
    memcpy(mine.words, a, 16);
    memcpy(mine.words + 4, b, 8);
    const gift* all = of_warp(place, &mine);
    float result[4];
    for (int k = 0; k < 4; k++) {
        int row = lane / 4 + k / 2 * 8, column = lane % 4 * 2 + k % 2;
        double total = c[k];
        for (int i = 0; i < 2 * half; i++) {
            int quad = i % half / some, high = i / half;
            const uint32_t* left = all[row % 8 * 4 + quad].words;
            const uint32_t* right = all[column * 4 + quad].words + 4;
            total += (double)number(left + row / 8 + 2 * high, i % some, f) * number(right + high, i % some, f);
        }
        result[k] = (float)total;
    }
    memcpy(d, result, sizeof result);
}
#define MMA(name, format) \
    void emulated_mma_sync_aligned_##name##_f32(float* d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, \
                                                uint32_t b0, uint32_t b1, float c0, float c1, float c2, float c3) { \
        multiply(__builtin_return_address(0), d, (uint32_t[]){a0, a1, a2, a3}, (uint32_t[]){b0, b1}, \
                 (float[]){c0, c1, c2, c3}, format); }
MMA(m16n8k16_row_col_f32_bf16_bf16, BF16)
MMA(m16n8k16_row_col_f32_f16_f16, F16)
MMA(m16n8k32_row_col_f32_e4m3_e4m3, E4M3)
MMA(m16n8k32_row_col_f32_e5m2_e5m2, E5M2)

/* --- the block --- */

static void thread(void) {
    entry(arguments);
    state[current] = ENDED;
    swapcontext(&contexts[current], &scheduler);
}

/* Whether threads [first, first + count) wait at one place. */
static int together(int first, int count, enum scope scope) {
    for (int t = first; t < first + count; t++)
        if (state[t] != scope || place_of[t] != place_of[first]) return 0;
    return 1;
}

/* 0, or 1 where threads waited for others that never came, or at different places. */
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
            round_of[t] = n_copies[t] = n_groups[t] = 0;
            state[t] = READY;
        }
        memset(named, 0, sizeof named);
        for (;;) {
            int moved = 0, ended = 0;
            for (current = 0; current < threads; current++)
                if (state[current] == READY) moved = 1, swapcontext(&scheduler, &contexts[current]);
            for (int t = 0; t < threads; t++) {
                if (state[t] == OF_SOME && named[number_of[t]].generation != generation_of[t]) state[t] = READY, moved = 1;
                ended += state[t] == ENDED;
            }
            if (ended == threads) break;
            for (int w = 0; w < threads; w += WARP)
                if (state[w] == OF_WARP && together(w, WARP, OF_WARP))
                    for (int t = w; t < w + WARP; t++) state[t] = READY;
            if (together(0, threads, OF_BLOCK))
                for (int t = 0; t < threads; t++) state[t] = READY;
            if (!moved) return 1;
        }
    }
    return 0;
}
