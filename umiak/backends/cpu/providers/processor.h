/* What the processor computes itself. */
#pragma once

#if defined(__x86_64__)
/* Libraries multiply bfloat16 at a quarter of the rate of float32 where processors have no instructions for it. */
static inline int processor_multiplies_bf16(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bf16") != 0;
}
#else
static inline int processor_multiplies_bf16(void) { return 1; }
#endif
