/*
 * session.h - makes a trainer of a job (job/job.h): data, model, cut, plan, place and executor, in that
 * order.
 *
 * Everything that a command needs of a run is here; the commands only decide what to do with it. A session is built in
 * two steps: mr_session_open looks at the data, makes the plan, checks the memory and loads the data;
 * mr_session_start makes the executor.
 */
#ifndef MR_SESSION_SESSION_H
#define MR_SESSION_SESSION_H

#include "base/str.h"
#include "ir/sched.h"
#include "job/job.h"
#include "nn/choices.h"
#include "host/place.h"
#include "host/topo.h"
#include "planner/partition.h"
#include "session/executor.h"
#include "stage/flops_by.h"

struct mr_costs;
struct mr_host_map;
struct mr_measured_machine;
struct mr_objective_report;
struct mr_workload;

/* One share of a session's workers (shares.h). */
typedef struct mr_session_share_of {
	mr_graph *graph; /* owned */
	mr_place place;  /* its workers are those of the session's */
} mr_session_share_of;

/* What an optimizer that averages the weights waits for, and has seen. */
typedef struct mr_average_trigger {
	uint64_t noted;              /* step of the last loss; 0: none */
	double last[MR_OPTIM_MOST_WAIT]; /* [n] the last losses, the oldest first */
	uint32_t n;
	bool has_least;
	double least;                /* with has_least: of all losses before these */
} mr_average_trigger;

typedef struct mr_session {
	const mr_job *job;     /* borrowed */
	const char *plan_path;       /* the plan comes from this file (plan_file.h); NULL: from the system. Borrowed */
	mr_ranks *ranks;             /* over which the training is spread; NULL: one process. Borrowed */
	bool is_record;              /* that file is the record of a run, which is carried out unchanged */
	const char *alphabet;        /* the characters of a trained model (data/dataset.h), for reading text; NULL: the
	                                text's own. Borrowed */
	bool without_text;           /* no text is read: the data have `alphabet` and no samples, and there is no
	                                plan */
	const mr_kernels *kernels;   /* `own_kernels` */
	mr_kernels own_kernels;
	mr_choices *choices;         /* of that table; NULL: none is named. Owned */
	mr_dataset *data;
	mr_dataset *shapes;          /* the shapes of a trained model's data, whose samples come from elsewhere: the
	                                data have none, and there is no plan. NULL: not so. Borrowed */
	char *form;                  /* mr_dataset_form of the data, from load on; NULL: they have none. Owned */
	mr_status no_data;           /* over ranks: why this one has not opened the data; MR_OK: it has */
	char *no_data_text;          /* its message. Owned */
	char *data_notices;          /* lines to be said if it reads; NULL: none. Owned */
	uint64_t values_hash;        /* over ranks: of the configuration's values, for comparing; else 0 */
	const char *resolved;        /* the configuration with all values, for checkpoints; NULL: none. Borrowed */
	const struct mr_session *beside; /* the data are those of this session; NULL: its own */
	mr_graph *graph;             /* of the model; of several shares, that of the first */
	mr_graph *whole;             /* of several shares: of the model. Owned */
	uint32_t n_shares;           /* of each worker; 0: workers are whole */
	mr_session_share_of *share;  /* [n_shares] owned */
	char *network;               /* network_text.h; NULL: nobody has asked for it. Owned */
	mr_partition partition;
	uint8_t *frozen;             /* [stages] mr_frozen of each; NULL: train.frozen names no layer */
	bool *merges;                /* [stages] whose weight gradients come late and together (merges.h); NULL: none */
	mr_plan *plan;               /* NULL: there is no text */
	mr_plan *steady; /* lowered: the system's own order, if @plan is the record of another and mitigations use
			    ages; else NULL */
	uint64_t plan_hash;          /* its identity (planner/make_plan.h) */
	uint64_t file_hash;          /* of a plan from a file: what `check` calls it; another than plan_hash if the
	                                training adds terms to its contract. Else 0 */
	uint64_t n_tries;            /* of a plan found within a time limit: the value of the system's tries_option
	                                that reproduces it (ir/sched.h); 0: there was no limit */
	mr_sched_proof proof;        /* of its order; bound 0: its system proves nothing */
	uint32_t n_micro;            /* micro-batches a step */
	int64_t samples;             /* per micro-batch */
	mr_optim optim;
	mr_average_trigger average;  /* average_trigger.h: of an optimizer that averages the weights */
	mr_mitigate mitigate;        /* as configured; applied if mr_session_is_mitigated */
	mr_lr lr;
	struct mr_costs *costs;      /* costs.h: of the file in the configuration; NULL: it names none. Owned */
	struct mr_host_map *hosts;   /* host_map.h: over which a planned training is spread; NULL: one. Owned */
	mr_topo topo;                /* of this machine, or the one that machine.topology describes */
	mr_place place;
	mr_executor executor;        /* after mr_session_start */
	mr_flops_by flops;           /* of its plan, if its memory was planned */
	const struct mr_measured_machine *measured; /* measured_machine.h: constants for the cost model of a machine
	                                               that is at hand; NULL: nominal ones. Borrowed */
	uint64_t program_bytes;      /* memory_plan.h: resident when the session was open, and before plans were looked
	                                for */
	uint64_t workers_limit;      /* most bytes that the workers may map; 0: only the process has a limit */
	struct mr_objective_report *known;      /* objective_report.h: of an objective of the theory, if it was
	                                           requested; else NULL. Owned */
	int rank_parts;              /* over ranks: who writes checkpoints (checkpoint/rank_parts.h); else 0 */
	uint64_t copy_bytes;         /* memory for a copy of the state, from which checkpoints are written while the
	                                training goes on; 0: they are written in the foreground */
	uint64_t planned_bytes;      /* of the process (memory_plan.h) */
	uint64_t more_bytes;         /* and added since (mr_memory_more_fits) */
	uint64_t late_bytes;         /* MR_MEMORY_THREADS as planned; 0: nothing was planned */
	uint64_t working_bytes;      /* that come and go: decoding of samples, evaluation, buffers of checkpoints */
	bool limits_reading;         /* files are judged by this session's limit (base/room.h) */
} mr_session;

