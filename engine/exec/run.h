/*
 * run.h - one training run in memory: weights, links, workers. Shared by the parallel engine and the single-thread
 * replay, which differ only in which thread calls mr_exec_* (exec.h) and when.
 *
 * Worker w owns the stages that the plan places on it, in one pipe or several: their weights (or its pipe's shard of
 * them, or its node's copy), the slots and boundary buffers they consume, and a scratch area. All of that lies in one
 * region of memory per worker, on its node, laid out before the first step.
 */
#ifndef MR_EXEC_RUN_H
#define MR_EXEC_RUN_H

#include <pthread.h>

#include "host/memory.h"
#include "host/pause.h"
#include "host/place.h"
#include "host/spin.h"
#include "host/team_delay.h"
#include "ir/plan.h"
#include "ir/stage_ops.h"
#include "ir/trace.h"
#include "data/dataset.h"
#include "mitigate/mitigate.h"
#include "nn/optim.h"
#include "planner/graph.h"
#include "planner/partition.h"
#include "exec/acquired.h"
#include "weights/stage_weights.h"
#include "exec/counted.h"
#include "exec/feature.h"
#include "exec/links.h"
#include "link/ranks.h"
#include "weights/norms.h"

#define MR_STEP_RING 4096       /* step records: the caller may lag behind by this many */
#define MR_TRACE_RING (1u << 16) /* trace records a worker keeps */
#define MR_TRACE_BYTES (MR_TRACE_RING * sizeof(mr_trace_rec))

/* Over ranks. A rank keeps the losses of at least its last MR_RANK_STEPS steps until rank 0 has them; beside its
 * iteration no rank is so many steps ahead. MR_ELSEWHERE_BITS stands for a loss that another rank has: a NaN whose bits
 * no computation makes. */
#define MR_RANK_STEPS 64
#define MR_ELSEWHERE_BITS 0x7ff8e15e3e7e0001u

/* The messages that came to one rank, by the times of rank 0. */
typedef struct mr_rank_messages {
	mr_message_time *at; /* [n] owned */
	size_t n;
} mr_rank_messages;

/* The record of a step, written at its commit by the last stage. */
typedef struct mr_step_rec {
	uint64_t step;    /* commits so far: 1 after the first */
	double loss;      /* f64 mean over the step's micro-batches, in their order */
	double lr;
	double norm;      /* of the gradient before clipping, global; NAN when it was not computed (see norm_every) */
	double stage_norm; /* the same of the last stage alone, where the system has no global one; else NAN */
	uint64_t time_ns; /* mr_clock_ns at the commit */
} mr_step_rec;

/* Called on the worker's thread right after an instruction; for trajectories and tests. NULL: none. */
typedef void mr_run_observer(void *arg, const mr_run *run, const mr_instr *in, uint64_t micro, uint64_t version);

