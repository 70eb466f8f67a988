/*
 * sched.h - the interface of the files in schedules/, through which a pipeline system emits its instructions.
 *
 * A system is one file that fills one mr_sched_ops and one line in schedules/schedules.def. Its emit() states the
 * contract, places the stages and appends compute instructions (F, B, I, W, R), worker by worker in the order in which
 * that worker carries them out. It adds no optimizer step, version, slot or transfer: the lowering adds them, alike for
 * all systems.
 *
 * Call order, all on the caller's thread: check (may be NULL) -> emit. emit may fail with MR_ECONFIG and a message
 * when D, T or an option does not suit the system (such as an odd D for a bidirectional one).
 */
#ifndef MR_IR_SCHED_H
#define MR_IR_SCHED_H

#include "base/option.h"
#include "base/str.h"
#include "ir/cost.h"
#include "ir/plan.h"

/* Forecast of a run of a plan. */
typedef struct mr_sched_verdict {
	double step;     /* time of a step */
	double makespan; /* time of one iteration by itself */
	double period;   /* time from one iteration to the next without a barrier; NAN: the run has one */
	uint64_t bytes;  /* memory */
	bool fits;       /* the memory at hand suffices */
} mr_sched_verdict;

/* Judges plans for the model, the machine and the costs at hand, for systems that choose among plans. */
typedef struct mr_sched_judge {
	/* Can the model be cut into @n_stages? */
	bool (*cuts)(void *arg, uint32_t n_stages);
	/* Fill @out [plan->n_stages] with the costs of the stages of @plan on the workers where it places them. */
	mr_status (*costs)(void *arg, const mr_plan *plan, mr_stage_cost *out);
	/* Forecast a run of @plan, which is not lowered. MR_ECONFIG: it cannot run. */
	mr_status (*look)(void *arg, const mr_plan *plan, mr_sched_verdict *out);
	bool barrier;            /* the run has a barrier at the end of an iteration */
	bool bare;               /* there is no model: only look is there, by the costs of the arguments, and all fit */
	void *arg;
} mr_sched_judge;

/* How much shorter an order of the same stages on the same workers could be. */
typedef struct mr_sched_proof {
	double makespan; /* of the passes of an iteration in the order taken, with boundary buffers without limit */
	double bound;    /* no order has less; 0: nothing is known */
	uint64_t nodes;  /* of the proof: the measure of its work */
} mr_sched_proof;

typedef struct mr_sched_args {
	uint16_t n_workers;       /* D >= 1 */
	uint16_t chunks;          /* v: stages of one pipe that a worker hosts; 0: the system's option or default. In
	                             emit and claims it is never 0, except for a system that chooses it itself */
	uint32_t n_micro;         /* T >= 1: micro-batches an iteration (synchronous), a commit (asynchronous and
	                             accumulates), or of the finite list (asynchronous otherwise) */
	uint32_t n_commits;       /* finite list of a system that accumulates: how many commits of T micro-batches it
	                             has; 0: 4. In emit and claims it is never 0 */
	bool finite;              /* asynchronous systems: emit a finite list as a prologue, drain included;
	                             otherwise prologue and endless body */
	uint64_t n_steps;         /* commits that the run will make, for systems that do not repeat; 0: unknown */
	uint32_t window;          /* steps of a window, for such systems; 0: the system's choice. No result depends
	                             on it */
	uint32_t n_apart;         /* layers of the kind `apart` of the system in the model; 0: none, or unknown */
	uint16_t buckets;         /* stages into which the whole model may be cut where the user leaves it open; 0: 1 */
	const uint16_t *host;     /* [n_workers] the host of each, by which no result but that of a system that says so
	                             changes; NULL: not known, or one. Borrowed */
	bool spread;              /* some workers share no memory: gradients go out while more are computed */
	uint32_t n_batches;       /* minibatches in the data, for systems that draw them; 0: unknown */
	const mr_values *options; /* values of the system's own table; never NULL when the table is not */
	const mr_cost *costs;     /* for systems whose order follows from costs: a row for each stage, or one row with
	                             a worker's whole share, which then holds for all; NULL: f = i = w = 1, c = 0 for a
	                             whole share. Borrowed */
	const mr_sched_judge *judge; /* for a system that chooses among plans, in place of costs; NULL: there are only
	                                costs. Borrowed */
	double (*now)(void);      /* a clock in seconds, with any origin, for a system whose search has a time limit;
	                             NULL: the limit is reached at once */
	mr_sched_proof *proof;    /* where a system stores what it proves of its order, if it proves anything; NULL: not
	                             wanted */
	uint64_t *n_tries;        /* such a system stores here the value of its tries_option that gives the same plan;
	                             NULL: not wanted */
} mr_sched_args;

