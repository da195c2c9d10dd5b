// A plug-in for devices whose memory is the host's, in C and in C++. Streams do nothing before somebody asks or waits;
// ranks exchange data through a shared file. Macros make faulty ones; `loop_fail` makes functions fail while it runs.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "paddle/phi/backends/device_ext.h"
#include "paddle/phi/api/profiler/trace_event.h"

#ifdef __cplusplus
#define EXPORTED extern "C" __attribute__((visibility("default")))
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

#ifndef TYPE
#define TYPE "loop"
#endif
#define DEVICES 2
#define FIRST_ID 4  // the plug-in's own numbers of its devices
#define TOTAL ((size_t)1 << 28)
#define NAME 64
#define MAX_RANKS 4
#define BOX 4096
#define PATIENCE_NS 20000000000ull

static long blocks, bytes, host_blocks, streams, events, wrong_frees, initialised, calls_after_end;

// --- faults while it runs

static char failing[NAME];
static int failing_status, failing_after, lost, late;

EXPORTED void loop_fail(const char *name, int status, int after) {
    snprintf(failing, NAME, "%s", name);
    failing_status = status;
    failing_after = after;
}
EXPORTED void loop_lose(int yes) { lost = yes; }
EXPORTED void loop_late(int yes) { late = yes; }  // nothing is done before somebody waits; to ask is not enough

static C_Status fault(const char *name) {
    if (!initialised) calls_after_end++;
    if (lost) return C_INTERNAL_ERROR;
    if (failing[0] && !strcmp(failing, name) && failing_after-- <= 0) return (C_Status)failing_status;
    return C_SUCCESS;
}
#define MAY_FAIL(name)                 \
    do {                               \
        C_Status s = fault(name);      \
        if (s != C_SUCCESS) return s;  \
    } while (0)

// What is alive: blocks, host blocks, streams, events, wrong frees, calls after the end.
EXPORTED void loop_counts(long *out) {
    long all[] = {blocks, host_blocks, streams, events, wrong_frees, calls_after_end};
    memcpy(out, all, sizeof all);
}

// --- memory: a header with a mark tells blocks from what is none

typedef struct { size_t size; long mark; } Head;
enum { DEVICE_MARK = 0x1234, HOST_MARK = 0x4321, FREED = 0x6789 };

static C_Status take(long *count, long mark, void **ptr, size_t size) {
    Head *head = (Head *)malloc(sizeof(Head) + size);
    if (!head) return C_FAILED;
    head->size = size;
    head->mark = mark;
    memset(head + 1, 0xFF, size);  // NaN: what is read before it is written shows
    *ptr = head + 1;
    __sync_fetch_and_add(count, 1);
    return C_SUCCESS;
}
static C_Status give(long *count, long mark, void *ptr, size_t size) {
    Head *head = (Head *)ptr - 1;
    if (head->mark != mark || head->size != size) {
        wrong_frees++;
        return C_ERROR;
    }
    head->mark = FREED;
    free(head);
    __sync_fetch_and_sub(count, 1);
    return C_SUCCESS;
}
static C_Status allocate(const C_Device d, void **ptr, size_t size) {
    MAY_FAIL("device_memory_allocate");
    if ((size_t)__sync_add_and_fetch(&bytes, (long)size) > TOTAL) {
        __sync_fetch_and_sub(&bytes, (long)size);
        return C_FAILED;
    }
    return take(&blocks, DEVICE_MARK, ptr, size);
}
static C_Status deallocate(const C_Device d, void *ptr, size_t size) {
    MAY_FAIL("device_memory_deallocate");
    __sync_fetch_and_sub(&bytes, (long)size);
    return give(&blocks, DEVICE_MARK, ptr, size);
}
static C_Status host_allocate(const C_Device d, void **ptr, size_t size) { return take(&host_blocks, HOST_MARK, ptr, size); }
static C_Status host_deallocate(const C_Device d, void *ptr, size_t size) { return give(&host_blocks, HOST_MARK, ptr, size); }
static C_Status set(const C_Device d, void *ptr, unsigned char value, size_t size) {
    memset(ptr, value, size);
    return C_SUCCESS;
}
static C_Status copy(const C_Device d, void *dst, const void *src, size_t size) {
    MAY_FAIL("memory_copy");
    memcpy(dst, src, size);
    return C_SUCCESS;
}
static C_Status copy_between(const C_Device a, const C_Device b, void *dst, const void *src, size_t size) {
    return copy(a, dst, src, size);
}