struct mr_run_config {
	const mr_graph *graph;
	const mr_partition *partition;
	const mr_plan *plan;         /* lowered and checked */
	const mr_kernels *kernels;
	const mr_dataset *data;
	const mr_optim *optim;
	const mr_lr *lr;
	const mr_mitigate *mitigate; /* against stale gradients; NULL: none. Plans that flush have none and ignore
	                                it */
	const mr_plan *steady; /* the plan from which mitigations and refreshes take ages if the order of @plan has none
				  (mitigated.h); NULL: @plan */
	const mr_place *place;       /* one entry a worker */
	bool skip_nonfinite;         /* a step whose gradient norm is not finite leaves the weights unchanged; else the
	                                run ends with an error */
	double clip;                 /* <= 0: none; global where the plan has N, else per stage */
	uint64_t seed;
	int64_t samples;             /* per micro-batch */
	uint64_t memory_limit;       /* of a profile: refuse to map more bytes; 0: no limit. Runs are checked before
	                                (session/memory_plan.h) */
	uint32_t n_loaders;          /* threads that make samples of a source that decodes files; 0 is 1 */
	uint32_t spin_us;            /* longest spin of a waiting worker before it sleeps (host/spin.h); UINT32_MAX: the
	                                default for its place */
	bool trace;                  /* keep trace records */
	bool counts;                 /* of the engine: count processor events for each stage and operation (counted.h);
	                                some system calls an instruction */
	uint64_t norm_every;         /* the interval in steps at which the gradient norm is recorded without clipping;
	                                0: never. It changes no bit of a weight */
	bool only_layout;            /* the run is made to be measured, and carries nothing out: no channels */
	bool measures;               /* find the largest gradient (mr_run_largest_gradient): one more pass over each
	                                */
	bool sums_apart;             /* AR writes the sums of gradients also where U could add them up as it steps: for
	                                measurements of both */
	uint64_t record_micro;       /* racing, or W placed on any worker: keep the order of this many micro-batches
	                                from the start (replay/record.h); 0: none */
	mr_shares *shares;     /* the shares of which this run is one (shares.h); NULL: workers are whole */
	uint32_t share;        /* which of them */
	const mr_ranks *ranks; /* over which the run is spread, the owners of its workers known; NULL: one process */
	const mr_link_kind *const *links; /* kinds of link to choose from, NULL after the last (channel.h); NULL: those
					     of link_kinds.def */
	const mr_own_loss *own_loss; /* in place of the model's; NULL: none. Borrowed */
	mr_run_observer *observer;
	void *observer_arg;
};

/* Over ranks, that of worker @w. */
static inline uint32_t mr_run_rank(const mr_run_config *c, uint16_t w)
{
	return c->ranks->of_worker[c->share * (uint32_t)c->plan->n_workers + w];
}

/* Does this process carry out the list of worker @w? */
static inline bool mr_run_is_here(const mr_run_config *c, uint16_t w)
{
	return !c->ranks || mr_run_rank(c, w) == c->ranks->self;
}

/* Threads that make samples: one, unless the source decodes files, and then can be asked for halves. */
static inline uint32_t mr_run_loaders(const mr_run_config *c)
{
	return c->data->bytes.reading && c->data->ops->halves && c->n_loaders > 1 ? c->n_loaders : 1;
}

typedef struct mr_worker_stats {
	uint64_t busy_ns[MR_N_OPS]; /* by op, without lost time */
	uint64_t count[MR_N_OPS];
	uint64_t wait_ns[MR_N_WAITS];
	uint64_t lost_ns;           /* in instructions: ready to run, and another program had the core */
	uint64_t lost_before_ns;    /* the same, in instructions and waits before the one at whose end it was found; it
	                               is still contained in their times */
} mr_worker_stats;

/* Times of an instruction in virtual time, and the waits of its worker before it: in place of the clock. */
typedef struct mr_stamp {
	uint64_t begin_ns, end_ns; /* since the start of the run */
	uint32_t wait_ns[MR_N_WAITS];
} mr_stamp;

/* A place in a worker's lists: the next instruction. */
typedef struct mr_cursor {
	uint8_t section; /* mr_section */
	uint32_t at;
	uint64_t n;      /* iteration of the body */
	uint64_t step;   /* pause points passed (ir/pause.h) */
} mr_cursor;

/* Room for a W of several micro-batches: [the largest span in the worker's lists]; NULL if none is above 1. */
typedef struct mr_span_room {
	mr_stage_io *io;
	mr_layer_call *call;
	mr_slot **slot;
} mr_span_room;

