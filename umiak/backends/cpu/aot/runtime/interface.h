/* The functions of umiak_inference.h, with the checks of their arguments, over what a library has of its own. Included once
   by each of the two: predictor.c, and embed.c of paddle/inference/native. */
#ifndef UM_INTERFACE_H
#define UM_INTERFACE_H

#include "umiak_inference.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifndef UMIAK_VERSION
#error "UMIAK_VERSION is required"
#endif

enum { MOST_THREADS = 1024, MOST_SETTINGS = 4096, MOST_LEVELS = 64, ERROR_ROOM = 2048 };

typedef enum { INPUT, OUTPUT } port_kind;

/* ---- what a library has of its own, called with arguments that were checked ---- */
static const char* model_name(void);
static size_t count_of(const umiak_predictor* predictor, port_kind kind);
static const char* name_of(const umiak_predictor* predictor, port_kind kind, size_t index);
static umiak_status describe(umiak_predictor* predictor, port_kind kind, size_t index, umiak_tensor_info* info);
/* `options` are never NULL. */
static umiak_status create(const char* model, const char* parameters, const umiak_options* options, umiak_predictor** predictor);
static umiak_status create_from_memory(const void* model, size_t model_bytes, const void* parameters, size_t parameters_bytes,
                                       const umiak_options* options, umiak_predictor** predictor);
static umiak_status clone_of(umiak_predictor* predictor, umiak_predictor** clone);
static umiak_status destroy(umiak_predictor* predictor);
static umiak_status set_input(umiak_predictor* predictor, size_t index, const void* data, size_t bytes, umiak_dtype dtype,
                              int32_t rank, const int64_t* shape);
static umiak_status run(umiak_predictor* predictor);
static int has_outputs(const umiak_predictor* predictor); /* of a run */
static const void* output_of(const umiak_predictor* predictor, size_t index, size_t* bytes);
static umiak_status setting_names(const char** names);
static umiak_status pass_names(const umiak_options* options, const char** names);
static umiak_status clear_intermediates(umiak_predictor* predictor);
static umiak_status shrink_memory(umiak_predictor* predictor, uint64_t* bytes);
static umiak_status set_lod(umiak_predictor* predictor, size_t index, size_t levels, const size_t* counts, const int64_t* offsets);
static umiak_status output_lod(umiak_predictor* predictor, size_t index, size_t level, int64_t* offsets, size_t room, size_t* count);
static umiak_status add_hook(umiak_predictor* predictor, umiak_hook_kind kind, umiak_hook hook, void* user);
static umiak_status convert_to_mixed_precision(const char* model, const char* parameters, const char* mixed_model,
                                               const char* mixed_parameters, umiak_dtype dtype, const umiak_options* options);

/* ---- errors ---- */
static __thread char last_error[ERROR_ROOM];

