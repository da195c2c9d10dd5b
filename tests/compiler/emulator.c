/* Blocks of threads on one processor: every thread is a coroutine that runs up to the next barrier or exchange.

All threads of a block, or of a warp, must arrive at the same one, as on a device; emulated_run() tells where they do
not, and where threads wait for others that never arrive.

Instructions on tiles do as the PTX ISA says of fragments, and asynchronous copies arrive when they are waited for.
Products of four warps are done when they are waited for, too: until then their results are no numbers. What they read
must have been published by whoever wrote it, and is the same when they are issued and when they are done. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { MOST = 1024, STACK = 128 * 1024, WARP = 32, COPIES = 512, NAMED = 16 };
enum scope { READY, OF_BLOCK, OF_WARP, OF_SOME, ENDED, FAULTY };
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

enum { SHARED = 1 << 20, UNIT = 16 }; /* bytes of memory of a block; of a piece of it that is written at once */
unsigned char emulated_shared[SHARED] __attribute__((aligned(1024)));
const char* emulated_fault; /* what a thread did that no device has to stand */

int32_t emulated_tid(void) { return current; }
int32_t emulated_block(void) { return block; }
int32_t emulated_blocks(void) { return blocks; }

static void fault(const char* what) {
    emulated_fault = what;
    state[current] = FAULTY;
    swapcontext(&contexts[current], &scheduler);
}

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

/* Registers that threads have beyond those of the launch, or less. Whoever wants more waits until others have given some
 * away: at the end they have to come out even. */
static int extra[MOST], most_registers;
static void share(int32_t count, int32_t most, int sign) {
    most_registers = most;
    if (count % 8 || count < 24 || count > 256) fault("a number of registers that no thread can have");
    if ((count - most) * sign < 0) fault("more registers given than there were, or less wanted");
    extra[current] = count - most;
}
void emulated_setmaxnreg_inc_sync_aligned_u32(void* result, int32_t count, int32_t most) { share(count, most, 1); }
void emulated_setmaxnreg_dec_sync_aligned_u32(void* result, int32_t count, int32_t most) { share(count, most, -1); }

static int registers_suffice(int threads) {
    int sum = 0;
    for (int t = 0; t < threads; t++) {
        sum += extra[t];
        if (t % (4 * WARP) && extra[t] != extra[t - 1]) return 0;
    }
    return sum <= 0;
}

/* --- tiles --- */

/* Addresses of shared memory have 32 bits in instructions. */
static unsigned char* shared(int32_t address) {
    return emulated_shared + (uint32_t)((uint32_t)address - (uint32_t)(uintptr_t)emulated_shared);
}

/* Who wrote a piece of memory that tensor cores do not see yet, its number plus one; or that it is on its way. */
enum { UNDER_WAY = MOST + 1, WRITES = 8192 };
static uint16_t unpublished[SHARED / UNIT];
static int32_t written[MOST][WRITES];
static int n_written[MOST];

static void mark(const void* at, int bytes, int who) {
    long first = ((const unsigned char*)at - emulated_shared) / UNIT;
    long last = ((const unsigned char*)at + bytes - 1 - emulated_shared) / UNIT;
    for (long k = first; k <= last; k++) {
        if (k < 0 || k >= SHARED / UNIT || unpublished[k] == who) continue;
        unpublished[k] = who;
        if (who == UNDER_WAY) continue;
        if (n_written[current] == WRITES) abort();
        written[current][n_written[current]++] = k;
    }
}
void emulated_stored(const void* at, int32_t bytes) { mark(at, bytes, current + 1); }
void emulated_fence_proxy_async_shared_cta(void* result) {
    for (int k = 0; k < n_written[current]; k++)
        if (unpublished[written[current][k]] == current + 1) unpublished[written[current][k]] = 0;
    n_written[current] = 0;
}

