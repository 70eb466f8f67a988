/*
 * job.h - the engine's view of a job (millrace/job.h): the tables of its groups, the listener to its mistakes, and
 * values derived from a checked job.
 */
#ifndef MR_JOB_JOB_H
#define MR_JOB_JOB_H

#include "base/str.h"
#include "base/option.h"
#include "job/keys.h"
#include "millrace/job.h"
#include "models/registry.h"
#include "data/dataset.h"
#include "nn/kernels.h"
#include "mitigate/mitigate.h"
#include "nn/optim.h"
#include "schedules/registry.h"

#define MR_JOB_UNNAMED "job" /* the name that mr_job_init gives */

/** The plug-in of @group; NULL if the group holds no plug-in. */
mr_job_plugin *mr_job_plugin_in(mr_job *j, mr_job_group group);
const mr_job_plugin *mr_job_plugin_of(const mr_job *j, mr_job_group group);

/** The table of options of @group: its own, or that of the chosen plug-in; NULL when none is chosen. */
const mr_option *mr_job_table(const mr_job *j, mr_job_group group);

/* The fields of a group that holds no plug-in, by its table of options (keys.h). */
/** Take all values of @group from @v. Strings are borrowed from @v. */
void mr_job_take(mr_job *j, mr_job_group group, const mr_values *v);
/** Does a field of @group, which holds no plug-in, differ from its default? True also if there is no memory to check.
 */
bool mr_job_differs(const mr_job *j, mr_job_group group);
/** Append the fields of @group that differ from their defaults to @out, "checkpoint.every, checkpoint.keep, ". */
void mr_job_changed(const mr_job *j, mr_job_group group, mr_strbuf *out);
/** MR_EINVAL if a text of the job is NULL. */
mr_status mr_job_no_nulls(const mr_job *j) MR_MUST_USE;
/** Write the field of @key of @group to @v. Errors: MR_ECONFIG a value that breaks the table, with its message;
 * MR_ERESOURCE. */
mr_status mr_job_put_one(const mr_job *j, mr_job_group group, const char *key, mr_values *v) MR_MUST_USE;
/** Write all fields of @group to @v. Errors: MR_ECONFIG a field that breaks the table; MR_ERESOURCE. */
mr_status mr_job_put(const mr_job *j, mr_job_group group, mr_values *v) MR_MUST_USE;

/* A listener of mr_job_check_for. */
typedef struct mr_job_listener {
	/** A mistake about @key of @group (or about another key of it, when @text begins with "KEY: "). */
	void (*note)(void *arg, mr_job_group group, const char *key, const char *text);
	/** Is there already a mistake about @key of @group (NULL: the group itself or any key of it)? May be NULL: no.
	 */
	bool (*known)(void *arg, mr_job_group group, const char *key);
	bool incomplete; /* a part of the text could not be read and may hold missing fields: none is reported missing
	                    */
	void *arg;
} mr_job_listener;

/** As mr_job_check, but each mistake is reported to @listener, and the caller counts them. Errors: MR_ERESOURCE. */
mr_status mr_job_check_for(mr_job *j, const mr_job_listener *listener) MR_MUST_USE;

/** For mistakes found later: put the place of @key of @group in front of this thread's error text when @st is
 * MR_ECONFIG. A text that begins with "KEY: " is about that key of the group. Returns @st. */
mr_status mr_job_blame(const mr_job *j, mr_job_group group, const char *key, mr_status st) MR_MUST_USE;
/** The key that *@text is about: if it begins with "KEY: " and @table has that key, removes it from *@text and returns
 * KEY; else returns @key. */
const char *mr_job_subject(const mr_option *table, const char *key, const char **text);
/** Of a @key that @group does not have: MR_ECONFIG, with a message that says how it is called now or in which group it
 * stands; else MR_OK. */
mr_status mr_job_key_elsewhere(mr_job_group group, const char *key) MR_MUST_USE;
/** "train.steps" into @buf; the key alone for MR_JOB_TOP. Returns @buf. */
const char *mr_job_key_text(mr_job_group group, const char *key, char buf[128]);

/* --- values derived from a checked job --- */

const mr_model_ops *mr_job_model(const mr_job *j);
const mr_dataset_ops *mr_job_data(const mr_job *j);
const mr_optim_ops *mr_job_optimizer(const mr_job *j);
const mr_mitigate_ops *mr_job_mitigation(const mr_job *j);
/** NULL for a name that no system has, which a checked job never holds. */
const mr_sched_ops *mr_job_system(const mr_job *j);
/** The type for which a backend is chosen: that of activations. */
mr_dtype mr_job_numbers(const mr_job *j);
/** NULL with a message when there is no such backend, or it does not support the job's types. */
const mr_kernels *mr_job_kernels(const mr_job *j);

/** Workers D: those of machine.workers, unless the system takes only one number of them. */
uint16_t mr_job_workers(const mr_job *j);
/** Stages that the system makes of @workers workers; 0: known only from the finished plan. */
uint32_t mr_job_stages(const mr_job *j, uint16_t workers);
/** Micro-batches a commit. */
uint32_t mr_job_n_micro(const mr_job *j);
/** Samples a micro-batch. */
int64_t mr_job_samples(const mr_job *j);
mr_lr mr_job_lr(const mr_job *j);
/** As mr_run_config.spin_us: UINT32_MAX for the default of the place. */
uint32_t mr_job_spin_us(const mr_job *j);
/** Are steps to be traced? Then [*@first, *@last]. */
bool mr_job_trace_steps(const mr_job *j, uint64_t *first, uint64_t *last);

#endif