__attribute__((format(printf, 2, 3))) static umiak_status fail(umiak_status status, const char* format, ...) {
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

/* ---- the library ---- */
const char* umiak_version(void) { return UMIAK_VERSION; }
int32_t umiak_abi_version(void) { return UMIAK_ABI_VERSION; }
const char* umiak_last_error(void) { return last_error; }

size_t umiak_dtype_bytes(umiak_dtype dtype) {
    static const unsigned char bytes[] = {4, 8, 4, 1, 1, 2, 2, 1, 8, 2};
    return dtype >= 0 && dtype < (int)sizeof bytes ? bytes[dtype] : 0;
}

/* ---- options ---- */
/* `got` as it was given, or the defaults: of programs with an earlier header, who have it in places of 4 bytes. */
static umiak_status check_options(const umiak_options* got, umiak_options* options) {
    memset(options, 0, sizeof *options);
    if (got) memcpy(options, (const void*)got, sizeof *options);
    if (options->threads < 0 || options->threads > MOST_THREADS)
        return fail(UMIAK_INVALID_ARGUMENT, "threads must be from 0 to %d, got %d", MOST_THREADS, options->threads);
    for (size_t i = 0; i < sizeof options->reserved / sizeof options->reserved[0]; i++)
        if (options->reserved[i])
            return fail(UMIAK_INVALID_ARGUMENT,
                        "options.reserved[%d] must be 0, got %d: version %s has no such option; set unused options to 0 with memset",
                        (int)i, (int)options->reserved[i], UMIAK_VERSION);
    if (options->setting_count < 0 || options->setting_count > MOST_SETTINGS)
        return fail(UMIAK_INVALID_ARGUMENT, "options.setting_count must be from 0 to %d, got %d; set unused options to 0 with memset",
                    MOST_SETTINGS, options->setting_count);
    if (!options->settings != !options->setting_count)
        return fail(UMIAK_INVALID_ARGUMENT, "options.settings must be %s, since setting_count is %d",
                    options->settings ? "NULL" : "an array", options->setting_count);
    for (int i = 0; i < options->setting_count; i++)
        if (!options->settings[i].name) return fail(UMIAK_INVALID_ARGUMENT, "options.settings[%d].name must not be NULL", i);
    return UMIAK_OK;
}

umiak_status umiak_setting_names(const char** names) { return names ? setting_names(names) : null_argument("names"); }

umiak_status umiak_pass_names(const umiak_options* options, const char** names) {
    umiak_options checked;
    if (!names) return null_argument("names");
    *names = NULL;
    const umiak_status status = check_options(options, &checked);
    return status == UMIAK_OK ? pass_names(&checked, names) : status;
}

/* ---- creation ---- */
static umiak_status check_creation(const umiak_options* got, umiak_options* options, umiak_predictor** predictor) {
    if (!predictor) return null_argument("predictor");
    *predictor = NULL;
    return check_options(got, options);
}

umiak_status umiak_predictor_create(const char* model, const char* parameters, const umiak_options* options,
                                    umiak_predictor** predictor) {
    umiak_options checked;
    const umiak_status status = check_creation(options, &checked, predictor);
    return status == UMIAK_OK ? create(model, parameters, &checked, predictor) : status;
}

umiak_status umiak_predictor_create_from_memory(const void* model, size_t model_bytes, const void* parameters,
                                                size_t parameters_bytes, const umiak_options* options,
                                                umiak_predictor** predictor) {
    umiak_options checked;
    const umiak_status status = check_creation(options, &checked, predictor);
    if (status != UMIAK_OK) return status;
    if (!model) return null_argument("model");
    if (parameters_bytes && !parameters) return null_argument("parameters");
    if (model_bytes > PTRDIFF_MAX || parameters_bytes > PTRDIFF_MAX)
        return fail(UMIAK_INVALID_ARGUMENT, "the model must have at most %td bytes", PTRDIFF_MAX);
    return create_from_memory(model, model_bytes, parameters, parameters_bytes, &checked, predictor);
}

umiak_status umiak_predictor_clone(umiak_predictor* predictor, umiak_predictor** clone) {
    if (!predictor) return null_argument("predictor");
    if (!clone) return null_argument("clone");
    *clone = NULL;
    return clone_of(predictor, clone);
}

umiak_status umiak_predictor_destroy(umiak_predictor* predictor) { return predictor ? destroy(predictor) : UMIAK_OK; }

/* ---- inputs and outputs ---- */
static umiak_status check_port(umiak_predictor* predictor, port_kind kind, size_t index) {
    if (!predictor) return null_argument("predictor");
    const size_t count = count_of(predictor, kind);
    if (index < count) return UMIAK_OK;
    return fail(UMIAK_INVALID_ARGUMENT, "%s has %zu %s, got index %zu", model_name(), count, kind == INPUT ? "inputs" : "outputs",
                index);
}

static umiak_status give_count(umiak_predictor* predictor, port_kind kind, size_t* count) {
    if (!predictor) return null_argument("predictor");
    if (!count) return null_argument("count");
    *count = count_of(predictor, kind);
    return UMIAK_OK;
}

static umiak_status give_info(umiak_predictor* predictor, port_kind kind, size_t index, umiak_tensor_info* info) {
    const umiak_status status = check_port(predictor, kind, index);
    if (status != UMIAK_OK) return status;
    if (!info) return null_argument("info");
    return describe(predictor, kind, index, info);
}

static umiak_status give_index(umiak_predictor* predictor, port_kind kind, const char* name, size_t* index) {
    if (!predictor) return null_argument("predictor");
    if (!name) return null_argument("name");
    if (!index) return null_argument("index");
    const size_t count = count_of(predictor, kind);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(name_of(predictor, kind, i), name)) {
            *index = i;
            return UMIAK_OK;
        }
    return fail(UMIAK_INVALID_ARGUMENT, "%s has no %s called %s", model_name(), kind == INPUT ? "input" : "output", name);
}

