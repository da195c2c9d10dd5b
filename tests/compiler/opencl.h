/* OpenCL C as C: what the renderer uses of it. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <tgmath.h>
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define __kernel
#define __global
#define __local
#define reqd_work_group_size(x, y, z) unused
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
int32_t emulated_tid(void), emulated_block(void), emulated_blocks(void);
void emulated_barrier_at(long);
#define get_local_id(k) ((size_t)emulated_tid())
#define get_group_id(k) ((size_t)emulated_block())
#define get_num_groups(k) ((size_t)emulated_blocks())
#define barrier(flags) emulated_barrier_at(__LINE__)
#define SAME_BITS(T, x) ({ __typeof__(x) s_ = (x); T d_; \
    _Static_assert(sizeof s_ == sizeof d_, "as_type"); memcpy(&d_, &s_, sizeof d_); d_; })
#define as_float(x) SAME_BITS(float, x)
#define as_double(x) SAME_BITS(double, x)
#define as_int(x) SAME_BITS(int, x)
#define as_uint(x) SAME_BITS(uint, x)
#define as_long(x) SAME_BITS(long, x)
#define as_ulong(x) SAME_BITS(ulong, x)
#define as_char(x) SAME_BITS(signed char, x)
#define as_uchar(x) SAME_BITS(uchar, x)
#define as_short(x) SAME_BITS(short, x)
#define as_ushort(x) SAME_BITS(ushort, x)
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define abs(a) ((a) < 0 ? 0 - (ulong)(a) : (ulong)(a))
#define mul_hi(a, b) _Generic((a), uint: (uint)((ulong)(a) * (b) >> 32), \
    ulong: (ulong)((unsigned __int128)(a) * (b) >> 64))
/* Threads take turns at barriers only, so anything between two of them is atomic. */
#define OLD(p, new) ({ __typeof__(p) p_ = (p); __typeof__(*p_ + 0) old_ = *p_; *p_ = (new); old_; })
#define atomic_add(p, v) OLD(p, old_ + (v))
#define atomic_min(p, v) OLD(p, min(old_, (v)))
#define atomic_max(p, v) OLD(p, max(old_, (v)))
#define atomic_and(p, v) OLD(p, old_ & (v))
#define atomic_or(p, v) OLD(p, old_ | (v))
#define atomic_cmpxchg(p, c, v) OLD(p, old_ == (c) ? (v) : old_)
#define atom_cmpxchg atomic_cmpxchg
