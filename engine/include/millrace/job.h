/*
 * millrace/job.h - what to train, as a plain struct.
 *
 * A job names a model, data, an optimizer, a mitigation and a system, each a plug-in with the values of its own table
 * of options, and holds everything else as typed fields. `millrace list KIND NAME` and conf/reference.cfg describe each
 * under the same name.
 *
 *	mr_job job;
 *
 *	MR_TRY(mr_job_init(&job));
 *	MR_TRY(mr_job_choose(&job, MR_JOB_MODEL, "mlp"));
 *	MR_TRY(mr_job_set(&job, "model.hidden", "[32, 32]"));
 *	MR_TRY(mr_job_choose(&job, MR_JOB_OPTIMIZER, "adamw"));
 *	MR_TRY(mr_job_set(&job, "optimizer.lr", "0.01"));
 *	...
 *	job.train.steps = 1000;
 *	MR_TRY(mr_job_check(&job));
 *	...
 *	mr_job_fini(&job);
 *
 * An argument that is NULL, or a group without plug-ins, is refused with MR_EINVAL and a sentence.
 *
 * mr_job_load makes one of a configuration file. Strings that are assigned to fields are borrowed: they must stay until
 * mr_job_fini. Values of plug-ins belong to the
 * job. One thread fills and checks a job; after that any thread may read it.
 */
#ifndef MILLRACE_JOB_H
#define MILLRACE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "millrace/status.h"

typedef struct mr_values mr_values; /* one value for each entry of a plug-in's table */

/* The type of a tensor's numbers. */
typedef enum mr_job_dtype {
	MR_JOB_F32,
	MR_JOB_F64,
	MR_JOB_BF16
} mr_job_dtype;

typedef enum mr_job_precision {
	MR_PRECISION_F32,
	MR_PRECISION_F64,
	MR_PRECISION_BF16, /* weights and activations in bf16; gradients, optimizer state and masters in f32 */
	MR_PRECISION_BF16_PURE /* all of that in bf16, without masters: steps round stochastically */
} mr_job_precision;

typedef enum mr_job_lr_kind {
	MR_JOB_CONSTANT,
	MR_JOB_COSINE,
	MR_JOB_LINEAR,
	MR_JOB_STEP,
	MR_JOB_ONE_CYCLE,
	MR_JOB_INVERSE_SQRT,
	MR_JOB_WSD
} mr_job_lr_kind;

typedef enum mr_job_curve { MR_JOB_COOL_LINEAR, MR_JOB_COOL_COSINE, MR_JOB_COOL_SQRT } mr_job_curve;

typedef enum mr_job_group {
	MR_JOB_TOP,       /* keys outside any group */
	MR_JOB_MODEL,     /* these five hold `name` and the keys of the plug-in of that name */
	MR_JOB_DATA,
	MR_JOB_OPTIMIZER,
	MR_JOB_MITIGATION,
	MR_JOB_SYSTEM,
	MR_JOB_LR_SCHEDULE,
	MR_JOB_TRAIN,
	MR_JOB_RUN,
	MR_JOB_MACHINE,
	MR_JOB_CHECKPOINT,
	MR_JOB_TRACE,
	MR_JOB_SAMPLE,
	MR_N_JOB_GROUPS
} mr_job_group;

/* The plug-in of a group with its values. */
typedef struct mr_job_plugin {
	const char *name;  /* NULL: none */
	mr_values *values; /* by the plug-in's table; owned */
} mr_job_plugin;

typedef enum mr_nonfinite {
	MR_NONFINITE_STOP, /* a step whose gradient norm is not finite ends the run */
	MR_NONFINITE_SKIP, /* such a step leaves the weights unchanged */
} mr_nonfinite;

/* Weight gradients. */
typedef enum mr_gradients {
	MR_GRADIENTS_AUTO,   /* merged, if memory suffices, for stages that gain by it */
	MR_GRADIENTS_EACH,   /* where the system puts them */
	MR_GRADIENTS_MERGED, /* where systems flush, those of a step's micro-batches come last and together */
} mr_gradients;

