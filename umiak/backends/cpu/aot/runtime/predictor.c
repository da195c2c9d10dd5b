/* The interface of umiak_inference.h over the tables of one compiled model. Compiled for any processor of its kind, so that
   it can say that this one will not do. */
#include "aot.h"
#include "umiak_inference.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef UMIAK_VERSION
#error "UMIAK_VERSION is required"
#endif

enum { ALIGN = 64, SHORT_NS = 30000, PART_NS = 15000, HEADER = 32 };

typedef struct { /* shared by clones */
    int64_t users;
    char* weights;  /* of a file; NULL where they are part of the library */
    char* prepared; /* what was made of them */
} um_shared;

struct umiak_predictor {
    um_shared* shared;
    um_pool* pool;
    int threads;
    const um_plan* plan;    /* of the last run; NULL before */
    int64_t* shapes;        /* of inputs as they were set, UMIAK_MAX_RANK each */
    char* set;              /* which were */
    char** bases;
    char* arena;
    int64_t arena_bytes;
    int64_t* room;          /* of inputs */
    char** local;           /* scratch of each thread */
    int64_t* local_bytes;
    char* scratch;
    int64_t scratch_bytes;
};

static __thread char last_error[512];

static umiak_status fail(umiak_status status, const char* format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    return status;
}

static umiak_status no_memory(void) { return fail(UMIAK_NO_MEMORY, "no memory is left"); }

static umiak_status null_argument(const char* name) {
    return fail(UMIAK_INVALID_ARGUMENT, "%s must not be NULL", name);
}

const char* umiak_version(void) { return UMIAK_VERSION; }
int32_t umiak_abi_version(void) { return UMIAK_ABI_VERSION; }
const char* umiak_last_error(void) { return last_error; }

size_t umiak_dtype_bytes(umiak_dtype dtype) {
    static const unsigned char bytes[] = {4, 8, 4, 1, 1, 2, 2, 1, 8, 2};
    return dtype >= 0 && dtype < (int)sizeof bytes ? bytes[dtype] : 0;
}

static const char* dtype_name(umiak_dtype dtype) {
    static const char* const names[] = {"float32", "int64", "int32", "uint8", "int8", "float16", "bfloat16", "bool", "float64", "int16"};
    return dtype >= 0 && dtype < (int)(sizeof names / sizeof *names) ? names[dtype] : "no dtype";
}

/* At least `bytes` in *data, which held *had; contents are lost. */
static int grow(char** data, int64_t* had, int64_t bytes) {
    void* made;
    if (bytes <= *had) return 0;
    if (posix_memalign(&made, ALIGN, (size_t)(bytes + ALIGN - 1) / ALIGN * ALIGN)) return -1;
    free(*data);
    *data = made;
    *had = bytes;
    return 0;
}

static void show_shape(char* text, size_t room, const int64_t* shape, int rank) {
    size_t at = 0;
    at += (size_t)snprintf(text, room, "[");
    for (int i = 0; i < rank && at < room; i++)
        at += (size_t)snprintf(text + at, room - at, i ? ", %lld" : "%lld", (long long)shape[i]);
    if (at < room) snprintf(text + at, room - at, "]");
}

/* ---- creation ---- */
/* As weights_file.py has it. */
static uint64_t hash_of(const char* data, int64_t bytes) {
    enum { LANES = 512 };
    const uint64_t prime = 1099511628211u, offset = 14695981039346656037u;
    uint64_t lanes[LANES], row[LANES], h = offset;
    for (int i = 0; i < LANES; i++) lanes[i] = offset;
    for (int64_t at = 0; at < bytes; at += (int64_t)sizeof row) {
        const int64_t left = bytes - at;
        if (left < (int64_t)sizeof row) memset(row, 0, sizeof row);
        memcpy(row, data + at, left < (int64_t)sizeof row ? (size_t)left : sizeof row);
        for (int i = 0; i < LANES; i++) {
            lanes[i] = (lanes[i] ^ row[i]) * prime;
            lanes[i] ^= lanes[i] >> 29;
        }
    }
    for (int i = 0; i < LANES; i++) h = (h ^ lanes[i]) * prime;
    return h;
}

