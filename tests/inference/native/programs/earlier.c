/* A program that was compiled with version 1 of the header, whose declarations it has. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct umiak_predictor umiak_predictor;
typedef struct {
    int32_t threads, reserved[7];
} umiak_options;
int32_t umiak_predictor_create(const char*, const char*, const umiak_options*, umiak_predictor**);
int32_t umiak_set_input(umiak_predictor*, size_t, const void*, int32_t, int32_t, const int64_t*);
int32_t umiak_run(umiak_predictor*);
int32_t umiak_output_data(umiak_predictor*, size_t, const void**, size_t*);
int32_t umiak_predictor_destroy(umiak_predictor*);
const char* umiak_last_error(void);

int main(int count, char** arguments) {
    static float x[3 * 8 * 8];
    static struct {
        int32_t apart; /* so that options lie at no multiple of 8 */
        umiak_options options;
    } room;
    const int64_t shape[] = {1, 3, 8, 8};
    umiak_predictor* predictor;
    const void* data;
    size_t bytes;
    room.options.threads = 2;
    if (umiak_predictor_create(count > 1 ? arguments[1] : NULL, NULL, &room.options, &predictor) ||
        umiak_set_input(predictor, 0, x, 0, 4, shape) || umiak_run(predictor) || umiak_output_data(predictor, 0, &data, &bytes)) {
        puts(umiak_last_error());
        return 1;
    }
    printf("%zu\n", bytes);
    return umiak_predictor_destroy(predictor);
}
