/*
 * config.h - the configuration of a run: a libconfig file and --set, checked against the tables of options.
 *
 *	backend = "auto";                        a key outside any group
 *	model = { name = "gpt"; layers = 4; };   a plug-in and its own keys
 *	train = { steps = 1000; batch = 16; };   a group of the program
 *
 * conf/reference.cfg documents every key. All mistakes of a file and of --set are found at once and reported as
 * "file:line: key: message", in the order of the lines; those of --set follow with "--set" in place of file and
 * line. The model is built on made-up data to check its options, the partition and the number of stages; mistakes that
 * show only with the data themselves are reported later, in the same form (mr_config_blame).
 *
 * Text. A file is at most 1 MiB of UTF-8 without byte order mark or NUL. `@include "name"` on a line of its own
 * includes another file, relative to the folder of the including file, at most 10 deep, at the top or inside a group. A
 * file wins over the files that it includes, wherever the @include stands, and a later included file over an earlier
 * one; groups are merged key by key. libconfig 1.5 silently reads integers beyond 32 bits as 0, and no version reads
 * 10k or [1, 2.5], so the text is rewritten before libconfig sees it.
 *
 * --set key=value, where key is "train.steps", "model.name" or "backend", wins over the file, the last over the first.
 * If it names another plug-in than the file, those keys of the file's group that only the file's plug-in has are
 * dropped.
 *
 * Paths of the data group start at the file's folder (those from --set at the current one) and are absolute in the
 * values.
 *
 * Loaded once by one thread; then any thread may read.
 */
#ifndef MR_CONFIG_CONFIG_H
#define MR_CONFIG_CONFIG_H

#include "base/option.h"
#include "base/str.h"
#include "job/job.h"
#include "models/registry.h"
#include "data/dataset.h"
#include "nn/kernels.h"
#include "mitigate/mitigate.h"
#include "nn/optim.h"
#include "schedules/registry.h"

#define MR_CONFIG_MAX_BYTES ((size_t)1 << 20)

typedef struct mr_config mr_config;

#define MR_CONFIG_MISTAKE 800 /* bytes of the first mistake in the message of mr_config_load */

/** Sets what a job has from elsewhere than its configuration (mr_job.order), before it is checked. */
typedef mr_status mr_config_before(void *arg, mr_job *job);

/**
 * Load @path and apply @sets. The caller destroys *@out. A key of the file that belongs to a plug-in which --set has
 * replaced is left out, if the new one has no such key or one of another type; @notes gets a line about it.
 * Errors: MR_ECONFIG: each mistake is a line appended to @notes, and the message says how many there are (or why the
 * file cannot be read); MR_ERESOURCE.
 */
mr_status mr_config_load(const char *path, const char *const *sets, size_t n_sets, mr_strbuf *notes,
			 mr_config **out) MR_MUST_USE;
/** The same; @before (NULL: nothing) is called with @arg and the job ahead of its checks. Errors: also those of
 * @before, which end the loading. */
mr_status mr_config_load_after(const char *path, const char *const *sets, size_t n_sets, mr_config_before *before,
			       void *arg, mr_strbuf *notes, mr_config **out) MR_MUST_USE;
/** As mr_config_load, of the @text of a configuration that was read before from @path, as messages call it. */
mr_status mr_config_load_text(const char *path, const char *text, const char *const *sets, size_t n_sets,
			      mr_strbuf *notes, mr_config **out) MR_MUST_USE;
/** The configuration that describes @job: a copy of it, checked, with the values of all keys. @order of a plan file
 * takes the place of the job's (NULL: it stays). Errors: those of mr_job_check. */
mr_status mr_config_of_job(const mr_job *job, const mr_job_order *order, mr_config **out) MR_MUST_USE;
void mr_config_destroy(mr_config *c);

/**
 * For mistakes that show only later, with the data at hand: put "file:line: group.key: " in front of this thread's
 * error text when @st is MR_ECONFIG. A text that begins with "KEY: " is about that key of the group. Returns @st.
 */
mr_status mr_config_blame(const mr_config *c, mr_job_group group, const char *key, mr_status st) MR_MUST_USE;

/** The job that the configuration describes; borrowed. */
const mr_job *mr_config_job(const mr_config *c);

/** Values of a group by its table. Borrowed. */
const mr_values *mr_config_values(const mr_config *c, mr_job_group group);
/** Set a string of a group without a plug-in to its value in the run that is resumed. Errors: MR_ERESOURCE. */
mr_status mr_config_take_up(mr_config *c, mr_job_group group, const char *key, const char *value) MR_MUST_USE;
/** The search within the system's time limit (ir/sched.h) made @n tries: replace the limit by that number in the
 * configuration. Errors: MR_ERESOURCE. */
mr_status mr_config_count_as(mr_config *c, uint64_t n) MR_MUST_USE;
/**
 * Append the resolved configuration: every key with its value and, as a comment, where it comes from ("default",
 * "file:line", "--set"). It parses back to the same values. Errors: MR_ERESOURCE.
 */
mr_status mr_config_print(const mr_config *c, mr_strbuf *out) MR_MUST_USE;
/** The values alone, and none of the folder of the run: the same for all runs of a training. Errors: MR_ERESOURCE. */
mr_status mr_config_print_values(const mr_config *c, mr_strbuf *out) MR_MUST_USE;
/** Those that are the same on all hosts: without the names of the data's files, which links make others, and which some
 * hosts do not have. Errors: MR_ERESOURCE. */
mr_status mr_config_print_shared(const mr_config *c, mr_strbuf *out) MR_MUST_USE;

#endif