static void copy_later(int32_t to, int64_t from, int32_t bytes, int32_t given) {
    copy* c = &copies[current][n_copies[current]++];
    *c = (copy){(char*)shared(to), (const char*)from, bytes, given};
    memset(c->to, 0x5b, bytes);
    mark(c->to, bytes, UNDER_WAY);
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
        mark(c->to, c->bytes, me + 1);
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

/* --- products of four warps --- */

/* D (64 x N) = A (64 x K) B (K x N) + D, 16 rows for each warp. Registers of D are those of fragments of 16 x 8, one
   after the other; those of A are as for the product of one warp. */
enum { QUEUE = 256, CHAINS = 8, WIDE = 256, DEEP = 32, RING = 64 };
typedef struct {
    int columns, of_registers, turned_a, turned_b, chain;
    enum format format;
    uint64_t a, b;
    uint32_t words[WARP][4], read;
} operation;
static struct {
    operation queue[QUEUE];
    int count, ends[QUEUE], groups;
    long issued;
    struct {
        int pending;
        float numbers[WARP][WIDE / 2];
    } chains[CHAINS]; /* accumulators that products are under way to */
} warps[MOST / WARP];
static struct {
    uint64_t a, b;
    long number;
    int columns;
} rings[MOST / WARP / 4][RING]; /* what the first warp of four did, for the others */
static const uint64_t* taken_of[MOST];
static int fenced[MOST];

/* Numbers of a register that is no number: its chain and its place there. */
static uint32_t promise(int chain, int k) { return 0x7fc00000u | (uint32_t)(chain + 1) << 8 | k; }
static int chain_of(uint32_t x) { return (x & 0xffc00000u) == 0x7fc00000u ? (int)(x >> 8 & 0x3fff) - 1 : -1; }

/* Address of a number by "Matrix descriptor format" and the canonical layouts with 128-byte swizzling. */
static unsigned char* place_in(uint64_t d, int turned, int across, int along, int bytes) {
    uint32_t start = (d & 0x3fff) << 4, leading = (d >> 16 & 0x3fff) << 4, stride = (d >> 32 & 0x3fff) << 4;
    uint32_t base = (uint32_t)(uintptr_t)emulated_shared & 0x3ffff, line = 128 / bytes;
    uint32_t at = turned ? across % line * bytes + across / line * leading + along % 8 * 128 + along / 8 * stride
                         : across % 8 * 128 + across / 8 * stride + along * bytes;
    at = (start - base & 0x3ffff) + at;
    at ^= (at >> 7 & 7) << 4;
    if (at + bytes > SHARED) fault("a descriptor beyond shared memory");
    return emulated_shared + at;
}
static void check_descriptor(uint64_t d) {
    if (d >> 62 != 1) fault("a descriptor without 128-byte swizzling");
    if (d & 0x3fffc000c000c000ull) fault("a descriptor with a base offset or other bits");
}

static float table[4][1 << 16];
static float quick(const unsigned char* at, enum format f) {
    if (!table[f][1])
        for (uint32_t k = 0; k < (f >= E4M3 ? 1u << 8 : 1u << 16); k++) table[f][k] = number(&k, 0, f);
    return f >= E4M3 ? table[f][*at] : table[f][at[0] | at[1] << 8];
}

/* The operands of one warp; the value is a sum over what was read. */
static uint32_t operands(const operation* o, int warp, float a[16][DEEP], float b[DEEP][WIDE], int is_first) {
    int bytes = o->format >= E4M3 ? 1 : 2, depth = 32 / bytes;
    uint32_t sum = 0;
    for (int row = 0; row < (o->of_registers ? 0 : 16); row++)
        for (int k = 0; k < depth; k++) {
            unsigned char* at = place_in(o->a, o->turned_a, 16 * (warp % 4) + row, k, bytes);
            if (is_first && unpublished[(at - emulated_shared) / UNIT]) fault("a product of what was not published");
            a[row][k] = quick(at, o->format);
            for (int j = 0; j < bytes; j++) sum = (sum ^ at[j]) * 16777619u + row;
        }
    for (int k = 0; k < depth; k++)
        for (int column = 0; column < o->columns; column++) {
            unsigned char* at = place_in(o->b, o->turned_b, column, k, bytes);
            if (is_first && unpublished[(at - emulated_shared) / UNIT]) fault("a product of what was not published");
            b[k][column] = quick(at, o->format);
            for (int j = 0; j < bytes; j++) sum = (sum ^ at[j]) * 16777619u + k;
        }
    return sum;
}

static void perform(const operation* o, int warp) {
    static float a[16][DEEP], b[DEEP][WIDE];
    int some = o->format >= E4M3 ? 4 : 2, half = 4 * some;
    if (operands(o, warp, a, b, 0) != o->read) fault("what a product reads was written before it was done");
    if (o->of_registers)
        for (int row = 0; row < 16; row++)
            for (int k = 0; k < 2 * half; k++) {
                const uint32_t* words = o->words[row % 8 * 4 + k % half / some];
                a[row][k] = number(words + row / 8 + 2 * (k / half), k % some, o->format);
            }
    for (int lane = 0; lane < WARP; lane++)
        for (int k = 0; k < o->columns / 2; k++) {
            int row = lane / 4 + k % 4 / 2 * 8, column = k / 4 * 8 + lane % 4 * 2 + k % 2;
            float* d = &warps[warp].chains[o->chain].numbers[lane][k];
            double total = *d;
            for (int i = 0; i < 2 * half; i++) total += (double)a[row][i] * b[i][column];
            *d = (float)total;
        }
    warps[warp].chains[o->chain].pending--;
}

/* For the warp, when all its lanes are here: `numbers` are the lanes' accumulators, after what else they were given. */
static void issue(int warp, operation o, int before) {
    static float a[16][DEEP], b[DEEP][WIDE];
    int n = o.columns / 2, free = 0, group = warp / 4;
    uint32_t first = (uint32_t)taken_of[warp * WARP][before];
    if (!o.of_registers) check_descriptor(o.a);
    check_descriptor(o.b);
    o.chain = chain_of(first);
    if (o.chain < 0) {
        while (free < CHAINS && warps[warp].chains[free].pending) free++;
        if (free == CHAINS) fault("more accumulators under way than the emulator has");
        o.chain = free;
        for (int lane = 0; lane < WARP; lane++)
            for (int k = 0; k < n; k++)
                memcpy(&warps[warp].chains[free].numbers[lane][k], &taken_of[warp * WARP + lane][before + k], 4);
    } else if (!warps[warp].chains[o.chain].pending)
        fault("an accumulator that nobody has waited for");
    for (int lane = 0; lane < WARP; lane++) {
        const uint64_t* t = taken_of[warp * WARP + lane];
        if ((chain_of(first) < 0 || o.of_registers) && !fenced[warp * WARP + lane])
            fault("a product of registers without a fence");
        for (int k = 0; k < n; k++)
            if (chain_of((uint32_t)t[before + k]) != chain_of(first) || (chain_of(first) >= 0 && (t[before + k] & 0xff) != k))
                fault("accumulators in other registers than before");
        if (o.of_registers)
            for (int j = 0; j < 4; j++) o.words[lane][j] = t[j];
        if (t[o.of_registers ? 4 : 1] != o.b || (!o.of_registers && t[0] != o.a)) fault("lanes with other descriptors");
    }
    long number = warps[warp].issued++;
    __typeof__(&rings[0][0]) seen = &rings[group][number % RING];
    if (seen->number != number)
        seen->number = number, seen->a = o.of_registers ? 0 : o.a, seen->b = o.b, seen->columns = o.columns;
    else if (seen->b != o.b || seen->columns != o.columns || (!o.of_registers && seen->a != o.a))
        fault("four warps with other products");
    o.read = operands(&o, warp, a, b, 1);
    if (warps[warp].count == QUEUE) abort();
    warps[warp].queue[warps[warp].count++] = o;
    warps[warp].chains[o.chain].pending++;
}

/* `taken` has 8 bytes for each argument; what is given back is `n` words of 4. */
static uint64_t* keep(const uint64_t* taken, int count) {
    static uint64_t kept[MOST][2 * WIDE];
    memcpy(kept[current], taken, count * sizeof *taken);
    return kept[current];
}
void emulated_wgmma_fence(uint32_t* result, const uint64_t* taken, int32_t n, int32_t count) {
    fenced[current] = 1;
    for (int k = 0; k < n; k++) result[k] = taken[k];
}
void emulated_wgmma_mma_async(uint32_t* result, const uint64_t* taken, int32_t n, int32_t count, int32_t format) {
    int before = count - n, eight = format >= E4M3, of_registers = before > 7;
    gift mine = {{0}};
    taken_of[current] = keep(taken, count);
    int me = current, warp = me / WARP;
    of_warp(__builtin_return_address(0), &mine);
    const uint64_t* t = taken_of[me];
    if (me % WARP == 0) {
        operation o = {.columns = 2 * n, .format = format, .of_registers = of_registers};
        o.a = of_registers ? 0 : t[0], o.b = t[of_registers ? 4 : 1];
        if (!eight) o.turned_b = (int)t[before - 1], o.turned_a = of_registers ? 0 : (int)t[before - 2];
        issue(warp, o, before);
    }
    int chain = warps[warp].queue[warps[warp].count - 1].chain;
    for (int k = 0; k < n; k++) result[k] = promise(chain, k);
}
void emulated_wgmma_commit_group(uint32_t* result, const uint64_t* taken, int32_t n, int32_t count) {
    int warp = current / WARP;
    if (current % WARP == 0) warps[warp].ends[warps[warp].groups++] = warps[warp].count;
}
void emulated_wgmma_wait_group(uint32_t* result, const uint64_t* taken, int32_t n, int32_t count) {
    gift mine = {{0}};
    const uint64_t* t = keep(taken, count);
    int me = current, warp = me / WARP, done = warps[warp].groups - (int)t[0];
    of_warp(__builtin_return_address(0), &mine);
    if (me % WARP == 0 && (done = warps[warp].groups - (int)t[0]) > 0) {
        int end = warps[warp].ends[done - 1];
        for (int k = 0; k < end; k++) perform(&warps[warp].queue[k], warp);
        memmove(warps[warp].queue, warps[warp].queue + end, (warps[warp].count - end) * sizeof(operation));
        warps[warp].count -= end, warps[warp].groups -= done;
        for (int k = 0; k < warps[warp].groups; k++) warps[warp].ends[k] = warps[warp].ends[k + done] - end;
    }
    fenced[me] = 0;
    for (int k = 0; k < n; k++) {
        uint32_t x = t[1 + k];
        int chain = chain_of(x);
        if (chain >= 0 && chain < CHAINS && !warps[warp].chains[chain].pending)
            memcpy(&x, &warps[warp].chains[chain].numbers[me % WARP][x & 0xff], 4);
        result[k] = x;
    }
}

/* Whether four warps that belong together did as many products each, and waited for all. */
static int products_are_complete(int threads) {
    for (int w = 0; w < threads / WARP; w++)
        if (warps[w].count || (w / 4 * 4 + 4) * WARP > threads && warps[w].issued || warps[w].issued != warps[w / 4 * 4].issued)
            return 0;
    return 1;
}

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

/* 0, or 1 where threads waited for others that never came, or at different places, or 2 for `emulated_fault`. */
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
            round_of[t] = n_copies[t] = n_groups[t] = n_written[t] = fenced[t] = 0;
            state[t] = READY;
        }
        memset(extra, 0, sizeof extra);
        most_registers = 0;
        memset(named, 0, sizeof named);
        memset(unpublished, 0, sizeof unpublished);
        for (int w = 0; w < MOST / WARP; w++) {
            warps[w].count = warps[w].groups = warps[w].issued = 0;
            for (int k = 0; k < CHAINS; k++) warps[w].chains[k].pending = 0;
        }
        for (int k = 0; k < MOST / WARP / 4 * RING; k++) rings[0][k].number = -1;
        for (;;) {
            int moved = 0, ended = 0;
            for (current = 0; current < threads; current++)
                if (state[current] == READY) {
                    moved = 1, swapcontext(&scheduler, &contexts[current]);
                    if (state[current] == FAULTY) return 2;
                }
            for (int t = 0; t < threads; t++) {
                if (state[t] == OF_SOME && named[number_of[t]].generation != generation_of[t]) state[t] = READY, moved = 1;
                ended += state[t] == ENDED;
            }
            if (ended == threads) {
                if (most_registers && !registers_suffice(threads)) {
                    emulated_fault = "more registers than a block has, or other ones in one of four warps";
                    return 2;
                }
                if (products_are_complete(threads)) break;
                emulated_fault = "products that not all of four warps did, or that nobody has waited for";
                return 2;
            }
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