/*
 * Promises of the system, which the law tests check over D, T, v and several costs. Only exact values are claimed: a
 * system claims a formula that has a condition under that condition alone.
 */
typedef struct mr_sched_claims {
	double bubble_time;        /* makespan - busy of the busiest worker, for the given costs; < 0: no claim */
	double bubble_period;      /* period - busy of the busiest worker, likewise; < 0: no claim */
	double peak_first;         /* most activations that worker 0 keeps at once, in micro-batches of its whole share
	                              (a chunk counts 1/v, until W); < 0: no claim */
	double peak_last;          /* the same of worker D-1; < 0: no claim */
	uint32_t peak_slots_first; /* slots of (pipe 0) stage 0 and of the last stage; 0: no claim */
	uint32_t peak_slots_last;
	uint32_t versions_first;   /* version buffers of stage 0 and of the last stage; 1 on entry; 0: no claim */
	uint32_t versions_last;
} mr_sched_claims;

typedef struct mr_sched_ops {
	const char *name;           /* as users write it */
	const char *alias;          /* another published name of the same system, which users may write too; NULL: none
	                               */
	const char *summary;        /* one line for `list systems` */
	const char *source;         /* paper and section */
	const mr_option *options;   /* NULL: none */
	const mr_option_need *needs; /* options that have an effect only beside another one; NULL: none */
	uint16_t workers;           /* the only number of workers that it takes; 0: any */
	uint16_t chunks;            /* stages of one pipe a worker hosts; 0 counts as 1. A system whose users choose has
	                               an option `chunks` instead (MR_SCHED_CHUNKS), or chunks_of where another option
	                               decides */
	uint16_t (*chunks_of)(const mr_values *options); /* NULL: as above */
	bool (*by_costs)(const mr_values *options); /* the order follows from the costs, while the results do not: the
	                                               system gets nominal costs where none were measured. NULL: no */
	bool judged;                /* it chooses among plans with args->judge */
	bool asynchronous;          /* commits without flushing; one micro-batch a commit unless `accumulates` or
	                               `step_micro` says otherwise */
	bool ends;                  /* asynchronous: its lists never repeat; unless they are finite the plan is endless
	                               (ir/endless.h) */
	const char *time_budget_option; /* name of the option that limits its search in seconds, 0: no limit; NULL: it
	                                   has none */
	const char *in_flight_option; /* name of the option that says how many micro-batches are under way at stage 0,
	                                 0: the system's own number; NULL: users do not choose */
	const char *tries_option;   /* name of the option that repeats a timed search by its number of tries; NULL: it
	                               has none */
	bool replicates;            /* trains several models, which diverge: it equals no sequential run, and a run
	                               pauses only at averages */
	bool accumulates;           /* sums T micro-batches a commit */
	uint32_t (*default_micro)(uint16_t n_workers); /* micro-batches a commit when the user names none */
	/* Asynchronous systems that do not accumulate: micro-batches of a step of the run; the lists hold a multiple of
	 * it. @values may be invalid. NULL: 1. */
	uint32_t (*step_micro)(const mr_values *values);
	const char *apart;          /* kind of layer that is a stage by itself: a model with n of them is cut around
	                               each if emit() makes 2 n + 1 stages; NULL: the model is cut evenly */
	/* The number of stages that emit() will make, and so of parts into which the model is cut. NULL: chunks *
	 * workers; a result of 0: it is known only after emit(). */
	uint32_t (*stages)(const mr_sched_args *args);
	mr_status (*emit)(const mr_sched_args *args, mr_plan **out);
	/* For costs @f, @i, @w of a worker's whole share; @out is "no claim" on entry but for the versions. May be
	 * NULL. */
	void (*claims)(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out);
} mr_sched_ops;

