/*
 * auto.h - searches for the configuration whose steps are the shortest on a machine.
 *
 * For a model, a batch and a machine it chooses workers, threads of each, micro-batches, system, replicas of stages and
 * recomputation; the cut is the automatic one of each. All of a candidate is real: its plan is made, lowered and
 * checked, and walked with the costs of the model (costs/cost_model.h) or measured ones, and its memory is that of
 * the engine's layout. Sequential training and data parallelism are candidates like all others.
 *
 * Branch and bound: the work of a step over the workers, and the chain of a micro-batch through the model, are a lower
 * bound for all systems with the same workers, threads and micro-batches. Such groups are tried in the order of their
 * bounds; candidates whose bound is not below the best step are left out. In a group the systems that came nearest to
 * their bounds before go first; those that never came near enough to beat the best are left out, and so is the rest
 * when some in a row are no better. The search ends after a number of instructions: the result then says how far it may
 * be from the bound. The best are then changed in their cuts, replicas, recomputation and teams (auto_internal.h). The
 * order of everything is fixed, so the choice is the same each time.
 */
#ifndef MR_CHOOSE_AUTO_H
#define MR_CHOOSE_AUTO_H

#include <stdio.h>

#include "job/job.h"
#include "session/session_forecast.h"

/* Settings of a candidate, beyond those of the user's job. */
#define MR_AUTO_SETS 13

typedef struct mr_auto_row {
	char label[96];              /* "dapple [2, 2], recomputing" */
	char *set[MR_AUTO_SETS];     /* "key=value", as for --set; [n_sets]; owned */
	uint32_t n_sets;
	uint32_t workers, threads, n_micro;
	double bound_s;              /* no plan of this group is faster; of one that was tried: none of its cut */
	double step_s;               /* predicted; INFINITY: not tried, or it cannot run */
	double first_s;              /* predicted before the corrections of mr_auto_verify; 0: there are none */
	double measured_s;           /* of mr_auto_verify; 0: none */
	double penalty;              /* times as many steps to a loss as the best that flushes: 1 if it flushes itself;
	                                0: unknown; INFINITY: it diverged */
	double rank;                 /* the penalty by which it is sorted; 0: as 1 */
	uint64_t bytes;              /* of all workers */
	uint32_t staleness;
	uint16_t n_stages;           /* of one that was tried, as the next four */
	uint32_t versions, slots;    /* of stage 0: versions of its weights, activations */
	uint32_t *first;             /* [n_stages + 1] layers at which its stages begin; owned */
	double *busy;                /* [n_stages] seconds of a step that a worker spends on it; owned */
	bool tried, fits, best_of;   /* best_of: no other is better in time, memory and staleness at once */
	bool refined;                /* a change of another one (auto_refine.c) */
	bool dropped, diverged;      /* mr_auto_verify could not train it; its loss was not finite */
	char why[200];               /* the reason why it cannot run; "": it can */
} mr_auto_row;

typedef struct mr_auto_question {
	const mr_job *job;     /* its system, workers, threads and micro-batches do not count */
	uint32_t allow_stale;  /* most commits by which a gradient may be late; 0: only systems that flush */
	const char *systems;   /* only these, with commas between; NULL or "": all */
	uint64_t memory;       /* most bytes of the workers; 0: what the machine has */
	bool plain;            /* only systems with their defaults and the automatic cut: no replicas, recomputation,
	                          merged gradients or changes of the best */
	bool measures;         /* layers of which nothing is kept are measured first (layer_survey.h), unless the job
	                          has a file of costs; reads the data. The machine is the one at hand */
	bool recalls;          /* figures of the machine that are kept from a quiet moment are not measured anew */
} mr_auto_question;

struct mr_auto_search_state;