// --- streams: jobs that run when somebody asks for them

typedef struct Job {
    struct Job *next;
    C_Status (*run)(struct Job *);
    long number;
    void *dst;
    const void *src;
    size_t size;
    C_Event event;
    struct Comm *comm;
    struct Piece *pieces;
    int count, combine;
    C_DataType type;
    C_CCLReduceOp op;
} Job;
struct C_Stream_st {
    pthread_mutex_t lock;
    Job *first, **last;
    long submitted, done;
    C_Status status;
};
struct C_Event_st {
    struct C_Stream_st *stream;
    long number;
};

static pthread_mutex_t traced = PTHREAD_MUTEX_INITIALIZER;
static struct { uint64_t start, end; size_t size; } spans[64];
static int tracing, span_count;
static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void drain(struct C_Stream_st *s) {
    pthread_mutex_lock(&s->lock);
    while (s->first) {
        Job *job = s->first;
        uint64_t start = now();
        C_Status status = lost ? C_INTERNAL_ERROR : job->run(job);
        if (status != C_SUCCESS) s->status = status;
        pthread_mutex_lock(&traced);
        if (tracing && span_count < 64) {
            spans[span_count].start = start;
            spans[span_count].end = now();
            spans[span_count++].size = job->size;
        }
        pthread_mutex_unlock(&traced);
        s->first = job->next;
        if (!s->first) s->last = &s->first;
        s->done = job->number;
        free(job->pieces);
        free(job);
    }
    pthread_mutex_unlock(&s->lock);
}
static C_Status told(struct C_Stream_st *s) {
    C_Status status = s->status;
    s->status = C_SUCCESS;
    return status;
}
static Job *job(C_Status (*run)(Job *)) {
    Job *made = (Job *)calloc(1, sizeof(Job));
    made->run = run;
    return made;
}
static C_Status put(C_Stream s, Job *job) {
    pthread_mutex_lock(&s->lock);
    job->number = ++s->submitted;
    *s->last = job;
    s->last = &job->next;
    pthread_mutex_unlock(&s->lock);
    return C_SUCCESS;
}
static C_Status create_stream(const C_Device d, C_Stream *out) {
    MAY_FAIL("create_stream");
    struct C_Stream_st *s = (struct C_Stream_st *)calloc(1, sizeof *s);
    pthread_mutex_init(&s->lock, 0);
    s->last = &s->first;
    *out = s;
    __sync_fetch_and_add(&streams, 1);
    return C_SUCCESS;
}
static C_Status destroy_stream(const C_Device d, C_Stream s) {
    drain(s);
    free(s);
    __sync_fetch_and_sub(&streams, 1);
    return C_SUCCESS;
}
static C_Status synchronize_stream(const C_Device d, C_Stream s) {
    MAY_FAIL("synchronize_stream");
    drain(s);
    return told(s);
}
static C_Status create_event(const C_Device d, C_Event *out) {
    MAY_FAIL("create_event");
    *out = (C_Event)calloc(1, sizeof **out);
    __sync_fetch_and_add(&events, 1);
    return C_SUCCESS;
}
static C_Status destroy_event(const C_Device d, C_Event e) {
    free(e);
    __sync_fetch_and_sub(&events, 1);
    return C_SUCCESS;
}
static C_Status record_event(const C_Device d, C_Stream s, C_Event e) {
    MAY_FAIL("record_event");
    e->stream = s;
    e->number = s->submitted;
    return C_SUCCESS;
}
static C_Status query_event(const C_Device d, C_Event e) {
    MAY_FAIL("query_event");
    if (e->stream->done >= e->number) return told(e->stream);
    if (late) return C_FAILED;
    drain(e->stream);
    return C_FAILED;  // not yet; it is when it is asked for again
}
static C_Status synchronize_event(const C_Device d, C_Event e) {
    MAY_FAIL("synchronize_event");
    drain(e->stream);
    return told(e->stream);
}
static C_Status run_wait(Job *j) {
    drain(j->event->stream);
    return C_SUCCESS;
}
static C_Status stream_wait_event(const C_Device d, C_Stream s, C_Event e) {
    MAY_FAIL("stream_wait_event");
    Job *j = job(run_wait);
    j->event = e;
    return put(s, j);
}
static C_Status run_copy(Job *j) { return copy(0, j->dst, j->src, j->size); }
static C_Status async_copy(const C_Device d, C_Stream s, void *dst, const void *src, size_t size) {
    MAY_FAIL("async_memory_copy");
    Job *j = job(run_copy);
    j->dst = dst;
    j->src = src;
    j->size = size;
    return put(s, j);
}
static C_Status async_copy_between(const C_Device a, const C_Device b, C_Stream s, void *dst, const void *src, size_t size) {
    return async_copy(a, s, dst, src, size);
}

