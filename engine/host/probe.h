/*
 * probe.h - two measurements that no table of the machine can give: the present distance of two CPUs, and the peak rate
 * of a core.
 *
 * Placement. In a virtual machine the host moves the CPUs: two of them may share an L3 now (a cache line travels one
 * way in about 50 ns) and not in ten seconds (about 250 ns), while lscpu shows the same. A benchmark calls the
 * ping-pong before and after each sample, keeps NEAR and FAR samples apart and drops mixed ones.
 *
 * Peak. Independent fused multiply-adds on registers only, in the widest form that the CPU has, best of several runs:
 * the divisor of "percent of peak".
 */
#ifndef MR_HOST_PROBE_H
#define MR_HOST_PROBE_H

#include <stdint.h>

#include "base/status.h"

typedef enum mr_probe_distance {
	MR_PROBE_NEAR, /* below MR_PROBE_FAR_NS */
	MR_PROBE_FAR,
} mr_probe_distance;

/* Between the two observed clusters, 50 and 250 ns, at their geometric mean. */
#define MR_PROBE_FAR_NS 112.0

typedef struct mr_probe_pingpong {
	double one_way_ns;          /* median over batches; NAN: other programs left no time for one */
	mr_probe_distance distance;
} mr_probe_pingpong;

/**
 * Bounce a cache line between Linux CPUs @a and @b, about @budget_us microseconds in all (2000 is plenty), and for half
 * a second at most. Pins two threads of its own for that time; the caller's mask is unchanged.
 * Errors: MR_EINVAL @a == @b; MR_ERESOURCE a thread could not be started or pinned.
 */
mr_status mr_probe_pair(uint32_t a, uint32_t b, uint32_t budget_us, mr_probe_pingpong *result) MR_MUST_USE;

const char *mr_probe_name(mr_probe_distance d);

/**
 * Peak f32 fused multiply-add rate of the calling thread's core, in GFLOP/s (an FMA is two), best of 5 runs, about
 * 0.1 s. *@isa becomes "avx512f", "avx2" or "generic" (no FMA instruction known: then it is what the compiler makes
 * of a*b+c).
 */
double mr_probe_peak_gflops(const char **isa);

/**
 * The same of products of bf16 that are added in f32: by AMX tiles ("amx_bf16") where CPU and kernel let this process
 * use them, else by pairs in AVX-512 ("avx512_bf16"). 0 and *@isa NULL: the CPU has neither.
 */
double mr_probe_peak_bf16_gflops(const char **isa);

#endif
