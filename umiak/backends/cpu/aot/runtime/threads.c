/* A pool of threads that divide the parts of a step; the caller is one of them. */
#include "aot.h"

#include <pthread.h>
#include <stdlib.h>

struct um_pool {
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    pthread_t* threads;
    int n, working, stop;
    uint64_t round;
    um_part* part;
    void* arg;
    int64_t parts, next;
};

typedef struct {
    um_pool* pool;
    int thread;
} um_worker;

static void take_parts(um_pool* pool, int thread) {
    int64_t i;
    while ((i = __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED)) < pool->parts) pool->part(pool->arg, i, thread);
}

static void* work(void* arg) {
    um_worker own = *(um_worker*)arg;
    um_pool* pool = own.pool;
    uint64_t seen = 0;
    free(arg);
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->round == seen && !pool->stop) pthread_cond_wait(&pool->begin, &pool->lock);
        if (pool->stop) break;
        seen = pool->round;
        pthread_mutex_unlock(&pool->lock);
        take_parts(pool, own.thread);
        pthread_mutex_lock(&pool->lock);
        if (--pool->working == 0) pthread_cond_signal(&pool->end);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

um_pool* um_pool_new(int threads) {
    um_pool* pool = calloc(1, sizeof *pool);
    if (!pool) return NULL;
    pool->threads = calloc((size_t)threads, sizeof *pool->threads);
    if (!pool->threads) {
        free(pool);
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->begin, NULL);
    pthread_cond_init(&pool->end, NULL);
    for (int i = 1; i < threads; i++) {
        um_worker* own = malloc(sizeof *own);
        if (!own) break;
        *own = (um_worker){pool, i};
        if (pthread_create(&pool->threads[pool->n], NULL, work, own)) {
            free(own);
            break; /* with fewer threads, then */
        }
        pool->n++;
    }
    return pool;
}

void um_pool_free(um_pool* pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = 1;
    pthread_cond_broadcast(&pool->begin);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->n; i++) pthread_join(pool->threads[i], NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->begin);
    pthread_cond_destroy(&pool->end);
    free(pool->threads);
    free(pool);
}

void um_pool_run(um_pool* pool, um_part* part, void* arg, int64_t parts) {
    pthread_mutex_lock(&pool->lock);
    pool->part = part, pool->arg = arg, pool->parts = parts, pool->next = 0;
    pool->working = pool->n;
    pool->round++;
    pthread_cond_broadcast(&pool->begin);
    pthread_mutex_unlock(&pool->lock);
    take_parts(pool, 0);
    pthread_mutex_lock(&pool->lock);
    while (pool->working) pthread_cond_wait(&pool->end, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