struct mr_worker {
	mr_parker parker;
	mr_waiter waiter;
	mr_team_delay delay;       /* of its threads; not opened if one thread does the work of several workers */
	mr_spin_interval spin_interval; /* of the leader */
	uint64_t spin_ns;          /* how long it spins on a quiet host */
	mr_run *run;
	uint16_t id;
	mr_kctx *kc;
	mr_region region;
	mr_node_list nodes;        /* where the region is planned to lie */
	bool elsewhere;            /* not on its own nodes, which have no room for it */
	uint8_t *scratch;
	size_t scratch_bytes;      /* including the needs of its merged W */
	mr_cursor train, eval;     /* its position in each; racing: in training only its pause point */
	uint32_t *pause_at;        /* [n_pauses] places in the prologue of training after which a pause point lies */
	uint32_t n_pauses;
	mr_span_room span;
	mr_shares_face shares;     /* n 0: the run is none of several shares */
	uint64_t met_ns;           /* waited for other shares in the current instruction */
	uint64_t met_bytes;        /* read of other shares for its layers so far */
	/* Of features, which other workers look up; NULL: the run does not have it. */
#define MR_OF_WORKER(type, name) type *name;
#include "exec/features.def"
	/* What each instruction changes. The atomics have one writer, and the caller reads them ten times a second. */
	_Alignas(64) uint64_t n_done; /* instructions so far (delays, watchdog) */
	_Atomic uint64_t beat;     /* n_done for the watchdog */
	_Atomic uint64_t doing;    /* mr_doing_pack or MR_DOING_NOTHING: the current instruction, for the watchdog */
	_Atomic uint64_t longest_ns; /* the longest instruction so far, for the watchdog */
	_Atomic uint64_t busy_ns;  /* computing so far, for the progress line */
	_Atomic uint64_t waited_ns[MR_N_WAITS]; /* of training so far, by cause: stats.wait_ns, and lost_ns with
	                                         MR_WAIT_DESCHEDULED, for other threads */
	_Atomic uint64_t begun;    /* pause points of training passed */
	mr_worker_stats stats;
	mr_trace_rec *trace;       /* ring [MR_TRACE_RING] or NULL */
	uint64_t n_trace;
	mr_counted *counted;       /* NULL: not requested */
	bool rewinds;              /* the cursor goes back to the beginning of the iteration */
	bool made;                 /* the current U was the last part of its commit */
	uint64_t snapshot_number;  /* of the last snapshot whose step it has passed */
	uint32_t n_late;           /* activations that it still copies for it */
	mr_acquired acquired;      /* for the current instruction */
	uint32_t wait_ns[MR_N_WAITS];
	bool waited;               /* wait_ns is not all 0 */
	uint64_t ready_ns;         /* end of its wait, which is the begin of the instruction; 0: it did not wait */
};