// --- devices

static C_Status initialize(void) {
    initialised = 1;
    MAY_FAIL("initialize");
    return C_SUCCESS;
}
static C_Status finalize(void) {
    initialised = 0;
    return C_SUCCESS;
}
static __thread int current = -1;
static C_Status init_device(const C_Device d) {
    MAY_FAIL("init_device");
    return d->id >= FIRST_ID && d->id < FIRST_ID + DEVICES ? C_SUCCESS : C_ERROR;
}
static C_Status deinit_device(const C_Device d) { return init_device(d); }
static C_Status set_device(const C_Device d) {
    MAY_FAIL("set_device");
    current = d->id;
    return C_SUCCESS;
}
static C_Status get_device(const C_Device d) {
    d->id = current;
    return C_SUCCESS;
}
static C_Status synchronize_device(const C_Device d) {
    MAY_FAIL("synchronize_device");
    return C_SUCCESS;
}
static C_Status get_device_count(size_t *count) {
    *count = DEVICES;
    return C_SUCCESS;
}
static C_Status get_device_list(size_t *devices) {
    for (size_t i = 0; i < DEVICES; i++) devices[i] = FIRST_ID + i;
    return C_SUCCESS;
}
static C_Status memory_stats(const C_Device d, size_t *total, size_t *available) {
    MAY_FAIL("device_memory_stats");
    *total = TOTAL;
    *available = TOTAL - (size_t)bytes;
    return C_SUCCESS;
}
static C_Status min_chunk(const C_Device d, size_t *size) {
    *size = 512;
    return C_SUCCESS;
}
static C_Status capability(const C_Device d, size_t *out) {
    *out = 75;
    return C_SUCCESS;
}
static C_Status units(const C_Device d, size_t *out) {
    *out = 3;
    return C_SUCCESS;
}

// --- collectives: pieces of messages through boxes of a shared file, one box for each pair of ranks

typedef struct { volatile uint64_t full; char data[BOX]; } Box;
typedef struct { Box boxes[MAX_RANKS][MAX_RANKS]; } Shared;
typedef struct Comm {
    Shared *shared;
    size_t ranks, rank;
    char name[NAME];
} Comm;
struct C_CCLComm_st { Comm comm; };
typedef struct Piece {
    int sends;
    size_t peer, size, at;
    char *data;
} Piece;

static C_Status exchange(Comm *c, Piece *pieces, int count) {
    uint64_t end = now() + PATIENCE_NS;
    for (int left = count; left;) {
        left = 0;
        for (int i = 0; i < count; i++) {
            Piece *p = pieces + i;
            if (p->at == p->size) continue;
            left++;
            int ahead = 0;  // messages of a pair keep their order
            for (int k = 0; k < i; k++)
                ahead |= pieces[k].sends == p->sends && pieces[k].peer == p->peer && pieces[k].at < pieces[k].size;
            Box *box = p->sends ? &c->shared->boxes[c->rank][p->peer] : &c->shared->boxes[p->peer][c->rank];
            size_t n = p->size - p->at < BOX ? p->size - p->at : BOX;
            if (ahead || !!box->full == p->sends) continue;
            __sync_synchronize();
            if (!p->sends && box->full != n) return C_ERROR;  // a message of another size
            memcpy(p->sends ? box->data : p->data + p->at, p->sends ? p->data + p->at : box->data, n);
            __sync_synchronize();
            box->full = p->sends ? n : 0;
            p->at += n;
        }
        if (left) sched_yield();
        if (now() > end || lost) return C_INTERNAL_ERROR;
    }
    return C_SUCCESS;
}
static size_t width(C_DataType t) {
    static const unsigned char sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16};
    return sizes[t];
}
// A type in which is computed, how an element is read and written; what has no order has no maximum.
#define COMBINE(T, COMPUTED, READ, WRITE, LESS)                                                  \
    for (size_t i = 0; i < n; i++) {                                                             \
        COMPUTED a = READ(((T *)to)[i]), b = READ(((const T *)of)[i]);                           \
        ((T *)to)[i] = WRITE(op == MAX ? (LESS(b, a) ? a : b) : op == MIN ? (LESS(a, b) ? a : b) \
                             : op == PRODUCT ? (COMPUTED)(a * b) : (COMPUTED)(a + b));           \
    }                                                                                            \
    break
