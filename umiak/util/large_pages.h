/* Memory for numbers, freed by free(): at a multiple of 64; of 2 MiB and more, on huge pages where the system has them.
 *
 * Streaming through small pages costs up to a third, and the first touch of a large block hundreds of faults.
 */
#pragma once
#include <stdlib.h>
#include <sys/mman.h>

#define UMIAK_LARGE_PAGE ((size_t)1 << 21)

static inline void *umiak_numbers(size_t n) {
    void *p = 0;
    if (posix_memalign(&p, n < UMIAK_LARGE_PAGE ? 64 : UMIAK_LARGE_PAGE, n)) return 0;
#ifdef MADV_HUGEPAGE
    if (n >= UMIAK_LARGE_PAGE) madvise(p, n & -UMIAK_LARGE_PAGE, MADV_HUGEPAGE); /* a refusal is fine */
#endif
    return p;
}