struct mr_run {
	mr_run_config c;
	const mr_feature *feature[MR_N_FEATURES + 1]; /* those of the run, NULL after the last */
	unsigned facts;              /* mr_feature_fact, of all of them */
	mr_hooks hooks;
	uint16_t n_stages, n_workers;
	uint16_t n_trained, last_trained; /* stages that commit versions, and the last of them, which records steps */
	uint8_t n_pipes;
	bool diverges;               /* each pipe has weights of its own */
	mr_stage **stage;            /* [n_stages] owned */
	uint32_t n_copies;           /* of all weights: one, diverging one a pipe; with MR_COPIES one for each set of
	                                workers that share memory */
	uint8_t *copy_of;            /* [n_pipes] the copy that each pipe reads and steps. Owned, with the next one */
	uint8_t *first_of;           /* [n_copies] the first pipe of each */
	mr_stage_weights *weights;   /* [n_copies][n_stages] */
	mr_shard *shard;             /* [n_stages][n_pipes] those of the weights */
	mr_worker *worker;           /* [n_workers] */
	/* Of features; NULL: the run does not have it. */
#define MR_OF_RUN(type, name) type *name;
#include "exec/features.def"
	bool remote;                 /* some link, or some range of weights, is between workers that share no memory */
	mr_run_norms *norms;         /* gradient norms, by which the run clips or that are requested */
	uint64_t *claimed;           /* [place->n_memories] bytes that regions take of each node */
	mr_parker **parkers;         /* [n_workers + 2 n_lanes]: the workers', the loaders' */
	uint32_t n_lanes;            /* threads of a loader that feed pipes: one a node on which pipes begin */
	uint8_t *lane_of;            /* [n_pipes] */
	mr_parker *loader_parker;    /* [2 n_lanes] of training, of evaluation */
	mr_snapshot *snapshot;       /* its states can be copied while it goes on (snapshot.h); NULL: only while it
	                                pauses. Owned */
	mr_links train, eval;
	mr_plan *eval_plan;          /* owned */
	mr_stop stop;
	pthread_mutex_t error_lock;  /* first error wins; never taken on the step path */
	mr_status error;
	char error_text[1024];
	bool resumed;                /* its first step came after a pause point other than the start */
	double *part_losses;         /* of a run over ranks: [rank_steps][need] those of the last steps, by step
	                                modulo (rank_losses.h). Else NULL */
	uint32_t rank_steps;
	mr_message_sum *between;     /* over ranks: [ranks][ranks] messages by sender, then receiver; rank 0: of all */
	mr_rank_messages *messages;  /* over ranks, traced, rank 0: [ranks] that came to each; times since start_ns */
	double *losses;              /* [n_losses] of the micro-batches under way, by micro-batch modulo; last stage's
	                                */
	uint32_t n_losses;           /* need + slots of the last stage: micro-batches of a step, and those of F ahead of
	                                its commit; stage replicas: of each of its parts */
	uint64_t link_bytes;         /* over ranks: sent between them in training so far; rank 0: by all of them */
	uint64_t base_bytes, before_bytes; /* resident before the workers' memory was mapped, and the peak until then */
	double *eval_loss;           /* [n_eval] of the evaluation's micro-batches; written by its last stage */
	mr_judging judging;          /* of the evaluation */
	uint64_t n_eval;             /* micro-batches of the whole validation data, the last one maybe partial */
	mr_step_rec step[MR_STEP_RING]; /* written by the worker that commits the last stage, one at a time */
	mr_parker listener; /* of the thread that takes the records (engine.c); asleep only where it waits for each */
	_Alignas(64) _Atomic uint64_t n_steps; /* step records written; on a line that workers do not read at each
	                                          instruction */
	_Alignas(64) uint64_t n_steps_read;    /* records read by the caller; likewise */
	mr_spin spin;                /* shared by all workers */
	_Alignas(64) _Atomic uint32_t n_commits; /* of all stages, counted while the run is traced */
	_Alignas(64) uint64_t start_ns;
	const mr_stamp *stamp;       /* times of the current instruction; NULL: the clock's. Only if one thread does all
	                                work */
};

/**
 * Build everything except threads, rings' contents and weights; memory is mapped but not touched. Borrows everything
 * that @c points to. Errors: MR_ERESOURCE; MR_ECONFIG the engine does not support something in the plan, which the
 * message names.
 */
mr_status mr_run_create(const mr_run_config *c, mr_run **out) MR_MUST_USE;
void mr_run_destroy(mr_run *run);

/** Worker @w's part of the start-up, on its own thread: touch its memory, kernel context, initial weights. */
mr_status mr_run_setup_worker(mr_run *run, uint16_t w) MR_MUST_USE;

/**
 * Carry out F of every stage of @w once, and each kind of B once (at most three: the first, a middle and the last of a
 * sum), on zeros, so that primitives exist and caches are as in a step. One worker at a time, all others
 * idle: it writes into its neighbours' buffers. The first micro-batch overwrites the gradients.
 */
mr_status mr_run_warm_up(mr_run *run, uint16_t w) MR_MUST_USE;

/** Undo mr_run_setup_worker on the same thread. */
void mr_run_finish_worker(mr_run *run, uint16_t w);

/** Return rings, cursors, events and counters to the beginning (version 0, or the version of restored weights). */
mr_status mr_run_reset(mr_run *run) MR_MUST_USE;

