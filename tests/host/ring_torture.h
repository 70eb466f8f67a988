/* ring_torture.h - two threads, one ring, many messages with a payload each; for the fast and the long test. */
#ifndef MR_TESTS_HOST_RING_TORTURE_H
#define MR_TESTS_HOST_RING_TORTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mr_torture_result {
	uint64_t sent_hash, received_hash;
	uint64_t n_received;
	uint64_t n_bad; /* messages out of sequence, or with a payload that is not theirs */
	uint64_t n_sleeps;
} mr_torture_result;

/**
 * Send @n messages through a ring of @capacity, waiting with @spin pauses, with random delays on both sides drawn from
 * @seed. A plain payload word lies in one of capacity + 2 buffers for each message. @apart: pin the threads to two CPUs
 * if there are two; otherwise they run where the kernel likes, at times both on one.
 */
mr_status mr_torture_ring(uint32_t capacity, uint32_t spin, uint64_t n, uint64_t seed, bool apart,
			  mr_torture_result *result);

#endif