typedef struct mr_auto {
	struct mr_auto_search_state *state; /* auto_internal.h; owned */
	mr_auto_row *row;      /* [n]: those that were tried and fit by step, then the others by their bounds; owned */
	uint32_t n, n_tried;
	double bound_s;        /* no candidate is faster, as predicted */
	double best_s;         /* of the first, as predicted before any run */
	bool complete;         /* none that was left out could be faster than the first */
	uint32_t half;         /* row of the best on half of the cores, of which two may run at once; n: none */
	double half_s;         /* its predicted step, when the other run uses half of memory and links */
	double half_measured_s; /* of two runs at once; 0: none */
	double penalty_loss;   /* the loss to which steps were counted; NAN: no penalty was measured */
	uint32_t penalty_steps; /* in runs of as many */
	uint32_t n_bursts;     /* that were measured and count */
	uint32_t n_disturbed;  /* of these: other programs took part of the processors, each time that it was made */
	uint32_t cores;
	int64_t batch;
	char source[512];      /* of the costs */
	char machine[512];
	char busy[400];        /* what disturbed the measurement of the machine; "": nothing */
} mr_auto;

/** Search. The caller calls fini, also after an error. Errors: MR_ERESOURCE: nothing fits, with what would; MR_ECONFIG,
 * MR_EUSAGE: what is to be measured is not this machine alone; those of a session of the job. */
mr_status mr_auto_search(const mr_auto_question *q, mr_auto *out) MR_MUST_USE;
void mr_auto_fini(mr_auto *a);

/** The value of @r's setting @key; "" where none is set. */
const char *mr_auto_value(const mr_auto_row *r, const char *key);

/** Has @r been tried, with a result that fits? */
bool mr_auto_is_done(const mr_auto_row *r);

/** The user's job with the settings of @r, checked. The caller calls mr_job_fini, also after an error. Errors:
 * MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_auto_job(const mr_auto_question *q, const mr_auto_row *r, mr_job *job) MR_MUST_USE;

/**
 * Train the first @n rows and the best of one worker with most threads, in turns, for bursts of at most MR_AUTO_STEPS
 * steps; correct the predictions of all candidates, once, by what passes of the stages took in these runs (of the same
 * micro-batches and teams, or the nearest) and by how much longer their steps were than these passes explain; train the
 * first @n by then, unless they were. A burst during which other programs took more than a tenth of the processors is
 * made again, up to five of a candidate, and the faster time counts. Where steps are short, so that a second is enough,
 * train others too, first those of systems that none was of. Train those that came within a tenth of the fastest again,
 * and sort by what was measured. Two runs on half of the cores each are trained at once, where they
 * are predicted to be worth it. A candidate that cannot be trained, or whose training diverges, is dropped. As long as
 * the first is stale, it and the best that flushes are trained for up to MR_AUTO_LOSS_STEPS steps, and steps to the
 * same loss count: its time is that to a loss. Errors: those of a training; MR_EDIVERGED where all candidates diverged;
 * MR_ECONFIG where the job's machine is not the one at hand.
 */
mr_status mr_auto_verify(const mr_auto_question *q, mr_auto *a, uint32_t n) MR_MUST_USE;
#define MR_AUTO_STEPS 20
#define MR_AUTO_LOSS_STEPS 300

/** Train rows @row [@n] side by side as mr_auto_verify does, and set what their steps took. Errors: those of a
 * training. */
mr_status mr_auto_measure(mr_auto *a, const uint32_t *row, uint32_t n) MR_MUST_USE;

/** Call @show with the forecast of the first row, with both of its halves. Errors: those of @show, and of a session. */
typedef mr_status mr_auto_show(void *arg, const mr_session *s, const mr_forecast *f);
mr_status mr_auto_look(const mr_auto *a, mr_auto_show *show, void *arg) MR_MUST_USE;

/** As a table: the choices of which none is better in everything, the gap to the bound, and two runs at once. Errors:
 * MR_EIO, MR_ERESOURCE. */
mr_status mr_auto_print(const mr_auto *a, FILE *out) MR_MUST_USE;

#endif
