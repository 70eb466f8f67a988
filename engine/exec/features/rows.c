/* rows.c - tables of which a step changes few rows: sums and old versions of their rows (weights/row_versions.h). */
#include "exec/exec_internal.h"
#include "exec/state.h"
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

/* The copies that the first @n commits have made of the rows of @table, whatever room there is for further ones: a run
 * that is resumed with more steps may keep more versions. */
static mr_status add_first_rows(const mr_old_rows *x, uint64_t n, uint16_t s, uint32_t table, mr_state *out)
{
	size_t places = (size_t)n * (size_t)x->most;
	mr_saved_tensor newest = mr_state_bytes((uint8_t *)x->head, (size_t)((uint8_t *)x->copy - (uint8_t *)x->head));
	mr_saved_tensor copy = mr_state_bytes((uint8_t *)x->copy, places * sizeof(*x->copy));
	mr_saved_tensor value = mr_state_bytes(x->value, places * x->row_bytes);

	MR_TRY(mr_state_add(&out->inflight, &newest, "rows.s%u.t%u", s, table));
	if (!places)
		return MR_OK;
	MR_TRY(mr_state_add(&out->inflight, &copy, "rows.s%u.t%u.copies", s, table));
	return mr_state_add(&out->inflight, &value, "rows.s%u.t%u.values", s, table);
}

/* The rows of older versions of tables (weights/row_versions.h). */
static mr_status save_stage(const mr_run *run, uint16_t s, mr_state *out)
{
	const mr_row_versions *v = run->weights[s].row_versions;
	uint64_t latest = run->weights[s].latest;
	mr_saved_tensor t;

	if (!v || run->c.plan->contract.flush != MR_FLUSH_NONE)
		return MR_OK;
	if (latest + 1 < run->weights[s].cap) {
		for (uint32_t i = 0; i < v->n_tables; i++)
			MR_TRY(add_first_rows(&v->table[i], latest, s, i, out));
		return MR_OK;
	}
	t = mr_state_bytes(v->block, v->bytes);
	return mr_state_add(&out->inflight, &t, "rows.s%u", s);
}

const mr_feature mr_feature_rows = {
	.cut = cut,
	.pass = pass,
	.save_stage = save_stage,
};
