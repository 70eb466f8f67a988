/*
 * for_machine.h - a function compiled for several widths of vectors; each call takes the widest that the machine has.
 *
 * The compiler makes vectors of the same C, so results are the same on all machines where a function has no sums of
 * floating-point numbers whose order it may choose: it may not, and contracts nothing (-std=c11).
 */
#ifndef MR_BASE_FOR_MACHINE_H
#define MR_BASE_FOR_MACHINE_H

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF /* one rounding an operation; GCC does so with -std=c11 */
#endif

/* Of a function <id>_body, which is MR_FOR_MACHINE_BODY. */
#define MR_FOR_MACHINE_BODY static inline __attribute__((always_inline))

/* static void <id> PARAMS, which calls <id>_body ARGS; both lists are in brackets. */
#ifdef __x86_64__
#define MR_FOR_MACHINE(id, PARAMS, ARGS) \
	static __attribute__((target("avx2"))) void id##_avx2 PARAMS \
	{ \
		id##_body ARGS; \
	} \
	static __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) void id##_avx512 PARAMS \
	{ \
		id##_body ARGS; \
	} \
	static void id PARAMS \
	{ \
		if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && \
		    __builtin_cpu_supports("avx512dq")) \
			id##_avx512 ARGS; \
		else if (__builtin_cpu_supports("avx2")) \
			id##_avx2 ARGS; \
		else \
			id##_body ARGS; \
	}
#else
#define MR_FOR_MACHINE(id, PARAMS, ARGS) \
	static void id PARAMS \
	{ \
		id##_body ARGS; \
	}
#endif

#endif
