/*
 * kernel_room.h - an estimate, from recorded calls (recorder.h), of what a kernel context will allocate: primitives of
 * oneDNN, packed operands, scratch. Kernels allocate at their first call of a shape; a plan of memory needs the figure
 * before.
 *
 * Convolutions decide: their weights are held once more for oneDNN's own format, and once to be added; where operands
 * are widened or transformed, all of them. For all else there are figures that were measured (on AVX-512 and AVX2).
 * It is a bound from above for all networks of this program (session.plan_memory); what a context has allocated is
 * mr_kernels.ctx_bytes.
 */
#ifndef MR_NN_KERNEL_ROOM_H
#define MR_NN_KERNEL_ROOM_H

#include "nn/recorder.h"

/** Bytes that one context of @k with @n_threads allocates for the @n calls at @call. */
uint64_t mr_kernel_room(const mr_kernels *k, uint32_t n_threads, const mr_recorded *call, size_t n);

/** Bytes of the library's code that the @n calls at @call touch or generate, which all contexts of the process share;
 * 0 where our own code executes all. */
uint64_t mr_kernel_code(const mr_recorded *call, size_t n);

#endif
