/*
 * over_ranks.h - an engine whose workers are spread over several processes (link/ranks.h).
 *
 * Each rank has an engine for the same run, with threads for its own workers. Rank 0 leads: its caller steers as with
 * one process, and the functions below take the place of engine.h's. The others follow (mr_over_ranks_follow) until
 * rank 0 ends.
 *
 *	rank 0                          the others
 *	run to a step     -> RUN        start loader and workers, as far as the first limit
 *	                  <- RECORD     a step's losses, of ranks that have a last stage; put together on rank 0
 *	                  -> LIMIT      no worker of any rank goes beyond it: it only rises, as records come, so all
 *	                                pause at the same step although nobody waits for anybody
 *	                  <- STOPPED    all workers stand at the limit
 *	                  -> PAUSED     what follows sees all of them idle
 *	                  <- PAUSED     nothing that a rank tells by itself follows
 *	evaluate          -> EVALUATE, <- EVALUATED with losses and scores
 *	save              -> GATHER: every rank sends what its stages hold to the same places of rank 0's memory
 *	resume            -> STAND, SCATTER: the other way
 *	checkpoints       -> PART, <- PART: what checkpoint/rank_parts.h says
 *
 * The first failure wins: the rank tells it to rank 0, which stops, tells it its caller, and lets all end.
 *
 * Thread: the one that made the engine.
 */
#ifndef MR_RANKS_OVER_RANKS_H
#define MR_RANKS_OVER_RANKS_H

#include "threads/engine.h"
#include "exec/state.h"

/* The kinds of notes that all ranks know. */
typedef enum mr_rank_note {
	MR_RANK_READY = 1, /* a rank has built its run; text: what must be the same everywhere */
	MR_RANK_TEXT,      /* number: bytes that follow (rank_texts.h), before there is a run */
	MR_RANK_RUN,       /* number: until, limit */
	MR_RANK_LIMIT,     /* number: limit */
	MR_RANK_SETTLE,    /* all stand: steps become certain; the answer comes behind their records */
	MR_RANK_PAUSED,    /* number: step */
	MR_RANK_RECORD,    /* number: step; value: lr, norm, norm of the stage; data follow */
	MR_RANK_NORM,      /* number: step; its parts follow (rank_norms.c) */
	MR_RANK_STOPPED,   /* number: limit */
	MR_RANK_BEAT,      /* number: instructions done, longest one in ns; what workers spent, and messages, follow */
	MR_RANK_EVALUATE,
	MR_RANK_CUT,       /* the evaluation is not wanted any more */
	MR_RANK_EVALUATED, /* number: 1 if data follow */
	MR_RANK_GATHER,
	MR_RANK_STAND,     /* number: step */
	MR_RANK_SCATTER,
	MR_RANK_AVERAGE,   /* number: the step behind which steps average the weights */
	MR_RANK_PART,      /* of a checkpoint, or an answer: the rest is the business of those who write these */
	MR_RANK_FAILED,    /* status and text */
	MR_RANK_END,
} mr_rank_note;

/**
 * All ranks have built the same: called by each once its engine is made. @identity: lines "name: value". Rank 0
 * compares. Errors: MR_ECONFIG a line differs, which names both values and hosts; the failure of another rank.
 */
mr_status mr_over_ranks_meet(mr_engine *e, const char *identity) MR_MUST_USE;

/** As mr_engine_run, mr_engine_eval and mr_engine_resume_at. A pause that is requested comes up to MR_RANK_AHEAD steps
 * late. Rank 0. */
mr_status mr_over_ranks_run(mr_engine *e, uint64_t until, mr_engine_progress *progress, void *arg,
			    uint64_t *reached) MR_MUST_USE;
mr_status mr_over_ranks_eval(mr_engine *e, mr_eval_wanted *wanted, void *arg, double *loss) MR_MUST_USE;
mr_status mr_over_ranks_stand_at(mr_engine *e, uint64_t step) MR_MUST_USE;
#define MR_RANK_AHEAD 16

/** Bring what the lists of exec/state.h hold to rank 0, unless a state that was loaded there is to go out first. Rank
 * 0, while paused. */
mr_status mr_over_ranks_gather(mr_engine *e) MR_MUST_USE;

/** The caller has changed what the lists of exec/state.h hold on rank 0, after a gather: it goes to all others before
 * anything else follows. Rank 0, while paused. */
void mr_over_ranks_hold(mr_engine *e);

/** mr_run_average_from on all ranks. Rank 0, while paused. Errors: the transport's. */
mr_status mr_over_ranks_average(mr_engine *e, uint64_t from) MR_MUST_USE;

/** What those who write parts of checkpoints do on a rank that follows, when rank 0 has said @n. */
typedef mr_status mr_over_ranks_part(void *arg, const mr_note *n);

/** Carry out what rank 0 says until it ends; @part(@arg) where it says MR_RANK_PART. Errors: this rank's failure, of
 * which rank 0 is still to be told (mr_over_ranks_give_up); MR_ESTALLED rank 0 is gone. */
mr_status mr_over_ranks_follow(mr_engine *e, mr_over_ranks_part *part, void *arg) MR_MUST_USE;

/** Rank 0, while paused: all others carry out their part of @n, and have what was loaded here. */
mr_status mr_over_ranks_call(mr_engine *e, mr_note *n) MR_MUST_USE;

/** Rank 0, once it stands at the step of what it loads, whose lists are @st: from now on each tensor goes out by
 * mr_rank_state_give as it is loaded, in the order of the lists. Errors: the transport's. */
mr_status mr_over_ranks_give(mr_engine *e, const mr_state *st) MR_MUST_USE;

/** All ranks call it, paused: lists of the state (exec/state.h) are the same on all from now on. */
mr_status mr_over_ranks_mirror(mr_engine *e) MR_MUST_USE;

/** This rank has failed with @st, and its text, in what it does alone: tell rank 0, and wait until it ends. Any but
 * rank 0. */
void mr_over_ranks_give_up(const mr_ranks *r, mr_status st);

/** The step at which this rank stands, while paused. */
uint64_t mr_over_ranks_step(const mr_engine *e);

/** Let the others end. Rank 0, once, whatever happened before. */
void mr_over_ranks_end(const mr_ranks *r);

#endif
