/* The interface of umiak_inference.h over the tables of one compiled model. Compiled for any processor of its kind, so that
   it can say that this one will not do. */
#include "aot.h"
#include "interface.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum { ALIGN = 64, SHORT_NS = 30000, PART_NS = 15000, HEADER = 32 };

typedef struct { /* shared by clones */
    int64_t users;
    char* weights;  /* of a file; NULL where they are part of the library */
    char* prepared; /* what was made of them */
    int64_t* spent; /* nanoseconds of each step of each plan, one plan behind the other; NULL where nobody asked */
    int64_t runs;
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

/* ---- the profile ---- */
/* The place of a plan's first step among those of all; of the last plan's end without one. */
static int64_t first_step(const um_plan* plan) {
    int64_t at = 0;
    for (int k = 0; k < umiak_model.n_plans && &umiak_model.plans[k] != plan; k++) at += umiak_model.plans[k].n_steps;
    return at;
}

static int64_t now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

/* Steps by their time, those of a name together. */
static void print_profile(const um_shared* shared) {
    const int64_t steps = first_step(NULL);
    const char** names = calloc((size_t)steps + 1, sizeof *names);
    int64_t all = 0, n = 0, *spent = shared->spent;
    if (!names) return;
    for (int k = 0; k < umiak_model.n_plans; k++)
        for (int64_t i = 0; i < umiak_model.plans[k].n_steps; i++) {
            const int64_t time = spent[first_step(&umiak_model.plans[k]) + i];
            const char* name = umiak_model.plans[k].steps[i].name;
            int64_t at = 0;
            if (!time) continue;
            all += time;
            while (at < n && strcmp(names[at], name)) at++;
            if (at == n) names[n++] = name, spent[at] = 0; /* at is no place behind this one */
            spent[at] += time;
        }
    printf("%s: %lld runs, %.3f ms\n%12s %7s  step\n", umiak_model.name, (long long)shared->runs, (double)all / 1e6, "ms", "share");
    for (int64_t shown = 0; shown < n; shown++) {
        int64_t most = shown;
        for (int64_t i = shown; i < n; i++)
            if (spent[i] > spent[most]) most = i;
        printf("%12.3f %6.1f%%  %s\n", (double)spent[most] / 1e6, 100 * (double)spent[most] / (double)all, names[most]);
        names[most] = names[shown], spent[most] = spent[shown];
    }
    fflush(stdout);
    free(names);
}

static void release(um_shared* shared) {
    if (__atomic_sub_fetch(&shared->users, 1, __ATOMIC_ACQ_REL)) return;
    if (shared->spent && shared->runs) print_profile(shared);
    free(shared->spent);
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
        destroy(p);
        return no_memory();
    }
    p->bases[UM_WEIGHTS] = shared->weights ? shared->weights : (char*)umiak_model.weights;
    p->bases[UM_PREPARED] = shared->prepared;
    *predictor = p;
    return UMIAK_OK;
}

/* The settings of a compiled model. */
static const char PROFILE[] = "enable_profile";

static umiak_status refuse_settings(const umiak_options* options) {
    for (int i = 0; i < options->setting_count; i++)
        if (strcmp(options->settings[i].name, PROFILE))
            return fail(UMIAK_UNSUPPORTED,
                        "%s was compiled ahead of time and takes no setting but %s, got %s: what a model is made into is settled then. "
                        "libumiak_inference.so takes all",
                        umiak_model.name, PROFILE, options->settings[i].name);
    return UMIAK_OK;
}

static umiak_status start(const umiak_options* options, um_shared** shared) {
    const umiak_status status = refuse_settings(options);
    if (status != UMIAK_OK) return status;
    if (!umiak_model.runs_here())
        return fail(UMIAK_UNSUPPORTED, "%s was compiled for %s, and this processor lacks instructions of it", umiak_model.name,
                    umiak_model.processor);
    *shared = calloc(1, sizeof **shared);
    if (!*shared) return no_memory();
    (*shared)->users = 1;
    if (options->setting_count) (*shared)->spent = calloc((size_t)first_step(NULL) + 1, sizeof(int64_t));
    if (!options->setting_count || (*shared)->spent) return UMIAK_OK;
    free(*shared);
    return no_memory();
}

