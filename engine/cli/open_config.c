#include "cli/open_config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/clean_env.h"
#include "cli/weights.h"
#include "session/plan_file.h"
#include "checkpoint/rundir.h"

mr_status mr_open_config(const mr_args *args, mr_config **out)
{
	return mr_open_config_file(args, args->operand[0], out);
}

static mr_status refuse_run_folder(const char *path)
{
	char resolved[PATH_MAX];

	if (snprintf(resolved, sizeof(resolved), "%s/resolved.cfg", path) >= (int)sizeof(resolved) ||
	    access(resolved, F_OK))
		return MR_OK;
	return mr_fail(MR_ECONFIG, "%s: is the folder of a run, expected a configuration, such as %s", path, resolved);
}

/* Where a plan is read that is carried out in place of the system's own. */
typedef struct order_file {
	const char *path; /* NULL: none is given */
	bool own;         /* then the run's own copy, if there is a run that has one */
} order_file;

/* Tell the job how many workers, stages and micro-batches a step that plan has. */
static mr_status take_order(void *arg, mr_job *job)
{
	const order_file *file = arg;
	char dir[PATH_MAX], *own = NULL;
	mr_status st = MR_OK;

	snprintf(dir, sizeof(dir), *job->run_dir ? "%s" : "runs/%s", *job->run_dir ? job->run_dir : job->name);
	if (!file->path && file->own && mr_rundir_has_checkpoint(dir))
		own = mr_rundir_plan(dir);
	if (own || file->path)
		st = mr_plan_file_size(own ? own : file->path, &job->order);
	free(own);
	return st;
}

static mr_status open_file(const mr_args *args, const char *path, order_file *order, mr_config **out)
{
	mr_strbuf notes = {0};
	const char *line;
	mr_status st;

	if (access(path, F_OK) && errno == ENOENT)
		return mr_fail(MR_ECONFIG, "%s: no such file (millrace init DATA writes a configuration for your data)",
			       path);
	MR_TRY(refuse_run_folder(path));
	st = mr_config_load_after(path, args->set, args->n_sets, take_order, order, &notes, out);
	/* The first start has printed them. A single mistake of usual length stands in the message. */
	line = strchr(mr_strbuf_text(&notes), '\n');
	if (st == MR_OK ? !getenv("MILLRACE_RESTARTED") : line && (line[1] || notes.len > MR_CONFIG_MISTAKE))
		fputs(mr_strbuf_text(&notes), stderr);
	mr_strbuf_fini(&notes);
	return st;
}

mr_status mr_open_config_file(const mr_args *args, const char *path, mr_config **out)
{
	order_file none = {0};

	return open_file(args, path, &none, out);
}

mr_status mr_open_config_of_plan(const mr_args *args, const char *plan, bool own, mr_config **out)
{
	order_file order = {plan, own};

	return open_file(args, args->operand[0], &order, out);
}

static mr_status work_and_close(const mr_args *args, mr_session *s,
				mr_status (*work)(const mr_args *args, mr_session *s))
{
	mr_status st = work(args, s);

	if (st != MR_ESTALLED)
		mr_session_close(s);
	return st;
}

mr_status mr_with_session(const mr_args *args, mr_status (*work)(const mr_args *args, mr_session *s))
{
	mr_config *config;
	mr_session s;
	mr_status st;

	MR_TRY(mr_open_config(args, &config));
	st = mr_clean_env(args, config);
	if (st == MR_OK)
		st = mr_session_open(mr_config_job(config), &s);
	if (st == MR_OK)
		st = work_and_close(args, &s, work);
	mr_config_destroy(config);
	return st;
}

/* Do the tokens of the data mean the same as in training? @known: the checkpoint has their meaning. */
static mr_status check_tokens(const mr_session *s, bool known)
{
	if (known && s->graph->input.tokens && !s->alphabet != !s->data->alphabet)
		return mr_fail(MR_ECKPT,
			       s->alphabet
				       ? "the model was trained on text, and the data are %s"
				       : "the model was not trained on text, and the data are %s",
			       s->data->ops->name);
	if (!known && s->data->alphabet)
		fputs("millrace: warning: the checkpoint does not hold its vocabulary, as those of older builds: it is "
		      "taken from "
		      "the text of the configuration, which must be the text of the training\n",
		      stderr);
	return MR_OK;
}

static mr_status open_trained(const mr_args *args, bool without_text, const mr_config *config, const char *plan,
			      char **alphabet, mr_session *s)
{
	const mr_job *job = mr_config_job(config);
	bool known;
	mr_status st;

	MR_TRY(mr_weights_alphabet(job, args, alphabet, &known));
	MR_TRY(mr_session_open_trained(job, *alphabet, plan, without_text, s));
	st = check_tokens(s, known);
	if (st != MR_OK)
		mr_session_close(s);
	return st;
}

mr_status mr_with_trained(const mr_args *args, bool without_text, mr_status (*work)(const mr_args *args, mr_session *s))
{
	char *alphabet = NULL, *plan = NULL;
	mr_config *config;
	mr_session s;
	mr_status st;

	MR_TRY(mr_open_config_of_plan(args, NULL, true, &config));
	st = mr_clean_env(args, config);
	if (mr_config_job(config)->order.workers)
		plan = mr_rundir_plan(mr_config_job(config)->run_dir);
	if (st == MR_OK)
		st = open_trained(args, without_text, config, plan, &alphabet, &s);
	if (st == MR_OK)
		st = work_and_close(args, &s, work);
	free(plan);
	free(alphabet);
	mr_config_destroy(config);
	return st;
}