/**
 * After mr_run_reset: put all workers at pause point @step. Slots and boundary buffers that are in use there must
 * have been restored (their micro-batches follow from the plan; exec/state.h). Errors: those of making a window.
 */
mr_status mr_run_stand_at(mr_run *run, uint64_t step) MR_MUST_USE;

/** Over ranks, paused at @step: put the workers of other ranks where they stand there, so that the lists of
 * exec/state.h are whole. Errors: those of mr_run_stand_at. */
mr_status mr_run_mirror(mr_run *run, uint64_t step) MR_MUST_USE;

/** The version that F of @micro at @stage of @pipe reads, and whether it drops its activations. Errors: those of
 * finding it. */
mr_status mr_run_read(const mr_run *run, uint8_t pipe, uint16_t stage, uint64_t micro, uint64_t *version,
		      bool *drops) MR_MUST_USE;

/** Micro-batches whose F (or else last backward half) @stage of @pipe has done at its worker's position in training.
 * Paused. */
uint64_t mr_run_done(const mr_run *run, uint8_t pipe, uint16_t stage, bool forward);

/** The same of @stage of pipe 0 at pause point @step > 0 of a plan whose lists are its own. */
uint64_t mr_run_done_at(const mr_run *run, uint16_t stage, uint64_t step, bool forward);

/** Steps behind step @from average the weights, of an optimizer that does (nn/optim.h); 0: not yet. While paused. */
void mr_run_average_from(mr_run *run, uint64_t from);

/** After weights were restored into the memory that exec/state.h lists: update every private copy. Workers idle. */
void mr_run_spread(mr_run *run);

/**
 * Put the next step that was not returned yet, and whose norm is known if it gets one, into *@out; false: there is none
 * so far. While paused every norm is known. Thread: the caller's.
 */
bool mr_run_next_step(mr_run *run, mr_step_rec *out);

/**
 * Prepare the links of the evaluation for all validation data at the present version. Workers idle. *@until:
 * the number of iterations of its body. Errors: MR_EDATA there are no validation data.
 */
mr_status mr_run_begin_eval(mr_run *run, uint64_t *until) MR_MUST_USE;

/** Mean loss of the evaluation that has been carried out, micro-batches added in their order. */
double mr_run_eval_loss(const mr_run *run);

/** The evaluation's scores of class predictions. */
mr_scores mr_run_eval_scores(mr_run *run);

/** Over ranks: does rank 0 add up the norms of steps, of which @stage has a part? Else its norm, if any, is with the
 * record of the rank that has it. */
static inline bool mr_run_leaves_norm(const mr_run *run, uint16_t stage)
{
	const mr_run_norms *x = run->norms;

	if (!run->c.ranks || !x || !x->every || run->diverges)
		return false;
	return x->global ? mr_stage_has(run->c.plan, stage, MR_OP_U)
			 : stage == run->last_trained && run->weights[stage].apart;
}

/** The workers of the shards of @stage; and what wakes them. */
void mr_run_workers_of(const mr_run *run, uint16_t stage, uint16_t worker[UINT8_MAX + 1]);
void mr_run_parkers_of(const mr_run *run, uint16_t stage, mr_parker *parker[UINT8_MAX + 1]);

/* The weights that @stage of @pipe reads and steps; and the pipe's shard of them. */
static inline mr_stage_weights *mr_run_weights(const mr_run *run, uint8_t pipe, uint16_t stage)
{
	return &run->weights[(size_t)run->copy_of[pipe] * run->n_stages + stage];
}

static inline uint8_t mr_run_shard(const mr_run *run, uint8_t pipe, uint16_t stage)
{
	return run->diverges ? 0 : mr_plan_part(run->c.plan, stage, pipe);
}

/* Is @pipe the first of its part of @stage, and so the one that has the part's memory? With stage replicas several
 * pipes may share a part, and with whole steps a copy. */
static inline bool mr_run_leads(const mr_run *run, uint8_t pipe, uint16_t stage)
{
	if (run->facts & MR_COPIES)
		return run->first_of[run->copy_of[pipe]] == pipe;
	return pipe < mr_plan_partial_sums(run->c.plan, stage);
}