static umiak_status finish(umiak_status status, um_shared* shared, const umiak_options* options,
                           umiak_predictor** predictor) {
    const int threads = options->threads;
    if (status == UMIAK_OK) status = prepare(shared);
    if (status == UMIAK_OK) status = make(shared, threads ? threads : 1, predictor);
    release(shared);
    return status;
}

static umiak_status create(const char* model, const char* parameters, const umiak_options* options, umiak_predictor** predictor) {
    um_shared* shared;
    umiak_status status = start(options, &shared);
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
    return finish(status, shared, options, predictor);
}

static umiak_status create_from_memory(const void* model, size_t model_bytes, const void* parameters, size_t parameters_bytes,
                                       const umiak_options* options, umiak_predictor** predictor) {
    um_shared* shared;
    char* data = NULL;
    int64_t had = 0;
    umiak_status status = start(options, &shared);
    if (status != UMIAK_OK) return status;
    if (umiak_model.weights || parameters || parameters_bytes) {
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
    return finish(status, shared, options, predictor);
}

static umiak_status clone_of(umiak_predictor* predictor, umiak_predictor** clone) {
    return make(predictor->shared, predictor->threads, clone);
}

static umiak_status destroy(umiak_predictor* predictor) {
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
static const char* model_name(void) { return umiak_model.name; }

static size_t count_of(const umiak_predictor* predictor, port_kind kind) {
    (void)predictor;
    return (size_t)(kind == INPUT ? umiak_model.n_inputs : umiak_model.n_outputs);
}

/* The number of an input or output among all ports. */
static int port_of(port_kind kind, size_t index) { return (kind == INPUT ? 0 : umiak_model.n_inputs) + (int)index; }

static const char* name_of(const umiak_predictor* predictor, port_kind kind, size_t index) {
    (void)predictor;
    return umiak_model.ports[port_of(kind, index)].name;
}

/* Where the sizes of a port begin among those of a plan. */
static const int64_t* shape_in(const um_plan* plan, int port) {
    const int64_t* shape = plan->shapes;
    for (int i = 0; i < port; i++) shape += umiak_model.ports[i].rank;
    return shape;
}

static umiak_status describe(umiak_predictor* predictor, port_kind kind, size_t index, umiak_tensor_info* info) {
    const int port = port_of(kind, index);
    const um_port* of = &umiak_model.ports[port];
    const um_plan* plan = kind == OUTPUT ? predictor->plan : NULL;
    memset(info, 0, sizeof *info);
    info->name = of->name;
    info->dtype = of->dtype;
    info->rank = of->rank;
    for (int i = 0; i < of->rank; i++) {
        info->shape[i] = shape_in(plan ? plan : umiak_model.plans, port)[i];
        for (int k = 0; !plan && k < umiak_model.n_plans; k++)
            if (shape_in(&umiak_model.plans[k], port)[i] != info->shape[i]) info->shape[i] = -1;
    }
    return UMIAK_OK;
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

static umiak_status set_input(umiak_predictor* predictor, size_t index, const void* data, size_t bytes, umiak_dtype dtype,
                              int32_t rank, const int64_t* shape) {
    const um_port* of = &umiak_model.ports[index];
    if (dtype != of->dtype)
        return fail(UMIAK_INVALID_INPUT, "input %s requires %s, got %s", of->name, dtype_name(of->dtype), dtype_name(dtype));
    if (rank != of->rank) return fail(UMIAK_INVALID_INPUT, "input %s requires %d dims, got %d", of->name, of->rank, rank);
    const umiak_status status = check_shape((int)index, shape);
    if (status != UMIAK_OK) return status;
    predictor->set[index] = 0;
    if (grow(&predictor->bases[UM_FIRST_INPUT + index], &predictor->room[index], (int64_t)bytes + 1)) return no_memory();
    memcpy(predictor->bases[UM_FIRST_INPUT + index], data, bytes);
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

static umiak_status run(umiak_predictor* predictor) {
    const um_plan* plan;
    predictor->plan = NULL;
    umiak_status status = find_plan(predictor, &plan);
    if (status != UMIAK_OK) return status;
    if (grow(&predictor->arena, &predictor->arena_bytes, plan->arena + ALIGN)) return no_memory();
    predictor->bases[UM_ARENA] = predictor->arena;
    int64_t* spent = predictor->shared->spent ? predictor->shared->spent + first_step(plan) : NULL;
    for (int64_t i = 0; i < plan->n_steps; i++) {
        const int64_t begin = spent ? now() : 0;
        status = run_step(predictor, &plan->steps[i]);
        if (spent) __atomic_add_fetch(&spent[i], now() - begin, __ATOMIC_RELAXED);
        if (status != UMIAK_OK) return status;
    }
    if (spent) __atomic_add_fetch(&predictor->shared->runs, 1, __ATOMIC_RELAXED);
    predictor->plan = plan;
    return UMIAK_OK;
}

static int has_outputs(const umiak_predictor* predictor) { return predictor->plan != NULL; }

static const void* output_of(const umiak_predictor* predictor, size_t index, size_t* bytes) {
    const int port = port_of(OUTPUT, index);
    const um_ref ref = predictor->plan->outputs[index];
    *bytes = umiak_dtype_bytes(umiak_model.ports[port].dtype);
    for (int i = 0; i < umiak_model.ports[port].rank; i++) *bytes *= (size_t)shape_in(predictor->plan, port)[i];
    return predictor->bases[ref.base] + ref.offset;
}

/* ---- beside runs ---- */
static umiak_status unsupported(const char* what) {
    return fail(UMIAK_UNSUPPORTED, "%s was compiled ahead of time: %s. libumiak_inference.so does it", umiak_model.name, what);
}

static umiak_status setting_names(const char** names) {
    *names = PROFILE;
    return UMIAK_OK;
}

static umiak_status pass_names(const umiak_options* options, const char** names) {
    (void)options, (void)names;
    return unsupported("it has no list of passes");
}

static void free_buffer(char** data, int64_t* had, uint64_t* bytes) {
    *bytes += (uint64_t)*had;
    free(*data);
    *data = NULL;
    *had = 0;
}

static umiak_status clear_intermediates(umiak_predictor* predictor) {
    uint64_t bytes = 0;
    predictor->plan = NULL;
    free_buffer(&predictor->arena, &predictor->arena_bytes, &bytes);
    return UMIAK_OK;
}

static umiak_status shrink_memory(umiak_predictor* predictor, uint64_t* bytes) {
    if (!predictor->plan) free_buffer(&predictor->arena, &predictor->arena_bytes, bytes); /* else outputs lie there */
    free_buffer(&predictor->scratch, &predictor->scratch_bytes, bytes);
    for (int i = 0; i < predictor->threads; i++) free_buffer(&predictor->local[i], &predictor->local_bytes[i], bytes);
    return UMIAK_OK;
}

static umiak_status set_lod(umiak_predictor* predictor, size_t index, size_t levels, const size_t* counts, const int64_t* offsets) {
    (void)predictor, (void)index, (void)counts, (void)offsets;
    return levels ? unsupported("it has no packed sequences") : UMIAK_OK;
}

static umiak_status output_lod(umiak_predictor* predictor, size_t index, size_t level, int64_t* offsets, size_t room, size_t* count) {
    (void)predictor, (void)index, (void)level, (void)offsets, (void)room, (void)count;
    return UMIAK_OK;
}

static umiak_status add_hook(umiak_predictor* predictor, umiak_hook_kind kind, umiak_hook hook, void* user) {
    (void)predictor, (void)kind, (void)hook, (void)user;
    return unsupported("no operations are left to be told of");
}

static umiak_status convert_to_mixed_precision(const char* model, const char* parameters, const char* mixed_model,
                                               const char* mixed_parameters, umiak_dtype dtype, const umiak_options* options) {
    (void)model, (void)parameters, (void)mixed_model, (void)mixed_parameters, (void)dtype, (void)options;
    return unsupported("it cannot write models");
}