/** A default_micro that many systems have: two micro-batches a worker. */
uint32_t mr_sched_two_a_worker(uint16_t n_workers);

/* The row of a system's option table that lets its users choose the number of chunks, @def by default. */
#define MR_SCHED_CHUNKS(def) \
	{"chunks", MR_OPT_INT, def, 1, 1024, NULL, NULL, "stages that a worker hosts"}

/* The row of a system's option table that lets users place the W of each worker's tail on any worker. The lists stay
 * the same: such a system ends its emit() with mr_sched_finish_steal, which puts the option into the contract. */
#define MR_SCHED_STEAL \
	{ \
		"steal", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, \
			"a worker that waits at the end of an iteration, which gets a barrier, takes weight " \
			"gradients of the one with most left" \
	}

/**
 * Make an empty plan called @name for the workers of @args, with @n_stages stages in each of @n_pipes pipes. No stage
 * has a worker yet. @per_micro: an upper bound of the instructions for a micro-batch and stage.
 * Errors: MR_ECONFIG for more than a plan may hold.
 */
mr_status mr_sched_create(const mr_sched_args *args, const char *name, uint32_t n_stages, uint32_t n_pipes,
			  uint32_t per_micro, mr_plan **out) MR_MUST_USE;

/** Give @plan the header of a synchronous system: one commit of @n_micro micro-batches, all on one version, then a
 * barrier. */
void mr_sched_flushes(mr_plan *plan, uint32_t n_micro, mr_sum_order sum);

/**
 * Give @plan the header of replicas, a pipe each: @n_micro micro-batches a round over all of them. Each replica commits
 * its share by itself, and @average follows every average->every rounds, at the end of an iteration.
 * Errors: MR_ECONFIG for a share that is not even, or more than a plan may hold.
 */
mr_status mr_sched_replicates(mr_plan *plan, uint32_t n_micro, const mr_average *average) MR_MUST_USE;

/** The end of emit(): if @filled is MR_OK, passes @plan to the caller as *@out, else destroys it. Returns @filled. */
mr_status mr_sched_finish(mr_plan *plan, mr_status filled, mr_plan **out) MR_MUST_USE;

/** The same for a system that has MR_SCHED_STEAL. If @args request stealing, the contract of @plan gets it, and a
 * barrier. Errors: also MR_ECONFIG for steps that are validated, and if no W is apart from its backward. */
mr_status mr_sched_finish_steal(const mr_sched_args *args, mr_plan *plan, mr_status filled, mr_plan **out) MR_MUST_USE;

/**
 * Fill @out [@n_stages] with the costs of each stage from @args; each worker hosts @n_stages / D stages of a pipe.
 * Errors: MR_ECONFIG for a table that has several rows, but not @n_stages.
 */
mr_status mr_sched_costs(const mr_sched_args *args, uint16_t n_stages, mr_stage_cost *out) MR_MUST_USE;

/**
 * Set the horizons (plan.h, mr_predict) of F and of R, B and I at each stage, [n_stages]; call it after all
 * instructions are emitted. The contract must already state the direction and the unit. Instructions of a synchronous
 * start get none.
 */
void mr_sched_aim(mr_plan *plan, const int32_t *forward, const int32_t *backward);

/** Append one compute instruction to @worker's list in @section. */
mr_status mr_sched_emit(mr_plan *plan, uint16_t worker, mr_section section, mr_op op, uint32_t micro, uint16_t stage,
			uint8_t pipe) MR_MUST_USE;

/** The same for @span consecutive micro-batches from @micro on (only a W may have more than one). */
mr_status mr_sched_emit_span(mr_plan *plan, uint16_t worker, mr_section section, mr_op op, uint32_t micro,
			     uint32_t span, uint16_t stage, uint8_t pipe) MR_MUST_USE;

#endif