umiak_status umiak_input_count(umiak_predictor* predictor, size_t* count) { return give_count(predictor, INPUT, count); }
umiak_status umiak_output_count(umiak_predictor* predictor, size_t* count) { return give_count(predictor, OUTPUT, count); }

umiak_status umiak_input_info(umiak_predictor* predictor, size_t index, umiak_tensor_info* info) {
    return give_info(predictor, INPUT, index, info);
}

umiak_status umiak_output_info(umiak_predictor* predictor, size_t index, umiak_tensor_info* info) {
    return give_info(predictor, OUTPUT, index, info);
}

umiak_status umiak_input_index(umiak_predictor* predictor, const char* name, size_t* index) {
    return give_index(predictor, INPUT, name, index);
}

umiak_status umiak_output_index(umiak_predictor* predictor, const char* name, size_t* index) {
    return give_index(predictor, OUTPUT, name, index);
}

/* ---- a run ---- */
umiak_status umiak_set_input(umiak_predictor* predictor, size_t index, const void* data, umiak_dtype dtype, int32_t rank,
                             const int64_t* shape) {
    const umiak_status status = check_port(predictor, INPUT, index);
    if (status != UMIAK_OK) return status;
    size_t bytes = umiak_dtype_bytes(dtype);
    if (!bytes) return fail(UMIAK_INVALID_ARGUMENT, "there is no dtype %d", dtype);
    if (rank < 0 || rank > UMIAK_MAX_RANK) return fail(UMIAK_INVALID_ARGUMENT, "rank must be from 0 to %d, got %d", UMIAK_MAX_RANK, rank);
    if (rank && !shape) return null_argument("shape");
    int empty = 0;
    for (int i = 0; i < rank; i++) empty |= shape[i] == 0;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0 || (!empty && bytes > (size_t)(PTRDIFF_MAX / shape[i])))
            return fail(UMIAK_INVALID_INPUT, "sizes of input %s are out of range", name_of(predictor, INPUT, index));
        bytes *= (size_t)shape[i];
    }
    if (empty) bytes = 0;
    if (bytes && !data) return null_argument("data");
    return set_input(predictor, index, data ? data : "", bytes, dtype, rank, shape);
}

umiak_status umiak_run(umiak_predictor* predictor) { return predictor ? run(predictor) : null_argument("predictor"); }

umiak_status umiak_output_data(umiak_predictor* predictor, size_t index, const void** data, size_t* bytes) {
    size_t count;
    const umiak_status status = check_port(predictor, OUTPUT, index);
    if (status != UMIAK_OK) return status;
    if (!data) return null_argument("data");
    *data = NULL;
    if (!has_outputs(predictor))
        return fail(UMIAK_INVALID_ARGUMENT, "output %s has no data before a run", name_of(predictor, OUTPUT, index));
    *data = output_of(predictor, index, &count);
    if (bytes) *bytes = count;
    return UMIAK_OK;
}