/* The learning rate itself is the optimizer's "lr". */
typedef struct mr_job_lr_schedule {
	int64_t name;         /* mr_job_lr_kind */
	int64_t warmup;       /* commits */
	double min_ratio;
	const char *milestones; /* of MR_JOB_STEP: "30000 60000" */
	int64_t step_every;   /* of MR_JOB_STEP: commits; 0: milestones alone */
	double gamma;         /* of MR_JOB_STEP */
	double start_ratio;   /* of MR_JOB_ONE_CYCLE */
	int64_t cooldown;     /* of MR_JOB_WSD: commits; 0: a tenth of all */
	int64_t cooldown_curve; /* mr_job_curve */
} mr_job_lr_schedule;

typedef struct mr_job_train {
	int64_t steps;        /* commits */
	int64_t batch;        /* samples a commit */
	int64_t microbatches; /* a commit; 0: the system's default */
	double clip;          /* largest norm of a gradient; 0: none */
	int64_t nonfinite;    /* mr_nonfinite */
	int64_t norm_every;   /* commits; 0: no norm without clip */
	int64_t gradients;    /* mr_gradients */
	const char *frozen;   /* layers and blocks whose weights stay as they are: "embed,h.*"; "": none */
	const char *class_weights; /* "balanced", or a weight for each class: "1,5"; "": all samples count alike */
	bool untie;           /* parameters that the system cannot share between stages become several */
	int64_t seed;
	int64_t eval_every;   /* commits; 0: only at the end */
	bool eval_at_end;     /* also behind the last commit */
	int64_t patience;     /* evaluations without a better one behind which the training ends; 0: it does not */
} mr_job_train;

typedef enum mr_job_teams {
	MR_TEAMS_EQUAL, /* as many cores for each worker */
	MR_TEAMS_UNEVEN /* all cores of each node, shared out among its workers */
} mr_job_teams;

typedef struct mr_job_machine {
	int64_t workers;      /* 0: as many as the partition's stages need, else 2; sequential always has one */
	int64_t shares;       /* of each worker (tensor parallelism), each with its threads; 1: workers are whole */
	bool sequence_parallel; /* shares have parts of the positions where they have no parts of the columns */
	int64_t threads;      /* a worker; 0: by teams; uneven teams: the most of one */
	int64_t teams;        /* mr_job_teams */
	const char *cpus;     /* "0-3 4-7"; "": chosen from the topology */
	const char *ranks;    /* of several processes: "0 0 1", which has each worker; "": equal stretches */
	int64_t hosts;        /* of plans: over which the ranks are spread; 0: as ranks or costs say */
	const char *links;    /* of plans: "5e-5,1.25e8", what a message between hosts takes; "": as costs say */
	const char *topology; /* "numa:4 core:16", "genoa9654"; "": the machine at hand */
	int64_t loaders;      /* threads that make samples, where data decode files; 0: as many as cores are left */
	int64_t spin_us;      /* -1: by place */
	int64_t memory_limit; /* bytes; 0: the machine's memory */
	double watchdog;      /* seconds; 0: none, -1: derived from the longest operation */
	double peak_gflops;   /* of a core; 0: measured */
	const char *choices;  /* file by which backend auto chooses; "": the library's own table */
} mr_job_machine;

typedef enum mr_hung_save {
	MR_HUNG_END, /* a checkpoint whose write hangs ends the run */
	MR_HUNG_SKIP /* the run goes on and skips checkpoints until that write returns */
} mr_hung_save;

typedef enum mr_save_parts {
	MR_PARTS_AUTO,   /* over ranks: shared or local, as ranks see the folder of rank 0 or not */
	MR_PARTS_SHARED, /* all ranks write into the same files */
	MR_PARTS_LOCAL,  /* each rank writes its own parts into its own folder */
	MR_PARTS_RANK0   /* rank 0 writes */
} mr_save_parts;

typedef struct mr_job_checkpoint {
	int64_t every; /* commits; 0: only at the end and on signals */
	int64_t keep;
	int64_t keep_every; /* a multiple of `every`: checkpoints of these steps are never deleted; 0: none */
	bool at_end;        /* also behind the last commit */
	int64_t hung;       /* mr_hung_save */
	int64_t parts;      /* mr_save_parts */
} mr_job_checkpoint;

typedef struct mr_job_trace {
	const char *steps;    /* "100-120"; "": none */
	uint64_t first, last; /* set by mr_job_check; both 0: none */
} mr_job_trace;

typedef struct mr_job_sample {
	int64_t tokens;
	double temperature;
	int64_t top_k;
	double top_p;
	const char *prompt;
} mr_job_sample;

