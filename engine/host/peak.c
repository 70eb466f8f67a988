/*
 * peak.c - the multiply-add peak of a core.
 *
 * Twelve independent accumulators cover the latency of two FMA units (4-5 cycles each), and with the two factors they
 * fit the 16 registers of AVX2. No memory is touched, so nothing but the clock frequency and the units can limit the
 * loop. It is written in assembly because then no optimization level and no compiler can slow it down or remove it.
 */
#include "host/probe.h"

#include "host/clock.h"

enum { N_ACC = 12, N_RUNS = 5, RUN_NS = 20000000 };

#if defined(__x86_64__)

/* All operands are zeros: the units do not look at the values. @n > 0 rounds of N_ACC instructions. */
static void fma_512(uint64_t n)
{
	__asm__ volatile(".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13\n\t"
			 "vxorps %%xmm\\r, %%xmm\\r, %%xmm\\r\n\t"
			 ".endr\n"
			 "1:\n\t"
			 ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n\t"
			 "vfmadd231ps %%zmm12, %%zmm13, %%zmm\\r\n\t"
			 ".endr\n\t"
			 "dec %0\n\t"
			 "jnz 1b\n\t"
			 "vzeroupper"
			 : "+r"(n)
			 :
			 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
			   "xmm10", "xmm11", "xmm12", "xmm13");
}

static void fma_256(uint64_t n)
{
	__asm__ volatile(".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13\n\t"
			 "vxorps %%xmm\\r, %%xmm\\r, %%xmm\\r\n\t"
			 ".endr\n"
			 "1:\n\t"
			 ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n\t"
			 "vfmadd231ps %%ymm12, %%ymm13, %%ymm\\r\n\t"
			 ".endr\n\t"
			 "dec %0\n\t"
			 "jnz 1b\n\t"
			 "vzeroupper"
			 : "+r"(n)
			 :
			 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
			   "xmm10", "xmm11", "xmm12", "xmm13");
}

#endif

/* Without a known FMA instruction: one multiplication and one addition each, by the compiler. */
static void multiply_add(uint64_t n)
{
	volatile float factor = 0.999f;
	float acc[N_ACC] = {0}, a = factor, b = factor;

	for (; n > 0; n--)
		for (int k = 0; k < N_ACC; k++)
			acc[k] = acc[k] * a + b;
	for (int k = 0; k < N_ACC; k++)
		factor = acc[k];
}

double mr_probe_peak_gflops(const char **isa)
{
	void (*loop)(uint64_t n) = multiply_add;
	unsigned lanes = 1;
	uint64_t n = 1000, took = 0, best = UINT64_MAX;

	*isa = "generic";
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f")) {
		loop = fma_512;
		lanes = 16;
		*isa = "avx512f";
	} else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
		loop = fma_256;
		lanes = 8;
		*isa = "avx2";
	}
#endif
	/* Double until a run is long enough; that also lets the core reach its frequency for wide instructions. */
	for (;; n *= 2) {
		uint64_t begin = mr_clock_ns();

		loop(n);
		took = mr_clock_ns() - begin;
		if (took >= RUN_NS)
			break;
	}
	for (int run = 0; run < N_RUNS; run++) {
		uint64_t begin = mr_clock_ns();

		loop(n);
		took = mr_clock_ns() - begin;
		best = took < best ? took : best;
	}
	return 2.0 * N_ACC * lanes * (double)n / (double)best;
}
