/*
 * validation.h - the state of a run that takes optimizer steps before the global gradient norm is known and rolls wrong
 * ones back (VALIDATED plans, ir/plan.h): for each stage the data to go back, for each worker its place in a
 * repetition, for the run the forwards that are repeated. exec/features/validation.c uses it.
 */
#ifndef MR_WEIGHTS_VALIDATION_H
#define MR_WEIGHTS_VALIDATION_H

#include "ir/plan.h"
#include "link/counter.h"
#include "weights/stage_weights.h"

/* State of the run: the forwards before V, which are repeated when V finds a wrong step. */
typedef struct mr_validation {
	uint32_t n_micro;  /* micro-batches of an iteration */
	uint32_t *place;   /* [n_stages][n_micro] place of F among those before V, from 1; 0: it comes after V */
	uint32_t *n_early; /* [n_stages] forwards before V */
} mr_validation;

/* State of a stage's weights. */
struct mr_stage_validation {
	mr_counter arrived;  /* wrong V at which the stage's worker has arrived */
	mr_event redone;     /* forwards that the stage has repeated, over the whole run; for a worker that shares
	                        memory */
	uint8_t *backup[MR_OPTIM_STATES]; /* the optimizer's state before a step that may be rolled back */
	uint8_t *backup_factors; /* likewise its factors; NULL: it has none */
	int16_t *backup_rest; /* likewise the rest of the masters; NULL: they have none */
	uint64_t validated;  /* version whose step is certain */
	uint64_t settled;    /* the version at the last pause: all steps up to it are certain */
	uint64_t n_taken_back; /* steps so far that were wrong */
};

/* State of a worker. */
typedef struct mr_worker_validation {
	bool wrong;    /* V has found a wrong step in the current iteration */
	bool redo;     /* the worker is repeating forwards */
	uint32_t n;    /* repetitions so far */
	uint64_t at;   /* iteration of the last one */
	uint32_t n_met; /* repetitions before which the worker has said that it has arrived */
	uint32_t dropped; /* place in its list up to which inputs that come again were dropped */
} mr_worker_validation;

/** Make the state of a run of @plan, which has V. Errors: MR_ERESOURCE. */
mr_status mr_validation_create(const mr_plan *plan, mr_validation **out) MR_MUST_USE;
void mr_validation_destroy(mr_validation *v);

/** The place of the forward of micro-batch @micro (of an iteration) at stage @s among those before V, or 0. */
static inline uint32_t mr_validation_place(const mr_validation *v, uint16_t s, uint32_t micro)
{
	return v->place[(size_t)s * v->n_micro + micro];
}

/** Give @b the state for rolling a step back. Errors: MR_ERESOURCE. */
mr_status mr_validation_open(mr_stage_weights *b) MR_MUST_USE;
/** Take (or measure) the copy of the optimizer's states and of the rest of the masters. */
void mr_validation_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard);
/** Copy the state that a step changes in place, or (@restore) copy it back. */
void mr_validation_back_up(mr_stage_weights *b, bool restore);

/** Choose the link of `arrived` of @b, weights of @stage, from the stage's worker to @before, that of the stage before
 * (mr_counter_choose_edge). */
mr_status mr_validation_choose(mr_stage_weights *b, uint16_t stage, uint16_t worker, uint16_t before,
			       uint16_t n_workers, const mr_link_kind *const *kinds) MR_MUST_USE;
/** Free its channels. */
void mr_validation_close(mr_stage_weights *b);

/** All steps so far are certain. `arrived` wakes @before, the worker of the stage before, `redone` @behind, that of the
 * stage after; NULL: there is none. @parkers: those of all workers. While no worker runs. */
void mr_validation_reset(mr_stage_weights *b, mr_parker *const *before, mr_parker *const *behind,
			 mr_parker *const *parkers);

#endif
