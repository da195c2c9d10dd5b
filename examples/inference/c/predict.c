/* Runs a model once, and a hundred times for its latency.

     predict [MODEL] [NAME=1x3x48x320 …]

   MODEL is the file of a saved model for libumiak_inference.so; a compiled model takes none, or its file of weights. Inputs are
   filled with numbers that follow from their places, sizes that the model leaves open are given by name, or are 1. */
#include "umiak_inference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 100, SHOWN = 8 };

static void check(umiak_status status) {
    if (status == UMIAK_OK) return;
    fprintf(stderr, "error %d: %s\n", status, umiak_last_error());
    exit(1);
}

static void take_sizes(umiak_tensor_info* info, int count, char** arguments) {
    const size_t length = strlen(info->name);
    for (int i = 0; i < info->rank; i++)
        if (info->shape[i] < 0) info->shape[i] = 1;
    for (int i = 0; i < count; i++) {
        char* at = arguments[i] + length + 1;
        if (strncmp(arguments[i], info->name, length) || arguments[i][length] != '=') continue;
        for (int axis = 0; axis < info->rank && *at; axis++) {
            info->shape[axis] = strtoll(at, &at, 10);
            at += *at == 'x';
        }
    }
}

static void fill(void* data, umiak_dtype dtype, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const double x = (double)(i * 37 % 101) / 101;
        switch (dtype) {
        case UMIAK_FLOAT32: ((float*)data)[i] = (float)x; break;
        case UMIAK_FLOAT64: ((double*)data)[i] = x; break;
        case UMIAK_INT64: ((int64_t*)data)[i] = (int64_t)(i % 5); break;
        case UMIAK_INT32: ((int32_t*)data)[i] = (int32_t)(i % 5); break;
        case UMIAK_UINT8: case UMIAK_INT8: case UMIAK_BOOL: ((uint8_t*)data)[i] = (uint8_t)(i % 2); break;
        default: memset((char*)data + i * umiak_dtype_bytes(dtype), 0, umiak_dtype_bytes(dtype));
        }
    }
}

static double show(umiak_dtype dtype, const void* data, size_t i) {
    switch (dtype) {
    case UMIAK_FLOAT32: return ((const float*)data)[i];
    case UMIAK_FLOAT64: return ((const double*)data)[i];
    case UMIAK_INT64: return (double)((const int64_t*)data)[i];
    case UMIAK_INT32: return ((const int32_t*)data)[i];
    default: return ((const uint8_t*)data)[i];
    }
}

int main(int count, char** arguments) {
    const char* model = count > 1 && !strchr(arguments[1], '=') ? arguments[1] : NULL;
    umiak_predictor* predictor;
    umiak_tensor_info info;
    size_t inputs, outputs;
    struct timespec begin, end;

    check(umiak_predictor_create(model, NULL, NULL, &predictor));
    check(umiak_input_count(predictor, &inputs));
    check(umiak_output_count(predictor, &outputs));
    for (size_t i = 0; i < inputs; i++) {
        size_t elements = 1;
        check(umiak_input_info(predictor, i, &info));
        take_sizes(&info, count - 1, arguments + 1);
        for (int axis = 0; axis < info.rank; axis++) elements *= (size_t)info.shape[axis];
        void* data = malloc(elements * umiak_dtype_bytes(info.dtype) + 1);
        if (!data) return 1;
        fill(data, info.dtype, elements);
        check(umiak_set_input(predictor, i, data, info.dtype, info.rank, info.shape));
        free(data);
    }
    check(umiak_run(predictor));
    for (size_t i = 0; i < outputs; i++) {
        const void* data;
        size_t bytes;
        check(umiak_output_info(predictor, i, &info));
        check(umiak_output_data(predictor, i, &data, &bytes));
        printf("%s [", info.name);
        for (int axis = 0; axis < info.rank; axis++) printf(axis ? ", %lld" : "%lld", (long long)info.shape[axis]);
        printf("]");
        for (size_t k = 0; k < SHOWN && k < bytes / umiak_dtype_bytes(info.dtype); k++) printf(" %.6g", show(info.dtype, data, k));
        printf("\n");
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < RUNS; i++) check(umiak_run(predictor));
    clock_gettime(CLOCK_MONOTONIC, &end);
    fprintf(stderr, "%.3f ms\n", ((double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6) / RUNS);
    check(umiak_predictor_destroy(predictor));
    return 0;
}
