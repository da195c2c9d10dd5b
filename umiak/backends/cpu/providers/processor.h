/* What the processor computes itself. */
#pragma once

#if defined(__x86_64__)
/* 2: AVX-512, 1: AVX2 and fused multiply-adds, 0: neither. */
static inline int processor_vectors(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") ? 2 : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : 0;
}

/* Libraries multiply bfloat16 at a quarter of the rate of float32 where processors have no instructions for it. */
static inline int processor_multiplies_bf16(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bf16") != 0;
}
#else
static inline int processor_vectors(void) { return 0; }
static inline int processor_multiplies_bf16(void) { return 1; }
#endif
