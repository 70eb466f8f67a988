/*
 * job.h - what to train, as a plain struct: the one thing that the program, its tests and other programs fill in.
 *
 * A job names a model, data, an optimizer, a mitigation and a system, each a plug-in with the values of its own table of
 * options (base/option.h), and holds everything else as typed fields. Configuration files and --set become jobs in
 * engine/config; engine/session makes of a job something that trains. conf/reference.cfg describes every field under the
 * same name.
 *
 *	mr_job job;
 *
 *	mr_job_init(&job);
 *	MR_TRY(mr_job_choose(&job, MR_JOB_MODEL, "mlp"));
 *	MR_TRY(mr_values_set_text(job.model.values, "hidden", "[32, 32]"));
 *	...
 *	job.train.steps = 1000;
 *	MR_TRY(mr_job_check(&job, NULL));
 *	...
 *	mr_job_fini(&job);
 *
 * Strings in a job are borrowed: they must stay until mr_job_fini. Values of plug-ins belong to the job. One thread fills and
 * checks a job; after that any thread may read it.
 */
#ifndef MR_JOB_JOB_H
#define MR_JOB_JOB_H

#include "base/option.h"
#include "job/keys.h"
#include "models/registry.h"
#include "nn/dataset.h"
#include "nn/kernels.h"
#include "nn/mitigate.h"
#include "nn/optim.h"
#include "schedules/registry.h"

/* A chosen plug-in with its values. */
typedef struct mr_choice {
	const char *name;  /* NULL: nothing is chosen */
	mr_values *values; /* by the plug-in's table; owned */
} mr_choice;

typedef enum mr_nonfinite {
	MR_NONFINITE_STOP, /* a step whose gradient norm is not finite ends the run */
	MR_NONFINITE_SKIP, /* it leaves the weights as they are */
} mr_nonfinite;

typedef struct mr_job_train {
	int64_t steps;        /* commits */
	int64_t batch;        /* samples a commit */
	int64_t microbatches; /* a commit; 0: the system's default */
	double lr;
	int64_t schedule;     /* mr_lr_kind */
	int64_t warmup;       /* commits */
	double min_ratio;
	double clip;          /* largest norm of a gradient; 0: none */
	int64_t nonfinite;    /* mr_nonfinite */
	int64_t norm_every;   /* commits; 0: no norm without clip */
	int64_t seed;
	int64_t eval_every;   /* commits; 0: only at the end */
} mr_job_train;

typedef struct mr_job_machine {
	int64_t workers;      /* 0: as many as make the stages of the partition, else 2; sequential always has one */
	int64_t threads;      /* a worker; 0: equal shares of the usable cores */
	const char *cpus;     /* "0-3 4-7"; "": chosen from the topology */
	const char *topology; /* "numa:4 core:16"; "": the machine at hand */
	int64_t spin_us;      /* -1: by place */
	int64_t memory_limit; /* bytes; 0: what the machine has */
	double watchdog;      /* seconds; 0: none, -1: by the longest operation */
	double peak_gflops;   /* of a core; 0: measured */
} mr_job_machine;

typedef struct mr_job_checkpoint {
	int64_t every; /* commits; 0: only at the end and on signals */
	int64_t keep;
} mr_job_checkpoint;

typedef struct mr_job_trace {
	const char *steps;    /* "100-120"; "": none */
	uint64_t first, last; /* set by mr_job_check; both 0: none */
} mr_job_trace;

typedef struct mr_job_sample {
	int64_t tokens;
	double temperature;
	int64_t top_k;
	const char *prompt;
} mr_job_sample;

/* Who can say where a value of a job was written. */
typedef struct mr_job_source {
	/** Put the place of @key of @group in front of this thread's error text, and return @st, which is MR_ECONFIG. */
	mr_status (*blame)(const void *arg, mr_job_group group, const char *key, mr_status st);
	const void *arg;
} mr_job_source;

typedef struct mr_job {
	const char *name;      /* of the run; names the folder runs/NAME */
	const char *base_dir;  /* where relative paths of data and costs start; NULL: the current folder */
	const char *backend;
	int64_t dtype;         /* mr_dtype: MR_F32 or MR_F64 */
	const char *costs;     /* file of measured times; "": none */
	const char *partition; /* "auto", or names of layers with commas between */
	mr_choice model, data, optimizer, mitigation, system;
	mr_job_train train;
	const char *run_dir;   /* folder of the run; "": runs/NAME */
	mr_job_machine machine;
	mr_job_checkpoint checkpoint;
	mr_job_trace trace;
	mr_job_sample sample;
	mr_job_source source;  /* blame NULL: mistakes are named "group.key: sentence" */
	/* Set by mr_job_check; owned. */
	bool chose_workers, chose_microbatches; /* the field was 0 */
	char **cut;            /* [n_cut] where the second and later stages begin; NULL: "auto" */
	uint32_t n_cut;
	char **own;            /* [n_own] strings of the job itself */
	size_t n_own;
} mr_job;