/* Versions of @stage after @step steps of the run. */
static inline uint64_t mr_run_version_at(const mr_run *run, uint16_t stage, uint64_t step)
{
	return mr_plan_applied_on(run->c.plan, stage, step * run->c.plan->contract.need);
}

/* Number of entries of run->weights: one of each copy of each stage. */
static inline uint32_t mr_run_n_weights(const mr_run *run)
{
	return run->n_stages * run->n_copies;
}

static inline uint64_t mr_doing_pack(uint8_t op, uint8_t pipe, uint16_t stage, uint64_t micro)
{
	return (uint64_t)op << 56 | (uint64_t)stage << 40 | (uint64_t)pipe << 32 | (uint32_t)micro;
}

#define MR_DOING_NOTHING ((uint64_t)MR_N_OPS << 56)

/** Record the first error of the run (the calling thread's text) and raise the stop flag. Any thread. */
void mr_run_fail(mr_run *run, mr_status code);

/** Bytes by purpose, for the start table and the memory plan. Memory that all pipes share counts in pipe 0, and the
 * scratch area of a worker at the first stage that it has. */
struct mr_run_memory {
	uint64_t weights; /* with the states of layers and the values that they carry */
	uint64_t stashes; /* version buffers beyond one, predicted weights, and the shared memory of replicas */
	uint64_t grads; /* with the values that micro-batches of a commit have seen for states */
	uint64_t optimizer, activations, boundaries, scratch;
};
void mr_run_memory_of_stage(const mr_run *run, uint8_t pipe, uint16_t stage, mr_run_memory *out);

/** Fill @out [MR_STALENESS_BINS] with the number of gradients of @stage of each age in versions, over all pipes. */
void mr_run_staleness(const mr_run *run, uint16_t stage, uint64_t *out);

/**
 * The largest norm of one parameter's gradient, as used by a commit (mean over its micro-batches, before
 * clipping), since the start or the restore; 0 without c.measures. In a model of the theory a parameter is a block of
 * coordinates, so this is the bound on block gradients in its convergence theorem. Paused.
 */
double mr_run_largest_gradient(const mr_run *run);

/**
 * If several pipes step a stage in ranges, its optimizer state lies in one piece in the memory of pipe 0's worker: bind
 * the whole pages of each range to the node of the worker that steps it. Call it after mapping and before touching.
 */
void mr_run_spread_states(mr_run *run);

/** Have two workers memory on the same nodes? And the place of the worker of shard @i of @stage. */
bool mr_run_together(const mr_place_worker *a, const mr_place_worker *b);
const mr_place_worker *mr_run_place_of(const mr_run *run, uint32_t i, uint16_t stage);

/** Find the copies of the weights, when features are found. Errors: MR_ERESOURCE; MR_ECONFIG copies are for whole
 * pipes, and some pipe is on workers that share no memory. */
mr_status mr_run_choose_copies(mr_run *run) MR_MUST_USE;

/** Give the weights of stages that several workers read, and what features have like them, a copy on each of their
 * nodes. Call it before laying out, when links are chosen. Errors: MR_ERESOURCE. */
mr_status mr_run_choose_homes(mr_run *run) MR_MUST_USE;

/** Find the loader's lanes: pipes whose first workers have their memory on the same nodes share one. Errors:
 * MR_ERESOURCE. */
mr_status mr_run_choose_lanes(mr_run *run) MR_MUST_USE;

/** What wakes the loader of @pipe. */
static inline mr_parker *mr_run_loader_parker(const mr_run *run, uint8_t pipe, bool train)
{
	return &run->loader_parker[(train ? 0 : run->n_lanes) + run->lane_of[pipe]];
}

/** Sum of the mapped regions. */
uint64_t mr_run_mapped_bytes(const mr_run *run);

#endif