typedef struct mr_session_opts {
	bool trace;                  /* keep trace records */
	bool counts;                 /* count processor events (exec/counted.h) */
	uint64_t record_micro;       /* racing: keep the order of this many micro-batches; 0: none */
	const mr_own_loss *own_loss; /* see exec/run.h */
	mr_run_observer *observer;   /* see exec/run.h */
	void *observer_arg;
	mr_replay_source *source;    /* carry the plan out on one thread, in this order and with its times; NULL: the
	                                engine */
	void *source_arg;
	const mr_replay_clock *clock; /* likewise, in the order of this clock; NULL: none */
} mr_session_opts;

/* The whole model: what is saved, and what one network alone computes. */
static inline const mr_graph *mr_session_model(const mr_session *s)
{
	return s->whole ? s->whole : s->graph;
}

/**
 * Open a session of @job. If the configuration names a file of costs, the plan is made for them: the system orders by
 * them, and the lowering chooses boundary buffers for them. Memory is checked (memory_plan.h) before samples are read.
 * A system whose order follows from costs gets nominal ones without a file, and a system that chooses among plans
 * (search) gets a judge. Errors: MR_EDATA, MR_ECONFIG, MR_ERESOURCE, each with a message. *@s is zero
 * afterwards on error.
 */
mr_status mr_session_open(const mr_job *job, mr_session *s) MR_MUST_USE;

/** The same, but with the plan in the file @path instead of the system's: it must have the same workers and
 * micro-batches a step. A lowered plan is carried out as it stands, and its contract must agree with the
 * configuration. An order without versions and steps (JSON) is lowered, and the terms of the training are added to its
 * contract. Errors: also MR_ECONFIG with the file's name. */
mr_status mr_session_open_plan(const mr_job *job, const char *path, mr_session *s) MR_MUST_USE;

/** The same with the record of a run, which is carried out unchanged. */
mr_status mr_session_open_record(const mr_job *job, const char *path, mr_session *s) MR_MUST_USE;

/** The same with the data of @other, which must stay open that long: for another system on the same model and data.
 * Costs are those of @other, scaled to the size of a micro-batch; program_bytes, workers_limit and measured are those
 * of @other.
 */
mr_status mr_session_open_beside(const mr_job *job, const mr_session *other, mr_session *s) MR_MUST_USE;

/** The same, of a training over @ranks, all of which call it. @plan: a file as for the two above, the second if
 * @is_record; NULL: the system's own plan. @values_hash: of the configuration's values. Errors: also those of
 * mr_ranks_own. */
mr_status mr_session_open_ranks(const mr_job *job, mr_ranks *ranks, uint64_t values_hash, const char *plan,
				bool is_record, mr_session *s) MR_MUST_USE;

/** The same for a trained model with the characters @alphabet (NULL: those of the text), trained by the plan in the
 * file @plan (NULL: the system's own); without the text and a plan when @without_text, which is enough for
 * mr_sample_write. Errors: also MR_EDATA when the text has other characters. */
mr_status mr_session_open_trained(const mr_job *job, const char *alphabet, const char *plan, bool without_text,
				  mr_session *s) MR_MUST_USE;

/** The same for a trained model whose data are known by their shapes alone, @shapes, which must stay that long: without
 * a plan. It is enough for mr_logits_create. */
mr_status mr_session_open_shapes(const mr_job *job, mr_dataset *shapes, mr_session *s) MR_MUST_USE;

/** Are gradients of the run stale, and is a mitigation other than "none" applied to them? */
bool mr_session_is_mitigated(const mr_session *s);

/** Does the order of the open session @s allow mitigation @m? m->ops->suits decides whether the optimizer
 * does. */
bool mr_session_takes(const mr_session *s, const mr_mitigate *m);

/** Threads, memory, initial weights. @opts may be NULL. */
mr_status mr_session_start(mr_session *s, const mr_session_opts *opts) MR_MUST_USE;

/** The configuration that mr_session_start would use: for replays. */
mr_run_config mr_session_run_config(const mr_session *s, const mr_session_opts *opts);

/** What the costs of @s are of (workload.h). It borrows from @s, which may be without a plan. */
struct mr_workload mr_session_workload(const mr_session *s);

/** Threads of a loader, where the data decode files. */
uint32_t mr_session_loaders(const mr_session *s);

/** What is read from now on is planned: files are no longer judged by the limit of @s (base/room.h). Closing does this,
 * too. */
void mr_session_ends_reading(mr_session *s);

void mr_session_close(mr_session *s);

/**
 * mr_session_open without checking memory and loading the data: shapes, cut, plan and place are there, samples
 * are not. For commands that show a plan, and mr_session_open_beside. mr_session_load then loads the data, once.
 */
mr_status mr_session_survey(const mr_job *job, mr_session *s) MR_MUST_USE;
mr_status mr_session_load(mr_session *s) MR_MUST_USE;

/** Bytes that the whole process is predicted to need at its peak. After start, while paused. */
uint64_t mr_session_predicted_bytes(const mr_session *s);

/** Tokens a sample has (context length), or 0 when samples are not text. */
int64_t mr_session_tokens_per_sample(const mr_session *s);

/** Is the exponential of the loss a perplexity: is the loss minus the mean logarithm of a token's probability? */
bool mr_session_has_perplexity(const mr_session *s);

#endif