#define SAME(a) (a)
#define LESS(a, b) ((a) < (b))
#define NONE_LESS(a, b) 0
#define NUMBER(T) COMBINE(T, T, SAME, SAME, LESS)
#define COMPLEX(T) COMBINE(__complex__ T, __complex__ T, SAME, SAME, NONE_LESS)
static float of_bfloat16(uint16_t a) {
    uint32_t bits = (uint32_t)a << 16;
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}
static uint16_t to_bfloat16(float a) {
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    return a != a ? 0x7FC0 : (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
static C_Status combine(void *to, const void *of, size_t n, C_DataType t, C_CCLReduceOp op) {
    switch (t) {
        case BOOL:
        case UINT8: NUMBER(uint8_t);
        case INT8: NUMBER(int8_t);
        case INT16: NUMBER(int16_t);
        case INT32: NUMBER(int32_t);
        case INT64: NUMBER(int64_t);
        case FLOAT32: NUMBER(float);
        case FLOAT64: NUMBER(double);
        case BFLOAT16: COMBINE(uint16_t, float, of_bfloat16, to_bfloat16, LESS);
        case COMPLEX64: COMPLEX(float);
        case COMPLEX128: COMPLEX(double);
        default: return C_ERROR;
    }
    return C_SUCCESS;
}
#define DIVIDE(T)                                                \
    for (size_t i = 0; i < n; i++) ((T *)to)[i] /= (float)ranks; \
    break
static void average(void *to, size_t n, C_DataType t, size_t ranks) {
    switch (t) {
        case FLOAT32: DIVIDE(float);
        case FLOAT64: DIVIDE(double);
        case COMPLEX64: DIVIDE(__complex__ float);
        case COMPLEX128: DIVIDE(__complex__ double);
        case BFLOAT16:
            for (size_t i = 0; i < n; i++)
                ((uint16_t *)to)[i] = to_bfloat16(of_bfloat16(((uint16_t *)to)[i]) / (float)ranks);
            break;
        default: break;
    }
}

// A job of pieces; `combine`: their data, received into scratch behind each other, are combined into dst.
static C_Status run_pieces(Job *j) {
    Comm *c = j->comm;
    size_t size = j->size;
    char *scratch = j->combine ? (char *)malloc(size * c->ranks + 1) : 0;
    if (j->combine) {
        memcpy(scratch + c->rank * size, j->src, size);
        for (int i = 0; i < j->count; i++)
            if (!j->pieces[i].sends) j->pieces[i].data = scratch + j->pieces[i].peer * size;
    }
    C_Status status = exchange(c, j->pieces, j->count);
    if (status == C_SUCCESS && j->combine && j->dst) {
        size_t n = size / width(j->type);
        memcpy(j->dst, scratch, size);
        for (size_t r = 1; r < c->ranks && status == C_SUCCESS; r++)
            status = combine(j->dst, scratch + r * size, n, j->type, j->op);
        if (j->op == AVG) average(j->dst, n, j->type, c->ranks);
    }
    free(scratch);
    return status;
}
static Job *pieces_of(C_CCLComm comm) {
    Job *j = job(run_pieces);
    j->comm = &comm->comm;
    j->pieces = (Piece *)calloc(2 * MAX_RANKS + 2, sizeof(Piece));
    return j;
}
static void piece(Job *j, int sends, size_t peer, void *data, size_t size) {
    Piece p = {sends, peer, size, 0, (char *)data};
    j->pieces[j->count++] = p;
}
static C_Status unique_id_size(size_t *size) {
    *size = NAME;
    return C_SUCCESS;
}
static C_Status unique_id(C_CCLRootId *id) {
    static int number;
    MAY_FAIL("xccl_get_unique_id");
    memset(id->data, 0, id->sz);
    snprintf((char *)id->data, id->sz, "/loop-%d-%d-%llu", (int)getpid(), number++, (unsigned long long)now());
    return C_SUCCESS;
}
static C_Status comm_init(size_t ranks, C_CCLRootId *id, size_t rank, C_CCLComm *out) {
    MAY_FAIL("xccl_comm_init_rank");
    if (ranks > MAX_RANKS || id->sz != NAME) return C_ERROR;
    C_CCLComm comm = (C_CCLComm)calloc(1, sizeof *comm);
    Comm *c = &comm->comm;
    snprintf(c->name, NAME, "%s", (char *)id->data);
    int file = shm_open(c->name, O_CREAT | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, sizeof(Shared))) return C_INTERNAL_ERROR;
    c->shared = (Shared *)mmap(0, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    c->ranks = ranks;
    c->rank = rank;
    char byte = 0;  // all have opened the file when all have heard of all
    Piece hello[2 * MAX_RANKS];
    char heard[MAX_RANKS];
    int n = 0;
    for (size_t r = 0; r < ranks; r++)
        if (r != rank) {
            Piece to = {1, r, 1, 0, &byte}, of = {0, r, 1, 0, heard + r};
            hello[n++] = to;
            hello[n++] = of;
        }
    C_Status status = exchange(c, hello, n);
    shm_unlink(c->name);
    *out = comm;
    return status;
}
static C_Status comm_destroy(C_CCLComm comm) {
    munmap(comm->comm.shared, sizeof(Shared));
    free(comm);
    return C_SUCCESS;
}
static C_Status comm_name(C_CCLComm comm, char *name) {
    strcpy(name, comm->comm.name);
    return C_SUCCESS;
}
static C_Status reduction(void *send, void *recv, size_t count, C_DataType t, C_CCLReduceOp op, C_CCLComm comm, C_Stream s) {
    MAY_FAIL("xccl_all_reduce");
    Job *j = pieces_of(comm);
    j->size = count * width(t);
    j->src = send;
    j->dst = recv;
    j->combine = 1;
    j->type = t;
    j->op = op;
    for (size_t r = 0; r < j->comm->ranks; r++)
        if (r != j->comm->rank) {
            piece(j, 1, r, send, j->size);
            piece(j, 0, r, 0, j->size);
        }
    return put(s, j);
}
static C_Status reduce(void *send, void *recv, size_t count, C_DataType t, C_CCLReduceOp op, size_t root, C_CCLComm comm, C_Stream s) {
    return reduction(send, comm->comm.rank == root ? recv : 0, count, t, op, comm, s);
}
static C_Status broadcast(void *buf, size_t count, C_DataType t, size_t root, C_CCLComm comm, C_Stream s) {
    Job *j = pieces_of(comm);
    j->size = count * width(t);
    if (j->comm->rank != root) piece(j, 0, root, buf, j->size);
    else
        for (size_t r = 0; r < j->comm->ranks; r++)
            if (r != root) piece(j, 1, r, buf, j->size);
    return put(s, j);
}
static C_Status run_local(Job *j) {
    memcpy(j->dst, j->src, j->size);
    return C_SUCCESS;
}
static C_Status local(void *dst, const void *src, size_t size, C_Stream s) {
    Job *j = job(run_local);
    j->dst = dst;
    j->src = src;
    j->size = size;
    return put(s, j);
}
static C_Status all_gather(void *send, void *recv, size_t count, C_DataType t, C_CCLComm comm, C_Stream s) {
    Job *j = pieces_of(comm);
    size_t size = j->size = count * width(t), me = j->comm->rank;
    for (size_t r = 0; r < j->comm->ranks; r++)
        if (r != me) {
            piece(j, 1, r, send, size);
            piece(j, 0, r, (char *)recv + r * size, size);
        }
    put(s, j);
    return local((char *)recv + me * size, send, size, s);
}
static C_Status reduce_scatter(void *send, void *recv, size_t count, C_DataType t, C_CCLReduceOp op, C_CCLComm comm, C_Stream s) {
    Job *j = pieces_of(comm);
    size_t size = j->size = count * width(t), me = j->comm->rank;
    j->src = (char *)send + me * size;
    j->dst = recv;
    j->combine = 1;
    j->type = t;
    j->op = op;
    for (size_t r = 0; r < j->comm->ranks; r++)
        if (r != me) {
            piece(j, 1, r, (char *)send + r * size, size);
            piece(j, 0, r, 0, size);
        }
    return put(s, j);
}

static __thread Job *grouped;
static __thread C_Stream grouped_stream;
static __thread int in_group;
static C_Status group_start(void) {
    in_group = 1;
    return C_SUCCESS;
}
static C_Status group_end(void) {
    Job *j = grouped;
    in_group = 0;
    grouped = 0;
    return j ? put(grouped_stream, j) : C_SUCCESS;
}
static C_Status message(int sends, void *buf, size_t count, C_DataType t, size_t peer, C_CCLComm comm, C_Stream s) {
    size_t size = count * width(t);
    if (!in_group) {
        Job *j = pieces_of(comm);
        piece(j, sends, peer, buf, size);
        return put(s, j);
    }
    if (!grouped) grouped = pieces_of(comm);
    grouped_stream = s;
    if (grouped->count == 2 * MAX_RANKS + 2) return C_FAILED;
    piece(grouped, sends, peer, buf, size);
    return C_SUCCESS;
}
static C_Status send_to(void *buf, size_t count, C_DataType t, size_t peer, C_CCLComm comm, C_Stream s) {
    MAY_FAIL("xccl_send");
    return message(1, buf, count, t, peer, comm, s);
}
static C_Status recv_from(void *buf, size_t count, C_DataType t, size_t peer, C_CCLComm comm, C_Stream s) {
    return message(0, buf, count, t, peer, comm, s);
}
static C_Status all_to_all(const void **send, const size_t *send_count, const C_DataType *send_type, void **recv,
                           const size_t *recv_count, const C_DataType *recv_type, size_t rank, size_t ranks,
                           C_CCLComm comm, C_Stream s) {
    Job *j = pieces_of(comm);
    for (size_t r = 0; r < ranks; r++)
        if (r != rank) {
            piece(j, 1, r, (void *)send[r], send_count[r] * width(send_type[r]));
            piece(j, 0, r, recv[r], recv_count[r] * width(recv_type[r]));
        }
    put(s, j);
    return local(recv[rank], send[rank], send_count[rank] * width(send_type[rank]), s);
}

// --- profiler

static C_Status profiler_initialize(C_Profiler p, void **data) {
    MAY_FAIL("profiler_initialize");
    *data = malloc(1);
    return C_SUCCESS;
}
static C_Status profiler_finalize(C_Profiler p, void *data) {
    free(data);
    return C_SUCCESS;
}
static C_Status profiler_prepare(C_Profiler p, void *data) {
    span_count = 0;
    return C_SUCCESS;
}
static C_Status profiler_start(C_Profiler p, void *data) {
    MAY_FAIL("profiler_start_tracing");
    tracing = 1;
    return C_SUCCESS;
}
static C_Status profiler_stop(C_Profiler p, void *data) {
    tracing = 0;
    return C_SUCCESS;
}
static C_Status profiler_collect(C_Profiler p, uint64_t start_ns, void *data) {
    for (int i = 0; i < span_count; i++) {
        static const char name[] = "copy of the device";
#ifdef __cplusplus
        phi::DeviceTraceEvent e;
        phi::RuntimeTraceEvent r;
        e.name = r.name = name;
        e.type = phi::TracerEventType::Memcpy;
        r.type = phi::TracerEventType::CudaRuntime;
#else
        struct DeviceTraceEvent e;
        struct RuntimeTraceEvent r;
        memset(&e, 0, sizeof e);
        memset(&r, 0, sizeof r);
        e.name.data = r.name.data = name;
        e.name.length = r.name.length = sizeof name - 1;
        e.type = 5;
        r.type = 3;
#endif
        e.start_ns = r.start_ns = spans[i].start;
        e.end_ns = r.end_ns = spans[i].end;
        e.device_id = FIRST_ID;
        e.context_id = 0;
        e.stream_id = 7;
        e.correlation_id = r.correlation_id = (uint32_t)i;
        r.callback_id = 0;
        r.process_id = (uint64_t)getpid();
        r.thread_id = (uint64_t)gettid();
        e.memcpy_info.num_bytes = spans[i].size;
        if (spans[i].start >= start_ns) {
            profiler_add_runtime_trace_event(p, &r);
            profiler_add_device_trace_event(p, &e);
        }
    }
    return C_SUCCESS;
}

EXPORTED void InitPlugin(CustomRuntimeParams *params) {
    PADDLE_CUSTOM_RUNTIME_CHECK_VERSION(params);
    C_DeviceInterface *i = params->interface;
    params->device_type = (char *)TYPE;
    params->sub_device_type = (char *)"loop v1";
    i->initialize = initialize;
    i->finalize = finalize;
    i->init_device = init_device;
    i->deinit_device = deinit_device;
    i->set_device = set_device;
    i->get_device = get_device;
    i->synchronize_device = synchronize_device;
    i->get_device_count = get_device_count;
    i->get_device_list = get_device_list;
    i->device_memory_stats = memory_stats;
    i->device_min_chunk_size = min_chunk;
    i->get_compute_capability = capability;
    i->get_multi_process = units;
    i->device_memory_allocate = allocate;
    i->device_memory_deallocate = deallocate;
    i->device_memory_set = set;
    i->memory_copy_h2d = copy;
    i->memory_copy_d2h = copy;
#ifndef MINIMAL
    i->create_stream = create_stream;
    i->destroy_stream = destroy_stream;
    i->synchronize_stream = synchronize_stream;
    i->create_event = create_event;
    i->destroy_event = destroy_event;
    i->record_event = record_event;
    i->query_event = query_event;
    i->synchronize_event = synchronize_event;
    i->stream_wait_event = stream_wait_event;
    i->host_memory_allocate = host_allocate;
    i->host_memory_deallocate = host_deallocate;
    i->memory_copy_d2d = copy;
    i->memory_copy_p2p = copy_between;
    i->async_memory_copy_h2d = async_copy;
    i->async_memory_copy_d2h = async_copy;
    i->async_memory_copy_d2d = async_copy;
    i->async_memory_copy_p2p = async_copy_between;
    i->xccl_get_comm_name = comm_name;
    i->xccl_get_unique_id_size = unique_id_size;
    i->xccl_get_unique_id = unique_id;
    i->xccl_comm_init_rank = comm_init;
    i->xccl_destroy_comm = comm_destroy;
#ifndef NO_COLLECTIVES
    i->xccl_all_reduce = reduction;
    i->xccl_broadcast = broadcast;
    i->xccl_reduce = reduce;
    i->xccl_all_gather = all_gather;
    i->xccl_reduce_scatter = reduce_scatter;
#endif
#ifndef NO_MESSAGES
    i->xccl_group_start = group_start;
    i->xccl_group_end = group_end;
    i->xccl_send = send_to;
    i->xccl_recv = recv_from;
#endif
#ifndef NO_ALL_TO_ALL
    i->xccl_all_to_all = all_to_all;
#endif
    i->profiler_initialize = profiler_initialize;
    i->profiler_finalize = profiler_finalize;
    i->profiler_prepare_tracing = profiler_prepare;
    i->profiler_start_tracing = profiler_start;
    i->profiler_stop_tracing = profiler_stop;
    i->profiler_collect_trace_data = profiler_collect;
#endif
#ifdef OTHER_SIZES
    memset(&params->version, 0, sizeof params->version);
#endif
#ifdef OTHER_VERSION
    params->version.minor = 7;
#endif
#ifdef RESERVED
    i->reserved_ccl_api[2] = (void *)copy;
#endif
#ifdef LARGER
    ((void **)(i + 1))[1] = (void *)copy;
#endif
#ifdef MISSING
    i->device_memory_allocate = 0;
#endif
#ifdef GARBAGE
    *(void **)&i->query_event = params;
#endif
#ifdef NO_TYPE
    params->device_type = 0;
#endif
#ifdef KERNELS
    extern void PD_RegisterPhiKernel(void);
    PD_RegisterPhiKernel();
#endif
}