static umiak_status check_weights(const char* header, int64_t bytes, const char* name) {
    int64_t count;
    uint64_t hash;
    if (bytes < HEADER || memcmp(header, "UMIAKWEIGHTS1\0\0", 16) != 0)
        return fail(UMIAK_INVALID_MODEL, "%s is no file of weights of a compiled model", name);
    memcpy(&count, header + 16, 8);
    memcpy(&hash, header + 24, 8);
    if (count != umiak_model.weights_bytes || hash != umiak_model.weights_hash)
        return fail(UMIAK_INVALID_MODEL, "%s has the weights of another model than %s", name, umiak_model.name);
    if (bytes != HEADER + count)
        return fail(UMIAK_INVALID_MODEL, "%s requires %lld bytes of weights, got %lld: it is damaged", name, (long long)count,
                    (long long)(bytes - HEADER));
    return UMIAK_OK;
}

static umiak_status take_weights(char* data, const char* name, um_shared* shared) {
    if (hash_of(data, umiak_model.weights_bytes) != umiak_model.weights_hash) {
        free(data);
        return fail(UMIAK_INVALID_MODEL, "%s is damaged: its weights are not those that were written", name);
    }
    shared->weights = data;
    return UMIAK_OK;
}

static umiak_status read_weights(const char* path, um_shared* shared) {
    char header[HEADER];
    char* data = NULL;
    int64_t had = 0, size;
    umiak_status status = UMIAK_OK;
    FILE* file = fopen(path, "rb");
    if (!file) return fail(UMIAK_INVALID_MODEL, "%s cannot be read: %s", path, strerror(errno));
    if (fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
        status = fail(UMIAK_INVALID_MODEL, "%s is no ordinary file", path);
    else if (size >= HEADER && fread(header, HEADER, 1, file) != 1)
        status = fail(UMIAK_INVALID_MODEL, "%s cannot be read: %s", path, strerror(errno));
    else
        status = check_weights(header, size, path);
    if (status == UMIAK_OK && grow(&data, &had, umiak_model.weights_bytes + 1)) status = no_memory();
    if (status == UMIAK_OK && umiak_model.weights_bytes && fread(data, (size_t)umiak_model.weights_bytes, 1, file) != 1) {
        free(data);
        status = fail(UMIAK_INVALID_MODEL, "%s cannot be read to its end", path);
    }
    fclose(file);
    return status == UMIAK_OK ? take_weights(data, path, shared) : status;
}

static void release(um_shared* shared) {
    if (__atomic_sub_fetch(&shared->users, 1, __ATOMIC_ACQ_REL)) return;
    free(shared->weights);
    free(shared->prepared);
    free(shared);
}

static umiak_status prepare(um_shared* shared) {
    int64_t had = 0;
    if (grow(&shared->prepared, &had, umiak_model.prepared)) return no_memory();
    char* const bases[] = {NULL, shared->weights ? shared->weights : (char*)umiak_model.weights, shared->prepared};
    const um_context context = {bases, NULL, NULL};
    for (int64_t i = 0; i < umiak_model.n_prepare; i++)
        umiak_model.prepare[i].run(&context, umiak_model.prepare[i].what, 0, umiak_model.prepare[i].count);
    return UMIAK_OK;
}

static umiak_status make(um_shared* shared, int threads, umiak_predictor** predictor) {
    const int n = umiak_model.n_inputs;
    umiak_predictor* p = calloc(1, sizeof *p);
    if (!p) return no_memory();
    __atomic_add_fetch(&shared->users, 1, __ATOMIC_RELAXED);
    p->shared = shared;
    p->threads = threads;
    p->shapes = calloc((size_t)n * UMIAK_MAX_RANK + 1, sizeof *p->shapes);
    p->set = calloc((size_t)n + 1, 1);
    p->bases = calloc((size_t)n + UM_FIRST_INPUT, sizeof *p->bases);
    p->room = calloc((size_t)n + 1, sizeof *p->room);
    p->local = calloc((size_t)threads, sizeof *p->local);
    p->local_bytes = calloc((size_t)threads, sizeof *p->local_bytes);
    if (threads > 1) p->pool = um_pool_new(threads);
    if (!p->shapes || !p->set || !p->bases || !p->room || !p->local || !p->local_bytes || (threads > 1 && !p->pool)) {
        umiak_predictor_destroy(p);
        return no_memory();
    }
    p->bases[UM_WEIGHTS] = shared->weights ? shared->weights : (char*)umiak_model.weights;
    p->bases[UM_PREPARED] = shared->prepared;
    *predictor = p;
    return UMIAK_OK;
}

static umiak_status start(const umiak_options* options, umiak_predictor** predictor, um_shared** shared, int* threads) {
    if (!predictor) return null_argument("predictor");
    *predictor = NULL;
    *threads = options && options->threads ? options->threads : 1;
    if (*threads < 1 || *threads > 1024) return fail(UMIAK_INVALID_ARGUMENT, "threads must be from 1 to 1024, got %d", *threads);
    if (!umiak_model.runs_here())
        return fail(UMIAK_UNSUPPORTED, "%s was compiled for %s, and this processor lacks instructions of it", umiak_model.name,
                    umiak_model.processor);
    *shared = calloc(1, sizeof **shared);
    if (!*shared) return no_memory();
    (*shared)->users = 1;
    return UMIAK_OK;
}

static umiak_status finish(umiak_status status, um_shared* shared, int threads, umiak_predictor** predictor) {
    if (status == UMIAK_OK) status = prepare(shared);
    if (status == UMIAK_OK) status = make(shared, threads, predictor);
    release(shared);
    return status;
}

umiak_status umiak_predictor_create(const char* model, const char* parameters, const umiak_options* options,
                                    umiak_predictor** predictor) {
    um_shared* shared;
    int threads;
    umiak_status status = start(options, predictor, &shared, &threads);
    if (status != UMIAK_OK) return status;
    if (!model && !parameters) {
        if (!umiak_model.weights && umiak_model.weights_bytes)
            status = fail(UMIAK_INVALID_ARGUMENT, "%s requires the name of its file of weights as model, got NULL", umiak_model.name);
    } else if (umiak_model.weights || !model || parameters) {
        status = fail(UMIAK_INVALID_ARGUMENT, umiak_model.weights ? "%s has its weights inside: model and parameters must be NULL"
                                                                  : "%s takes the name of its file of weights as model, nothing else",
                      umiak_model.name);
    } else {
        status = read_weights(model, shared);
    }
    return finish(status, shared, threads, predictor);
}

umiak_status umiak_predictor_create_from_memory(const void* model, size_t model_bytes, const void* parameters,
                                                size_t parameters_bytes, const umiak_options* options,
                                                umiak_predictor** predictor) {
    um_shared* shared;
    int threads;
    char* data = NULL;
    int64_t had = 0;
    umiak_status status = start(options, predictor, &shared, &threads);
    if (status != UMIAK_OK) return status;
    if (umiak_model.weights || !model || parameters || parameters_bytes || model_bytes > (size_t)INT64_MAX) {
        status = fail(UMIAK_INVALID_ARGUMENT, umiak_model.weights ? "%s has its weights inside: use umiak_predictor_create"
                                                                  : "%s takes the contents of its file of weights as model, nothing else",
                      umiak_model.name);
    } else {
        status = check_weights(model, (int64_t)model_bytes, "the memory");
        if (status == UMIAK_OK && grow(&data, &had, umiak_model.weights_bytes + 1)) status = no_memory();
        if (status == UMIAK_OK) {
            memcpy(data, (const char*)model + HEADER, (size_t)umiak_model.weights_bytes);
            status = take_weights(data, "the memory", shared);
        }
    }
    return finish(status, shared, threads, predictor);
}

umiak_status umiak_predictor_clone(umiak_predictor* predictor, umiak_predictor** clone) {
    if (!predictor) return null_argument("predictor");
    if (!clone) return null_argument("clone");
    *clone = NULL;
    return make(predictor->shared, predictor->threads, clone);
}

umiak_status umiak_predictor_destroy(umiak_predictor* predictor) {
    if (!predictor) return UMIAK_OK;
    um_pool_free(predictor->pool);
    for (int i = 0; predictor->bases && i < umiak_model.n_inputs; i++) free(predictor->bases[UM_FIRST_INPUT + i]);
    for (int i = 0; predictor->local && i < predictor->threads; i++) free(predictor->local[i]);
    free(predictor->scratch);
    free(predictor->arena);
    free(predictor->shapes);
    free(predictor->set);
    free(predictor->bases);
    free(predictor->room);
    free(predictor->local);
    free(predictor->local_bytes);
    release(predictor->shared);
    free(predictor);
    return UMIAK_OK;
}

/* ---- inputs and outputs ---- */
umiak_status umiak_input_count(umiak_predictor* predictor, size_t* count) {
    if (!predictor || !count) return null_argument(predictor ? "count" : "predictor");
    *count = (size_t)umiak_model.n_inputs;
    return UMIAK_OK;
}

umiak_status umiak_output_count(umiak_predictor* predictor, size_t* count) {
    if (!predictor || !count) return null_argument(predictor ? "count" : "predictor");
    *count = (size_t)umiak_model.n_outputs;
    return UMIAK_OK;
}

/* Where the sizes of a port begin among those of a plan. */
static const int64_t* shape_in(const um_plan* plan, int port) {
    const int64_t* shape = plan->shapes;
    for (int i = 0; i < port; i++) shape += umiak_model.ports[i].rank;
    return shape;
}

static umiak_status check_index(umiak_predictor* predictor, size_t index, int count, const char* what) {
    if (!predictor) return null_argument("predictor");
    if (index >= (size_t)count)
        return fail(UMIAK_INVALID_ARGUMENT, "%s has %d %ss, got index %zu", umiak_model.name, count, what, index);
    return UMIAK_OK;
}

static void describe(int port, const um_plan* plan, umiak_tensor_info* info) {
    const um_port* of = &umiak_model.ports[port];
    memset(info, 0, sizeof *info);
    info->name = of->name;
    info->dtype = of->dtype;
    info->rank = of->rank;
    for (int i = 0; i < of->rank; i++) {
        info->shape[i] = shape_in(plan ? plan : umiak_model.plans, port)[i];
        for (int k = 0; !plan && k < umiak_model.n_plans; k++)
            if (shape_in(&umiak_model.plans[k], port)[i] != info->shape[i]) info->shape[i] = -1;
    }
}

umiak_status umiak_input_info(umiak_predictor* predictor, size_t index, umiak_tensor_info* info) {
    umiak_status status = check_index(predictor, index, umiak_model.n_inputs, "input");
    if (status != UMIAK_OK) return status;
    if (!info) return null_argument("info");
    describe((int)index, NULL, info);
    return UMIAK_OK;
}

umiak_status umiak_output_info(umiak_predictor* predictor, size_t index, umiak_tensor_info* info) {
    umiak_status status = check_index(predictor, index, umiak_model.n_outputs, "output");
    if (status != UMIAK_OK) return status;
    if (!info) return null_argument("info");
    describe(umiak_model.n_inputs + (int)index, predictor->plan, info);
    return UMIAK_OK;
}

static umiak_status find(const char* name, int first, int count, const char* what, size_t* index) {
    for (int i = 0; i < count; i++)
        if (!strcmp(umiak_model.ports[first + i].name, name)) {
            *index = (size_t)i;
            return UMIAK_OK;
        }
    return fail(UMIAK_INVALID_ARGUMENT, "%s has no %s called %s", umiak_model.name, what, name);
}

umiak_status umiak_input_index(umiak_predictor* predictor, const char* name, size_t* index) {
    if (!predictor || !name || !index) return null_argument(!predictor ? "predictor" : name ? "index" : "name");
    return find(name, 0, umiak_model.n_inputs, "input", index);
}

umiak_status umiak_output_index(umiak_predictor* predictor, const char* name, size_t* index) {
    if (!predictor || !name || !index) return null_argument(!predictor ? "predictor" : name ? "index" : "name");
    return find(name, umiak_model.n_inputs, umiak_model.n_outputs, "output", index);
}

/* Refuse sizes that no plan has for this input. */
static umiak_status check_shape(int port, const int64_t* shape) {
    const um_port* of = &umiak_model.ports[port];
    char got[256], wanted[256];
    for (int k = 0; k < umiak_model.n_plans; k++)
        if (!memcmp(shape_in(&umiak_model.plans[k], port), shape, (size_t)of->rank * sizeof *shape)) return UMIAK_OK;
    show_shape(got, sizeof got, shape, of->rank);
    show_shape(wanted, sizeof wanted, shape_in(umiak_model.plans, port), of->rank);
    return fail(UMIAK_INVALID_INPUT, "input %s was compiled for shape %s%s, got %s", of->name, wanted,
                umiak_model.n_plans > 1 ? " and others" : "", got);
}

umiak_status umiak_set_input(umiak_predictor* predictor, size_t index, const void* data, umiak_dtype dtype, int32_t rank,
                             const int64_t* shape) {
    umiak_status status = check_index(predictor, index, umiak_model.n_inputs, "input");
    if (status != UMIAK_OK) return status;
    const um_port* of = &umiak_model.ports[index];
    int64_t bytes = (int64_t)umiak_dtype_bytes(of->dtype);
    if (rank && !shape) return null_argument("shape");
    if (dtype != of->dtype)
        return fail(UMIAK_INVALID_INPUT, "input %s requires %s, got %s", of->name, dtype_name(of->dtype), dtype_name(dtype));
    if (rank != of->rank) return fail(UMIAK_INVALID_INPUT, "input %s requires %d dims, got %d", of->name, of->rank, rank);
    status = check_shape((int)index, shape);
    if (status != UMIAK_OK) return status;
    for (int i = 0; i < rank; i++) bytes *= shape[i];
    if (bytes && !data) return null_argument("data");
    predictor->set[index] = 0;
    if (grow(&predictor->bases[UM_FIRST_INPUT + index], &predictor->room[index], bytes + 1)) return no_memory();
    memcpy(predictor->bases[UM_FIRST_INPUT + index], data ? data : "", (size_t)bytes);
    if (rank) memcpy(predictor->shapes + index * UMIAK_MAX_RANK, shape, (size_t)rank * sizeof *shape);
    predictor->set[index] = 1;
    predictor->plan = NULL;
    return UMIAK_OK;
}

/* ---- a run ---- */
static umiak_status find_plan(umiak_predictor* p, const um_plan** plan) {
    char text[512] = "", shape[128];
    for (int i = 0; i < umiak_model.n_inputs; i++)
        if (!p->set[i]) return fail(UMIAK_INVALID_INPUT, "input %s was not set", umiak_model.ports[i].name);
    for (int k = 0; k < umiak_model.n_plans; k++) {
        int fits = 1;
        for (int i = 0; i < umiak_model.n_inputs && fits; i++)
            fits = !memcmp(shape_in(&umiak_model.plans[k], i), p->shapes + i * UMIAK_MAX_RANK,
                           (size_t)umiak_model.ports[i].rank * sizeof(int64_t));
        if (fits) {
            *plan = &umiak_model.plans[k];
            return UMIAK_OK;
        }
    }
    for (int i = 0; i < umiak_model.n_inputs; i++) {
        show_shape(shape, sizeof shape, p->shapes + i * UMIAK_MAX_RANK, umiak_model.ports[i].rank);
        strncat(text, " ", sizeof text - strlen(text) - 1);
        strncat(text, shape, sizeof text - strlen(text) - 1);
    }
    return fail(UMIAK_INVALID_INPUT, "%s was not compiled for inputs of shapes%s together", umiak_model.name, text);
}

typedef struct {
    umiak_predictor* p;
    const um_step* step;
    int64_t chunk;
    int code;
} um_work;

static void run_part(void* arg, int64_t part, int thread) {
    um_work* w = arg;
    um_context context = {w->p->bases, w->p->local[thread], w->p->scratch};
    const int64_t lo = part * w->chunk, hi = lo + w->chunk < w->step->count ? lo + w->chunk : w->step->count;
    const int code = w->step->run(&context, w->step->what, lo, hi);
    if (code) __atomic_store_n(&w->code, code, __ATOMIC_RELAXED);
}

static umiak_status run_step(umiak_predictor* p, const um_step* step) {
    um_work w = {p, step, step->count, 0};
    int64_t local = step->local, parts = 1;
    if (step->run == um_run_nest) {
        const um_nest* nest = step->what;
        local = nest->local ? nest->local(nest->dims) : 0;
        if (nest->shared && grow(&p->scratch, &p->scratch_bytes, nest->shared(nest->dims))) return no_memory();
    }
    if (p->threads > 1 && step->work > SHORT_NS && step->count > 1) {
        parts = 4 * (int64_t)p->threads;
        if (parts * (double)PART_NS > step->work) parts = (int64_t)(step->work / PART_NS);
        if (parts > step->count) parts = step->count;
        w.chunk = (step->count + parts - 1) / parts;
        parts = (step->count + w.chunk - 1) / w.chunk;
    }
    for (int i = 0; i < (parts > 1 ? p->threads : 1); i++)
        if (grow(&p->local[i], &p->local_bytes[i], local)) return no_memory();
    if (parts > 1)
        um_pool_run(p->pool, run_part, &w, parts);
    else
        run_part(&w, 0, 0);
    if (w.code) return fail(UMIAK_RUN_FAILED, "%s: a check of the data failed in %s (code %d)", umiak_model.name, step->name, w.code);
    return UMIAK_OK;
}

umiak_status umiak_run(umiak_predictor* predictor) {
    const um_plan* plan;
    if (!predictor) return null_argument("predictor");
    predictor->plan = NULL;
    umiak_status status = find_plan(predictor, &plan);
    if (status != UMIAK_OK) return status;
    if (grow(&predictor->arena, &predictor->arena_bytes, plan->arena + ALIGN)) return no_memory();
    predictor->bases[UM_ARENA] = predictor->arena;
    for (int64_t i = 0; i < plan->n_steps; i++) {
        status = run_step(predictor, &plan->steps[i]);
        if (status != UMIAK_OK) return status;
    }
    predictor->plan = plan;
    return UMIAK_OK;
}

umiak_status umiak_output_data(umiak_predictor* predictor, size_t index, const void** data, size_t* bytes) {
    umiak_status status = check_index(predictor, index, umiak_model.n_outputs, "output");
    if (status != UMIAK_OK) return status;
    if (!data) return null_argument("data");
    *data = NULL;
    if (!predictor->plan)
        return fail(UMIAK_INVALID_ARGUMENT, "output %s has no data before a run", umiak_model.ports[umiak_model.n_inputs + index].name);
    const int port = umiak_model.n_inputs + (int)index;
    const um_ref ref = predictor->plan->outputs[index];
    size_t count = umiak_dtype_bytes(umiak_model.ports[port].dtype);
    for (int i = 0; i < umiak_model.ports[port].rank; i++) count *= (size_t)shape_in(predictor->plan, port)[i];
    *data = predictor->bases[ref.base] + ref.offset;
    if (bytes) *bytes = count;
    return UMIAK_OK;
}

umiak_status umiak_copy_output(umiak_predictor* predictor, size_t index, void* data, size_t bytes) {
    const void* from;
    size_t count;
    umiak_status status = umiak_output_data(predictor, index, &from, &count);
    if (status != UMIAK_OK) return status;
    if (bytes < count)
        return fail(UMIAK_INVALID_ARGUMENT, "output %s requires room for %zu bytes, got %zu",
                    umiak_model.ports[umiak_model.n_inputs + index].name, count, bytes);
    if (count && !data) return null_argument("data");
    memcpy(data, from, count);
    return UMIAK_OK;
}
