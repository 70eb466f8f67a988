/*
 * perf_map.h - names for calls of one function for many purposes, so that profilers tell them apart.
 *
 * Where the environment variable MR_PERF_MAP names a folder, a name gets a stub: a few bytes of code that make a frame
 * and call a function for its caller, and a line "address size name" in the file perf-PID.map of that folder. perf
 * reads such a map from /tmp for code that was generated, and then shows the name between caller and function. Stacks
 * must be walked by frame pointers, as `perf record -g` does.
 *
 * Without the variable, on processors other than x86-64 and aarch64, or when stubs run out, there is none, and a call
 * is a direct one.
 */
#ifndef MR_BASE_PERF_MAP_H
#define MR_BASE_PERF_MAP_H

#include <stdint.h>

#include "base/status.h"

/* What is called; the meaning of the arguments is the caller's. */
typedef mr_status mr_perf_call(const void *a, const void *b, uint32_t n);
typedef mr_status mr_perf_stub(const void *a, const void *b, uint32_t n, mr_perf_call *call);

/** The stub called @name, which has neither blanks nor semicolons; a name that was given before has the same. NULL:
 * there is none. Stubs stay to the end of the process. Thread: any. */
mr_perf_stub *mr_perf_map_stub(const char *name);

/** @call by way of @stub, which is the thread's current one meanwhile. */
mr_status mr_perf_map_named(mr_perf_stub *stub, mr_perf_call *call, const void *a, const void *b, uint32_t n);

/** The stub by way of which the calling thread is called, for the threads that it forks; NULL: none. */
mr_perf_stub *mr_perf_map_current(void);

/** @call by way of @stub, or without it. */
static inline mr_status mr_perf_map_call(mr_perf_stub *stub, mr_perf_call *call, const void *a, const void *b,
					 uint32_t n)
{
	return stub ? mr_perf_map_named(stub, call, a, b, n) : call(a, b, n);
}

#endif
