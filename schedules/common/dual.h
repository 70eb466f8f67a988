/*
 * dual.h - the eight steps of a worker between two streams of micro-batches, on which dualpipe and dualpipe_v are
 * built.
 *
 * Each worker hosts two legs. Leg 0 is a stage near the entry of one stream, leg 1 a stage near the end of another
 * (dualpipe: the opposite pipe) or of the same one after its turn (dualpipe_v). With R workers behind it up to where
 * the streams turn or meet, worker w = D - 1 - R of D does, for T micro-batches a leg:
 *
 *	1  2 R times            F0
 *	2  w + 1 times          F0 F1
 *	3  R times              I1 W F1            W: of the oldest I that has none
 *	4  T - 2 D + w + 1      F0 B1 F1 B0
 *	5  R times              B1 F1 B0
 *	6  w + 1 times          B1 B0              from the middle on I in place of B
 *	7  R times              W I0
 *	8  the rest             W
 *
 * The order needs T of at least 2 D. If a leg has fewer than T micro-batches, the missing ones are left out of the
 * order, which stays legal: a micro-batch waits for no other.
 */
#ifndef MR_SCHEDULES_DUAL_H
#define MR_SCHEDULES_DUAL_H

#include "ir/sched.h"

typedef struct mr_dual_leg {
	uint16_t stage;
	uint8_t pipe;
	uint32_t first;   /* number of its first micro-batch */
	uint32_t n_micro; /* how many it has */
} mr_dual_leg;

/** Append the list of @worker, which stands at place @w of @d and has the legs @leg. */
mr_status mr_dual_emit(mr_plan *plan, uint16_t worker, uint32_t w, uint32_t d, const mr_dual_leg leg[2]) MR_MUST_USE;

#endif