/* The places at which values of a job were written, for readers of configurations. */
typedef struct mr_job_source {
	/** Put the place of @key of @group in front of this thread's error text, and return @st, which is MR_ECONFIG.
	 */
	mr_status (*blame)(const void *arg, mr_job_group group, const char *key, mr_status st);
	const void *arg;
} mr_job_source;

/* The size of a plan that is trained in place of the system's own. */
typedef struct mr_job_order {
	uint16_t workers, stages; /* workers 0: the plan is the system's own */
	bool shares;              /* its first and last stage can share a parameter */
	uint32_t n_micro;         /* micro-batches a step */
} mr_job_order;

typedef struct mr_job {
	const char *name;      /* of the run; names the folder runs/NAME */
	const char *base_dir;  /* base of relative paths of data, costs and choices; NULL: the current folder */
	const char *backend;
	int64_t precision;     /* mr_job_precision */
	const char *costs;     /* file of measured times; "": none */
	const char *partition; /* "auto", or names of layers with commas between */
	mr_job_plugin model, data, optimizer, mitigation, system;
	mr_job_lr_schedule lr_schedule;
	mr_job_train train;
	const char *run_dir;   /* folder of the run; "": runs/NAME */
	bool tensorboard;      /* write event files there, too */
	mr_job_machine machine;
	mr_job_checkpoint checkpoint;
	mr_job_trace trace;
	mr_job_sample sample;
	mr_job_order order;    /* of a plan file (train --plan); set before mr_job_check */
	mr_job_source source;  /* blame NULL: mistakes are named "group.key: message" */
	/* Set by mr_job_check; owned. */
	bool chose_workers, chose_microbatches; /* the field was 0 */
	bool untied;           /* by train.untie no parameter of the model is shared */
	char **cut;            /* [n_cut] layers at which the second and later stages begin; NULL: "auto" */
	uint32_t n_cut;
	char **own;            /* [n_own] strings that the job owns */
	size_t n_own;
} mr_job;

/** Set all defaults. No plug-in is chosen, except the mitigation "none". Errors: MR_ERESOURCE. */
MR_API mr_status mr_job_init(mr_job *j) MR_MUST_USE;
/** Accepts NULL; the job is empty then, and may be initialised again. */
MR_API void mr_job_fini(mr_job *j);

/** A job on the heap with all defaults, for languages that do not see the struct. The caller frees it with
 * mr_job_destroy. Errors: MR_ERESOURCE. */
MR_API mr_status mr_job_create(mr_job **out) MR_MUST_USE;
/** Accepts NULL. */
MR_API void mr_job_destroy(mr_job *j);

/** The job that the configuration file @path describes, with @n_sets settings "key=value" in place of what the file
 * says (@sets NULL: none), on the heap: the caller frees it with mr_job_destroy. It is checked; who changes it checks
 * it again. Paths in the file start at its folder. Errors: MR_ECONFIG with the place of every mistake, a line each;
 * MR_EINVAL, MR_ERESOURCE. */
MR_API mr_status mr_job_load(const char *path, const char *const *sets, size_t n_sets, mr_job **out) MR_MUST_USE;

/** Choose the plug-in @name for @group, with the defaults of its table; it replaces an earlier one. Errors:
 * MR_ECONFIG with a message that names the nearest name and lists all; MR_ERESOURCE. */
MR_API mr_status mr_job_choose(mr_job *j, mr_job_group group, const char *name) MR_MUST_USE;

/** Make a copy that may be changed on its own and must be checked again: fields that mr_job_check derived for @from are
 * open again. Its strings are its own. Errors: MR_ERESOURCE. */
MR_API mr_status mr_job_copy(const mr_job *from, mr_job *to) MR_MUST_USE;

/** Set the value of @key ("train.steps", "model.hidden", "model.name", "backend") from its text, in the syntax of the
 * program's --set. The job copies strings. Errors: MR_ECONFIG with a message that begins with @key;
 * MR_ERESOURCE. */
MR_API mr_status mr_job_set(mr_job *j, const char *key, const char *text) MR_MUST_USE;

/**
 * Check the job as far as is possible without the data: fields against their tables, fields against each other, the
 * model built on made-up data, the machine. Sets the fields that follow from others: workers, microbatches, run_dir,
 * paths, cut, trace. Errors: MR_ECONFIG with all mistakes at once, a line each, "group.key: message"; MR_ERESOURCE.
 */
MR_API mr_status mr_job_check(mr_job *j) MR_MUST_USE;

#endif
