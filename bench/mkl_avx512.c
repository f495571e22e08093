/* Lets Intel's MKL, which PyTorch's CPU wheels contain, use AVX-512 on processors of other makers.
 *
 * MKL asks these two functions whether it runs on an Intel processor and takes slower code paths when it does not,
 * whatever instructions the processor has. Preloaded, both answer yes:
 *
 *     cc -shared -fPIC -o mkl_avx512.so mkl_avx512.c
 *     LD_PRELOAD=./mkl_avx512.so python attention_model.py
 *
 * Only for the benchmark: the "forced" column is what PyTorch can do on this machine, the "stock" column is what its
 * users get. */

int mkl_serv_intel_cpu(void);
int mkl_serv_intel_cpu_true(void);

int mkl_serv_intel_cpu(void) { return 1; }

int mkl_serv_intel_cpu_true(void) { return 1; }
