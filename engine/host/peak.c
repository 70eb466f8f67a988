/*
 * peak.c - the multiply-add peaks of a core.
 *
 * Independent accumulators cover the latency of the units, and the operands stay in registers: no memory is touched, so
 * nothing but the clock frequency and the units can limit a loop. They are written in assembly because then no
 * optimization level and no compiler can slow them down or remove them. All operands are zeros: the units do not look
 * at the values.
 *
 * Twelve accumulators of f32 cover two units of 4-5 cycles each, and with the two factors they fit the 16 registers of
 * AVX2; the bf16 pairs take up to 6 cycles, so there are fourteen. Of the eight tiles of AMX six accumulate: an
 * instruction begins every 16 cycles and takes 52.
 */
#include "host/probe.h"

#include <stdbool.h>
#include <stddef.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "base/fault.h"
#include "host/clock.h"

enum { N_ACC = 12, N_RUNS = 5, RUN_NS = 20000000 };

/* A loop of @n > 0 rounds, and the work of one round. */
typedef struct loop {
	void (*run)(uint64_t n);
	double flops;
	const char *isa;
} loop;

#if defined(__x86_64__)

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

enum { N_PAIR_ACC = 14, N_TILE_ACC = 6 };

/* Each lane adds the two products of a pair: 16 lanes, 64 operations. */
static void pairs_512(uint64_t n)
{
	__asm__ volatile(".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
			 "vxorps %%xmm\\r, %%xmm\\r, %%xmm\\r\n\t"
			 ".endr\n"
			 "1:\n\t"
			 ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13\n\t"
			 "vdpbf16ps %%zmm14, %%zmm15, %%zmm\\r\n\t"
			 ".endr\n\t"
			 "dec %0\n\t"
			 "jnz 1b\n\t"
			 "vzeroupper"
			 : "+r"(n)
			 :
			 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
			   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

/* Tiles of 16 rows of 64 bytes: 16 x 16 elements, each the sum of 32 products. */
static void tiles(uint64_t n)
{
	static const struct {
		uint8_t palette, start_row, none[14];
		uint16_t row_bytes[16];
		uint8_t rows[16];
	} config = {
		.palette = 1,
		.row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
		.rows = {16, 16, 16, 16, 16, 16, 16, 16},
	};

	_Static_assert(sizeof(config) == 64, "what ldtilecfg reads");
	__asm__ volatile("ldtilecfg %1\n\t"
			 ".irp r,0,1,2,3,4,5,6,7\n\t"
			 "tilezero %%tmm\\r\n\t"
			 ".endr\n"
			 "1:\n\t"
			 ".irp r,0,1,2,3,4,5\n\t"
			 "tdpbf16ps %%tmm6, %%tmm7, %%tmm\\r\n\t"
			 ".endr\n\t"
			 "dec %0\n\t"
			 "jnz 1b\n\t"
			 "tilerelease"
			 : "+r"(n)
			 : "m"(config)
			 : "cc");
}

/* The kernel gives tile data only to processes that have requested it; Linux from 5.16 on. */
static bool may_use_tiles(void)
{
	enum { REQUEST = 0x1023, TILE_DATA = 18 };

	return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

static bool bf16_loop(loop *out)
{
	unsigned a, b, c, d;
	bool has_tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 22 & d >> 24 & 1;

	if (has_tiles && may_use_tiles()) {
		*out = (loop){tiles, N_TILE_ACC * 16.0 * 16 * 64, "amx_bf16"};
		return true;
	}
	if (!__builtin_cpu_supports("avx512f") || !__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a >> 5 & 1))
		return false;
	*out = (loop){pairs_512, N_PAIR_ACC * 64.0, "avx512_bf16"};
	return true;
}

#else

static bool bf16_loop(loop *out)
{
	(void)out;
	return false;
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

static loop f32_loop(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f"))
		return (loop){fma_512, 2.0 * N_ACC * 16, "avx512f"};
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return (loop){fma_256, 2.0 * N_ACC * 8, "avx2"};
#endif
	return (loop){multiply_add, 2.0 * N_ACC, "generic"};
}

/* GFLOP/s, best of N_RUNS. */
static double measure(const loop *l)
{
	uint64_t n = 1000, took = 0, best = UINT64_MAX, enough = mr_fault_hurry(RUN_NS);

	/* Double until a run is long enough; that also lets the core reach its frequency for wide instructions. */
	for (;; n *= 2) {
		uint64_t begin = mr_clock_ns();

		l->run(n);
		took = mr_clock_ns() - begin;
		if (took >= enough)
			break;
	}
	for (int run = 0; run < N_RUNS; run++) {
		uint64_t begin = mr_clock_ns();

		l->run(n);
		took = mr_clock_ns() - begin;
		best = took < best ? took : best;
	}
	return l->flops * (double)n / (double)best;
}

double mr_probe_peak_gflops(const char **isa)
{
	loop l = f32_loop();

	*isa = l.isa;
	return measure(&l);
}

double mr_probe_peak_bf16_gflops(const char **isa)
{
	loop l;

	*isa = NULL;
	if (!bf16_loop(&l))
		return 0;
	*isa = l.isa;
	return measure(&l);
}
