#include "nn/kernels/fused/blocks/block_engine.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "nn/kernels/onednn/onednn_primitives.h"

#ifdef __x86_64__

/* Linux's arch_prctl: request permission for this process to use the state of tiles, component 18 of XSAVE. */
enum { ARCH_REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };

/* Bits of CPUID 7.0 EDX, and of CPUID 1 ECX. */
enum { HAS_AMX_BF16 = 1 << 22, HAS_AMX_TILE = 1 << 24, HAS_OSXSAVE = 1 << 27 };

static bool cpu_has_tiles(void)
{
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & HAS_AMX_BF16) && (d & HAS_AMX_TILE);
}

/* Does the operating system save both parts of their state, shape (17) and data (18)? */
static bool system_has_tiles(void)
{
	unsigned a, b, c, d, low, high;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & HAS_OSXSAVE))
		return false;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (low >> 17 & 3) == 3;
}

static const char *ask_for_tiles(void)
{
	if (!cpu_has_tiles())
		return "this CPU has no AMX with bf16";
	if (!system_has_tiles())
		return "the operating system does not save AMX tiles";
	if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA))
		return errno == ENOSPC ? "the operating system refuses AMX tiles: a stack for signals is too small"
				       : "the operating system refuses AMX tiles (arch_prctl ARCH_REQ_XCOMP_PERM)";
	return mr_onednn_amx() ? NULL : "ONEDNN_MAX_CPU_ISA leaves AMX out";
}

/* Two threads that call this at the same time both make the request and get the same answer. */
static const char *amx_refusal(void)
{
	static const char *answer;
	static int asked;

	/* Pairs with the store below: a thread that reads `asked` as set also reads the answer. */
	if (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&answer, ask_for_tiles(), __ATOMIC_RELAXED);
		__atomic_store_n(&asked, 1, __ATOMIC_RELEASE);
	}
	return __atomic_load_n(&answer, __ATOMIC_RELAXED);
}

static const char *avx512_refusal(void)
{
	if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512bw") ||
	    !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
		return "this CPU has no avx512_bf16";
	return mr_onednn_bf16() ? NULL : "ONEDNN_MAX_CPU_ISA leaves avx512_bf16 out";
}

#endif

static const char *no_refusal(void)
{
	return NULL;
}

typedef struct candidate {
	mr_block_engine engine;
	const char *(*refusal)(void); /* why it cannot be used, or NULL */
} candidate;

/* In order of preference. Candidates after the first that works on every CPU are used only if they are named.
 *
 * W of dz W^T is packed where that is faster. With few rows of dz most of the 16 columns that avx512_bf16 computes are
 * not there; with many packing costs nothing (one thread of an EPYC, 1024 x 1024, GFLOP/s packed and in place: 8 rows
 * 126 and 106, 16 rows 163 and 211, 128 rows 203 and 215, 512 rows 212 and 214). With amx it counts how often W is read
 * and written (one thread of a Xeon, the same in us: 1 row 179 and 133, 16 rows 202 and 136, 32 rows 207 and 140, 64
 * rows 261 and 225, 128 rows 380 and 389, 256 rows 622 and 735).
 *
 * Panels of x W that the micro-batches of a step share: whole steps of 6 layers of 1024 on two stages, packed anew and
 * kept, in turns on a Xeon that others disturbed, ms (the least): 4 micro-batches of 32 rows 16.9 and 15.2 (10.6 and
 * 9.67), 8 of 16 rows 23.5 and 19.7 (15.7 and 13.2), but 2 of 16 rows 11.0 and 11.7 and 2 of 64 rows level; 12 layers
 * of 768 of a GPT, which no cache holds, with 4 of 64 rows 754 and 818, of 32 rows 615 and 568, of 16 rows level.
 */
static const candidate candidates[] = {
#ifdef __x86_64__
	{{"amx", mr_block_amx, mr_block_amx_release, 16, NULL, mr_block_amx_turned, mr_block_amx_turned_half, 1, 96,
	  32},
	 amx_refusal},
	{{"avx512_bf16", mr_block_avx512, NULL, 1, mr_block_avx512_stored, mr_block_avx512_turned,
	  mr_block_avx512_turned_half, 12, 256, 0},
	 avx512_refusal},
#endif
	{{"f32", NULL, NULL, 1, NULL, NULL, NULL, 0, 0, 0}, no_refusal},
	{{"model", mr_block_model, NULL, 16, NULL, NULL, NULL, 0, 0, 32}, no_refusal},
};

enum { N_CANDIDATES = sizeof(candidates) / sizeof(candidates[0]) };

static const mr_block_engine *called(const char *name, const char **why)
{
	for (int i = 0; i < N_CANDIDATES; i++)
		if (!strcmp(candidates[i].engine.name, name)) {
			*why = candidates[i].refusal();
			return *why ? NULL : &candidates[i].engine;
		}
	*why = "MR_BF16_ENGINE names none of amx, avx512_bf16, f32 and model";
	return NULL;
}

const mr_block_engine *mr_block_engine_find(const char **why)
{
	const char *name = getenv("MR_BF16_ENGINE"), *refusal;
	const candidate *c = candidates;

	if (name && *name)
		return called(name, why);
	for (*why = NULL; (refusal = c->refusal()); c++)
		*why = refusal;
	return &c->engine;
}
