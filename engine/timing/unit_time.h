/*
 * unit_time.h - pipelines in the theory's unit time: every F and every B takes one step, and nothing else takes time.
 *
 *	s0  F0 F1 .  B0 F2 B1 F3 B2 .  B3        greedy 1F1B of 2 stages, 4 micro-batches
 *	s1  .  F0 B0 F1 B1 F2 B2 F3 B3 .         10 = 2 N + 2 S - 2 steps
 *
 * In each step each stage decides by what other stages had finished before the step began. The rule, greedy 1F1B: a B
 * that is ready goes first until the stage has done its first B. From then on F and B alternate; if one is not ready,
 * the other goes. So the middle stages run further ahead than in the static 1F1B of schedules/pipedream.c.
 *
 * Two systems. PipeDream: stage 0 begins no F while as many micro-batches as it admits (NOAM, usually S) are under way.
 * LocalSGD: R replicas of the model share the S stages, micro-batch m belongs to replica m mod R, a round is R H of
 * them; F(m, s) also waits for B(m - R, s) of the same round (its replica's step before), and a round begins after the
 * whole round before it. When a round ends all replicas are averaged, which takes no time.
 *
 * Operations are listed in the order of time and, within a step, of stages; the theory counts updates in this order.
 *
 *
 * Source: the scheduler of github.com/vectozavr/randomized-pipedream, as measured; closed forms are our own and checked
 * against it.
 */
#ifndef MR_TIMING_UNIT_TIME_H
#define MR_TIMING_UNIT_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mr_unit_op {
	uint32_t time;
	uint32_t micro;
	uint16_t stage;
	bool backward;
} mr_unit_op;

typedef struct mr_unit_time {
	uint16_t n_stages;
	uint16_t n_replicas;  /* R; 1 for PipeDream */
	uint32_t round;       /* micro-batches a round; 0: no rounds */
	uint32_t n_micro;     /* N */
	uint32_t length;      /* steps in all */
	mr_unit_op *at;       /* [2 N S] in order */
	uint32_t n;
} mr_unit_time;

/** PipeDream over @n_micro micro-batches; @noam under way at most, 0: as many as stages. Errors: MR_EINVAL,
 * MR_ERESOURCE. */
mr_status mr_unit_greedy(uint16_t n_stages, uint32_t n_micro, uint32_t noam, mr_unit_time *out) MR_MUST_USE;

/** LocalSGD of @replicas replicas, @local steps of each a round. */
mr_status mr_unit_rounds(uint16_t n_stages, uint32_t n_micro, uint16_t replicas, uint32_t local,
			    mr_unit_time *out) MR_MUST_USE;

void mr_unit_time_fini(mr_unit_time *u); /* zeroed is fine */

/* One update of PipeDream: its micro-batch and its stage. */
typedef struct mr_unit_update {
	uint64_t micro;
	uint16_t stage;
} mr_unit_update;

/** Update @k (from 0) of mr_unit_greedy's timeline over @n_micro micro-batches, in closed form. @delay [@n_stages]: how
 * many updates of any block lie between the read of each block and this update; may be NULL. */
mr_unit_update mr_unit_update_at(uint16_t n_stages, uint64_t n_micro, uint64_t k, uint32_t *delay);

/** Steps that mr_unit_rounds takes over @n_micro micro-batches; the last round may be incomplete. In closed form. */
uint64_t mr_unit_rounds_length(uint16_t n_stages, uint32_t n_micro, uint16_t replicas, uint32_t local);

/* --- PipeDream's delays in closed form: updates of any block between a read and the update that uses it --- */

/** Delay in the steady state of @n_stages stages: of the read of block @read for the update of stage @active. */
uint32_t mr_unit_delay(uint16_t n_stages, uint16_t active, uint16_t read);
/** The largest of mr_unit_delay, floor(S^2 - S/2); their mean is (S^2 - 1) / 2. */
uint32_t mr_unit_delay_max(uint16_t n_stages);
/** The largest over the whole run, which the first micro-batches reach: floor(5 S^2 / 4 - S), for S >= 2. */
uint32_t mr_unit_delay_startup(uint16_t n_stages);

#endif
