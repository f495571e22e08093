/* Multiply-adds of AVX-512 in single precision and in bfloat16, on one core:
 *
 *     cc -O1 -mavx512f -mavx512bf16 bench/bfloat16.c -o target/bfloat16 && target/bfloat16
 *
 * Twenty-four independent accumulators, no memory: the most that a product of matrices can reach.
 */
#include <stdio.h>
#include <time.h>

#define ACCUMULATORS 24
#define EACH(op) op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11) op(12) op(13) op(14) op(15) \
    op(16) op(17) op(18) op(19) op(20) op(21) op(22) op(23)
#define SINGLE(i) "vfmadd231ps %%zmm30, %%zmm31, %%zmm" #i "\n"
#define BFLOAT16(i) "vdpbf16ps %%zmm30, %%zmm31, %%zmm" #i "\n"
#define REGISTERS "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", \
    "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31"
#define ZERO(i) "vpxord %%zmm" #i ", %%zmm" #i ", %%zmm" #i "\n"

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(void) {
    const long rounds = 5000000;
    double best[2] = {1e9, 1e9};
    for (int repeat = 0; repeat < 9; repeat++) {
        __asm__ volatile(EACH(ZERO) ZERO(30) ZERO(31)::: "memory", REGISTERS);
        double begun = now();
        for (long round = 0; round < rounds; round++) __asm__ volatile(EACH(SINGLE)::: "memory", REGISTERS);
        double single = now() - begun;
        begun = now();
        for (long round = 0; round < rounds; round++) __asm__ volatile(EACH(BFLOAT16)::: "memory", REGISTERS);
        double bfloat16 = now() - begun;
        if (single < best[0]) best[0] = single;
        if (bfloat16 < best[1]) best[1] = bfloat16;
    }
    double rate[2] = {16.0 * ACCUMULATORS * rounds / best[0] / 1e9, 32.0 * ACCUMULATORS * rounds / best[1] / 1e9};
    printf("single precision %.1f, bfloat16 %.1f billion multiply-adds a second: %.2f times\n", rate[0], rate[1], rate[1] / rate[0]);
    return 0;
}
