/*
 * job.h - what the engine needs of a job (millrace/job.h) beside its fields: the tables of its groups, the
 * listener to its mistakes, and what follows from a checked one.
 */
#ifndef MR_JOB_JOB_H
#define MR_JOB_JOB_H

#include "base/option.h"
#include "job/keys.h"
#include "millrace/job.h"
#include "models/registry.h"
#include "data/dataset.h"
#include "nn/kernels.h"
#include "nn/mitigate.h"
#include "nn/optim.h"
#include "schedules/registry.h"

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
/** Write the field of @key of @group to @v. Errors: MR_ECONFIG a value that breaks the table, with its message;
 * MR_ERESOURCE. */
mr_status mr_job_put_one(const mr_job *j, mr_job_group group, const char *key, mr_values *v) MR_MUST_USE;
/** Write all fields of @group to @v. Errors: MR_ECONFIG a field that breaks the table; MR_ERESOURCE. */
mr_status mr_job_put(const mr_job *j, mr_job_group group, mr_values *v) MR_MUST_USE;

/* Who listens to mr_job_check_for. */
typedef struct mr_job_listener {
	/** A mistake about @key of @group (or about another key of it, when @text begins with "KEY: "). */
	void (*note)(void *arg, mr_job_group group, const char *key, const char *text);
	/** Is a mistake known already about @key of @group (NULL: the group itself or any key of it)? May be NULL: none
	 * is. */
	bool (*known)(void *arg, mr_job_group group, const char *key);
	bool incomplete; /* something could not be read, so what is missing may stand there: nothing is called missing
	                    */
	void *arg;
} mr_job_listener;

/** As mr_job_check, but each mistake is noted with @listener, and the caller counts them. Errors: MR_ERESOURCE. */
mr_status mr_job_check_for(mr_job *j, const mr_job_listener *listener) MR_MUST_USE;

/** For what shows only later: put the place of @key of @group in front of this thread's error text when @st is
 * MR_ECONFIG. A text that begins with "KEY: ", KEY another one of the group's, is about that. Returns @st. */
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
/** What a backend is asked for: the type of activations. */
mr_dtype mr_job_numbers(const mr_job *j);
/** NULL with a message when there is no such backend, or not for the job's numbers. */
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
