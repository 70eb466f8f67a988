/* rows.c - tables of which a step changes few rows: sums and old versions of their rows (weights/row_versions.h). */
#include "exec/exec_internal.h"
#include "weights/row_versions.h"

static mr_status pass(mr_worker *w, const mr_task *t, const mr_slot *slot, mr_stage_io *io)
{
	const mr_row_versions *v = mr_run_weights(w->run, t->in->pipe, t->in->stage)->row_versions;

	(void)slot;
	io->old_rows = v ? v->of : NULL;
	return MR_OK;
}

static mr_status cut(mr_run *run, mr_stage_weights *b)
{
	mr_row_sums_open(b);
	return mr_row_versions_open(b, run->c.samples);
}

const mr_feature mr_feature_rows = {
	.cut = cut,
	.pass = pass,
};