umiak_status umiak_copy_output(umiak_predictor* predictor, size_t index, void* data, size_t bytes) {
    const void* from;
    size_t count;
    const umiak_status status = umiak_output_data(predictor, index, &from, &count);
    if (status != UMIAK_OK) return status;
    if (bytes < count)
        return fail(UMIAK_INVALID_ARGUMENT, "output %s requires room for %zu bytes, got %zu", name_of(predictor, OUTPUT, index), count,
                    bytes);
    if (count && !data) return null_argument("data");
    if (count) memcpy(data, from, count);
    return UMIAK_OK;
}

/* ---- beside runs ---- */
umiak_status umiak_clear_intermediates(umiak_predictor* predictor) {
    return predictor ? clear_intermediates(predictor) : null_argument("predictor");
}

umiak_status umiak_shrink_memory(umiak_predictor* predictor, uint64_t* bytes) {
    uint64_t freed = 0;
    if (!predictor) return null_argument("predictor");
    const umiak_status status = shrink_memory(predictor, &freed);
    if (bytes) *bytes = freed;
    return status;
}

umiak_status umiak_set_lod(umiak_predictor* predictor, size_t index, size_t levels, const size_t* counts, const int64_t* offsets) {
    size_t all = 0;
    const umiak_status status = check_port(predictor, INPUT, index);
    if (status != UMIAK_OK) return status;
    if (levels > MOST_LEVELS) return fail(UMIAK_INVALID_ARGUMENT, "there are at most %d levels, got %zu", MOST_LEVELS, levels);
    if (levels && !counts) return null_argument("counts");
    for (size_t i = 0; i < levels; i++) {
        if (counts[i] > PTRDIFF_MAX / sizeof *offsets || (all += counts[i]) > PTRDIFF_MAX / sizeof *offsets)
            return fail(UMIAK_INVALID_ARGUMENT, "counts of levels are out of range");
    }
    if (all && !offsets) return null_argument("offsets");
    return set_lod(predictor, index, levels, counts, offsets);
}

umiak_status umiak_output_lod(umiak_predictor* predictor, size_t index, size_t level, int64_t* offsets, size_t room, size_t* count) {
    const umiak_status status = check_port(predictor, OUTPUT, index);
    if (status != UMIAK_OK) return status;
    if (!count) return null_argument("count");
    *count = 0;
    if (!has_outputs(predictor))
        return fail(UMIAK_INVALID_ARGUMENT, "output %s has no offsets before a run", name_of(predictor, OUTPUT, index));
    return output_lod(predictor, index, level, offsets, room, count);
}

umiak_status umiak_add_hook(umiak_predictor* predictor, umiak_hook_kind kind, umiak_hook hook, void* user) {
    if (!predictor) return null_argument("predictor");
    if (!hook) return null_argument("hook");
    if (kind != UMIAK_HOOK_INPUTS && kind != UMIAK_HOOK_OUTPUTS)
        return fail(UMIAK_INVALID_ARGUMENT, "kind must be UMIAK_HOOK_INPUTS or UMIAK_HOOK_OUTPUTS, got %d", kind);
    return add_hook(predictor, kind, hook, user);
}

umiak_status umiak_convert_to_mixed_precision(const char* model, const char* parameters, const char* mixed_model,
                                              const char* mixed_parameters, umiak_dtype dtype, const umiak_options* options) {
    umiak_options checked;
    const umiak_status status = check_options(options, &checked);
    if (status != UMIAK_OK) return status;
    if (!model) return null_argument("model");
    if (!mixed_model) return null_argument("mixed_model");
    if (dtype != UMIAK_FLOAT16 && dtype != UMIAK_BFLOAT16)
        return fail(UMIAK_INVALID_ARGUMENT, "dtype must be UMIAK_FLOAT16 or UMIAK_BFLOAT16, got %d", dtype);
    return convert_to_mixed_precision(model, parameters, mixed_model, mixed_parameters, dtype, &checked);
}

#endif
