#include "cli/weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/notice.h"
#include "base/str.h"
#include "checkpoint/inspect.h"
#include "checkpoint/run_manifest.h"
#include "checkpoint/checkpoints.h"
#include "store/checkpoint_io.h"

static bool has(const char *dir, const char *name)
{
	char *path = mr_path_join(dir, name);
	bool there = path && access(path, F_OK) == 0;

	free(path);
	return there;
}

static void warn_data(const mr_session *s, const mr_checkpoint *ck, const char *path)
{
	const char *then = mr_checkpoint_fact(ck, "data");
	char now[24];

	snprintf(now, sizeof(now), "%016" PRIx64, s->data->fingerprint);
	if (!s->without_text && then && strcmp(then, now))
		mr_notice("warning: %s was trained on other data than the configuration names", path);
}

/* One in the run's folder by a name that --from takes, or a path. */
mr_status mr_weights_find(const mr_job *job, const mr_args *args, char **path)
{
	const char *run = job->run_dir, *asked = mr_values_string(args->values, "checkpoint");
	bool last = mr_values_bool(args->values, "last");
	char *folder;
	mr_status st;

	if (!*asked || (strcmp(asked, "best") != 0 && (strncmp(asked, "step-", 5) != 0 || strchr(asked, '/') ||
						       has(asked, "MANIFEST.json")))) {
		asked = *asked ? asked : run;
		return last ? mr_inspect_find(asked, path) : mr_inspect_find_best(asked, path);
	}
	if (last)
		return mr_fail(MR_EUSAGE, "--last and --checkpoint %s name two checkpoints: give one of them", asked);
	folder = mr_path_join(run, "checkpoints");
	if (!folder)
		return mr_fail(MR_ERESOURCE, "no memory for a path");
	st = mr_checkpoints_find(folder, asked, path);
	free(folder);
	return st;
}

mr_status mr_weights_load(const mr_session *s, const mr_args *args, const mr_state_list *model, uint64_t *step)
{
	mr_checkpoint *ck;
	char *path;
	mr_status st;

	MR_TRY(mr_weights_find(s->job, args, &path));
	st = mr_checkpoint_open(path, &ck);
	if (st == MR_OK) {
		warn_data(s, ck, path);
		mr_checkpoint_close(ck);
		st = mr_checkpoints_load_model(path, mr_session_model(s), model, step);
		if (st == MR_ECKPT && !strstr(mr_error_text(), path))
			st = mr_fail_in(st, "%s", path);
	}
	free(path);
	return st;
}

mr_status mr_weights_alphabet(const mr_job *job, const mr_args *args, char **out, bool *known)
{
	const char *fact;
	mr_checkpoint *ck;
	char *path;
	mr_status st;

	*out = NULL;
	*known = false;
	MR_TRY(mr_weights_find(job, args, &path));
	st = mr_checkpoint_open(path, &ck);
	free(path);
	MR_TRY(st);
	fact = mr_checkpoint_fact(ck, "vocabulary");
	*known = fact != NULL;
	if (fact && strcmp(fact, MR_NO_VOCABULARY) && !(*out = strdup(fact)))
		st = mr_fail(MR_ERESOURCE, "no memory for a vocabulary");
	mr_checkpoint_close(ck);
	return st;
}