/** All defaults; no plug-in is chosen but the mitigation "none". Errors: MR_ERESOURCE. */
mr_status mr_job_init(mr_job *j) MR_MUST_USE;
void mr_job_fini(mr_job *j);

/** Choose the plug-in @name for @group, with the defaults of its table, in place of any before. Errors: MR_ECONFIG with a
 * sentence that names the nearest and lists all; MR_ERESOURCE. */
mr_status mr_job_choose(mr_job *j, mr_job_group group, const char *name) MR_MUST_USE;

/** A copy that may be changed by itself and is to be checked then: what mr_job_check chose for @from is open again. Borrows the
 * strings of @from. Errors: MR_ERESOURCE. */
mr_status mr_job_copy(const mr_job *from, mr_job *to) MR_MUST_USE;

/** The choice of @group; NULL where the group holds no plug-in. */
mr_choice *mr_job_choice(mr_job *j, mr_job_group group);
const mr_choice *mr_job_choice_of(const mr_job *j, mr_job_group group);

/** The table of options of @group: its own, or that of the plug-in that is chosen; NULL when none is. */
const mr_option *mr_job_table(const mr_job *j, mr_job_group group);

/* The fields of a group that holds no plug-in, by its table of options (keys.h). */
/** Take all values of @group from @v. Strings are borrowed from @v. */
void mr_job_take(mr_job *j, mr_job_group group, const mr_values *v);
/** Has a field of @group, which holds no plug-in, another value than by default? Also true without memory to tell. */
bool mr_job_differs(const mr_job *j, mr_job_group group);
/** Write the field of @key of @group to @v. Errors: MR_ECONFIG a value that breaks the table, with its sentence; MR_ERESOURCE. */
mr_status mr_job_put_one(const mr_job *j, mr_job_group group, const char *key, mr_values *v) MR_MUST_USE;
/** Write all fields of @group to @v. Errors: MR_ECONFIG a field that breaks the table; MR_ERESOURCE. */
mr_status mr_job_put(const mr_job *j, mr_job_group group, mr_values *v) MR_MUST_USE;

/* Who listens to mr_job_check. */
typedef struct mr_job_listener {
	/** A mistake about @key of @group (or about another key of it, when @text begins with "KEY: "). */
	void (*note)(void *arg, mr_job_group group, const char *key, const char *text);
	/** Is a mistake known already about @key of @group (NULL: the group itself or any key of it)? May be NULL: none is. */
	bool (*known)(void *arg, mr_job_group group, const char *key);
	bool incomplete; /* something could not be read, so what is missing may stand there: nothing is called missing */
	void *arg;
} mr_job_listener;

/**
 * Judge the job as far as it goes without the data: fields against their tables, what must suit each other, the model built on
 * made-up data, the machine. Settles what follows from other fields: workers, microbatches, run_dir, paths, cut, trace.
 * @listener NULL: the mistakes become lines of this thread's error text, and MR_ECONFIG is returned. Else each is noted, and
 * the caller counts them. Errors: MR_ERESOURCE.
 */
mr_status mr_job_check(mr_job *j, const mr_job_listener *listener) MR_MUST_USE;

/** For what shows only later: put the place of @key of @group in front of this thread's error text when @st is MR_ECONFIG.
 * A text that begins with "KEY: ", KEY another one of the group's, is about that. Returns @st. */
mr_status mr_job_blame(const mr_job *j, mr_job_group group, const char *key, mr_status st) MR_MUST_USE;
/** The key of @group that *@text is about: takes "KEY: " off its begin when the group has such a key; else @key. */
const char *mr_job_subject(const mr_option *table, const char *key, const char **text);
/** "train.steps" into @buf; the key alone for MR_JOB_TOP. Returns @buf. */
const char *mr_job_key_text(mr_job_group group, const char *key, char buf[128]);

/* --- what follows from a checked job --- */

const mr_model_ops *mr_job_model(const mr_job *j);
const mr_dataset_ops *mr_job_data(const mr_job *j);
const mr_optim_ops *mr_job_optimizer(const mr_job *j);
const mr_mitigate_ops *mr_job_mitigation(const mr_job *j);
/** NULL for "sequential". */
const mr_sched_ops *mr_job_system(const mr_job *j);
/** NULL with a sentence when there is no such backend, or not for the job's dtype. */
const mr_kernels *mr_job_kernels(const mr_job *j);

/** Workers D; 1 for "sequential" whatever machine.workers says. */
uint16_t mr_job_workers(const mr_job *j);
/** Stages that the system makes of @workers workers; 0: only the finished plan can tell. */
uint32_t mr_job_stages(const mr_job *j, uint16_t workers);
/** Micro-batches a commit. */
uint32_t mr_job_n_micro(const mr_job *j);
/** Samples a micro-batch. */
int64_t mr_job_samples(const mr_job *j);
mr_lr mr_job_lr(const mr_job *j);
/** As mr_run_config.spin_us: UINT32_MAX when it is left to the place. */
uint32_t mr_job_spin_us(const mr_job *j);
/** Are steps to be traced? Then [*@first, *@last]. */
bool mr_job_trace_steps(const mr_job *j, uint64_t *first, uint64_t *last);

#endif
