#include "session/plan_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ir/plan_json.h"
#include "ir/text.h"

/* A pipe can be read once, and a plan is read twice: by the job, for its size, and by the session. */
static char *from_stdin;
static size_t from_stdin_len;

/* The caller frees *@text. */
static mr_status read_stdin(char **text, size_t *len)
{
	if (!from_stdin)
		MR_TRY(mr_file_read("/dev/stdin", MR_PLAN_JSON_MAX_BYTES, &from_stdin, &from_stdin_len));
	*len = from_stdin_len;
	*text = malloc(*len + 1);
	if (!*text)
		return mr_fail(MR_ERESOURCE, "-: no memory for %zu bytes", *len);
	memcpy(*text, from_stdin, *len + 1);
	return MR_OK;
}

mr_status mr_plan_file_read(const char *path, mr_plan **out)
{
	size_t len, at = 0;
	char *text;
	mr_status st;

	st = !strcmp(path, "-") ? read_stdin(&text, &len) : mr_file_read(path, MR_PLAN_JSON_MAX_BYTES, &text, &len);
	if (st != MR_OK)
		return st == MR_ERESOURCE ? st : mr_fail(MR_ECONFIG, "%s", mr_error_text());
	while (at < len && isspace((unsigned char)text[at]))
		at++;
	st = text[at] == '{' ? mr_plan_json_read_text(text, len, out) : mr_text_read(text, len, out);
	free(text);
	return st == MR_OK ? MR_OK : mr_fail_in(st, "%s", path);
}

mr_status mr_plan_file_size(const char *path, mr_job_order *out)
{
	mr_plan *plan;

	MR_TRY(mr_plan_file_read(path, &plan));
	*out = (mr_job_order){
		.workers = plan->n_workers,
		.stages = plan->n_stages,
		.shares = plan->contract.flush != MR_FLUSH_NONE && !mr_contract_replicates(&plan->contract),
		.n_micro = plan->contract.need ? plan->contract.need : 1,
	};
	mr_plan_destroy(plan);
	return MR_OK;
}

mr_status mr_plan_file_write(const mr_plan *plan, const char *path, mr_result_kind kind)
{
	mr_strbuf text = {0};
	mr_result r;
	mr_status st = mr_text_print(plan, &text);

	if (st == MR_OK)
		st = mr_result_begin(&r, path, kind);
	if (st == MR_OK)
		st = mr_result_end(&r, mr_result_put(&r, mr_strbuf_text(&text), strlen(mr_strbuf_text(&text))));
	mr_strbuf_fini(&text);
	return st;
}
