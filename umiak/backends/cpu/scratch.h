#pragma once
/* Scratch memory of kernels: two buffers per thread that grow (0: of a part, 1: of a launch), aligned to 64 bytes.
 * What is larger than UMIAK_SCRATCH_KEEP is allocated for one use. Each module that includes it has its own. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define UMIAK_SCRATCH_KEEP (4 << 20)

typedef struct { void *data[2]; int64_t size[2]; } umiak_scratch_t;

static __thread umiak_scratch_t umiak_scratch_own;
static pthread_key_t umiak_scratch_key;

static void umiak_scratch_free(void *own)
{
    umiak_scratch_t *s = (umiak_scratch_t *)own;
    for (int i = 0; i < 2; i++) {
        free(s->data[i]);
        s->data[i] = NULL;
        s->size[i] = 0;
    }
}

static int umiak_scratch_init(void) { return pthread_key_create(&umiak_scratch_key, umiak_scratch_free); }

/* NULL when there is no memory. */
static void *umiak_scratch_get(int which, int64_t bytes)
{
    umiak_scratch_t *s = &umiak_scratch_own;
    if (bytes <= 0) return NULL;
    if (bytes <= s->size[which]) return s->data[which];
    int64_t size = (bytes + 4095) & ~(int64_t)4095;
    if (size > UMIAK_SCRATCH_KEEP) return aligned_alloc(64, (size_t)size);
    free(s->data[which]);
    s->size[which] = 0;
    s->data[which] = aligned_alloc(64, (size_t)size);
    if (s->data[which] == NULL) return NULL;
    s->size[which] = size;
    pthread_setspecific(umiak_scratch_key, s); /* freed when the thread ends */
    return s->data[which];
}

static void umiak_scratch_put(int64_t bytes, void *data)
{
    if (bytes > UMIAK_SCRATCH_KEEP) free(data);
}

static int64_t umiak_scratch_size(int which) { return umiak_scratch_own.size[which]; }
