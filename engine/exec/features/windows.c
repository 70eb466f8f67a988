/* windows.c - endless plans (ir/endless.h), whose lists are made a window at a time while the run goes on. */
#include "exec/exec.h"
#include "exec/features/window_store.h"
#include "ir/endless.h"

#include <stdlib.h>

static const mr_list *list(const mr_worker *w)
{
	return w->window->plan ? mr_plan_list(w->window->plan, w->id, MR_BODY) : NULL;
}

/* From the end of a window to the next one; one that cannot be made ends the run. */
static void advance(mr_worker *w)
{
	mr_window_place *at = w->window;
	const mr_list *l = list(w);
	mr_cursor *c = &w->train;
	mr_status st;

	c->step += mr_window_pauses(&l->at[c->at]);
	at->n_begun += l->at[c->at].op == MR_OP_F;
	if (++c->at < l->n)
		return;
	mr_windows_give_back(w->run->windows, at->plan);
	at->plan = NULL;
	*c = (mr_cursor){.section = MR_BODY, .n = c->n + 1, .step = c->step};
	st = mr_windows_take(w->run->windows, c->n, &at->plan);
	if (st != MR_OK)
		mr_run_fail(w->run, st);
}

static mr_status sample(mr_run *run, uint16_t stage, uint64_t step, mr_feed_place *at, uint64_t *micro)
{
	const mr_list *l = at->plan ? mr_plan_list(at->plan, stage, MR_BODY) : NULL;
	const mr_plan *old = at->plan;

	while (l && at->at < l->n &&
	       (l->at[at->at].op != MR_OP_F || mr_instr_micro(at->plan, &l->at[at->at], at->n) != step))
		at->at++;
	if (!l || at->at == l->n) {
		at->plan = NULL;
		mr_windows_give_back(run->windows, old);
		MR_TRY(mr_windows_forward(run->windows, stage, step, &at->plan, &at->n, &at->at));
		l = mr_plan_list(at->plan, stage, MR_BODY);
	}
	*micro = (uint32_t)l->at[at->at].target;
	return MR_OK;
}

static void leave_sample(mr_run *run, mr_feed_place *at)
{
	mr_windows_give_back(run->windows, at->plan);
	at->plan = NULL;
}

static mr_status read_of(const mr_run *run, uint8_t pipe, uint16_t s, uint64_t m, uint64_t *version, bool *drops)
{
	const mr_plan *window;
	uint64_t n;
	uint32_t at;

	(void)pipe;
	MR_TRY(mr_windows_forward(run->windows, s, m, &window, &n, &at));
	*version = mr_instr_read(window, &mr_plan_list(window, s, MR_BODY)->at[at], n);
	*drops = false;
	mr_windows_give_back(run->windows, window);
	return MR_OK;
}

static uint64_t done(const mr_run *run, uint8_t pipe, uint16_t s, bool forward)
{
	const mr_worker *w = &run->worker[mr_plan_worker(run->c.plan, pipe, s)];

	return forward ? w->window->n_begun : w->train.step;
}

/* --- the feature --- */

static mr_status create(mr_run *run)
{
	return mr_windows_create(run->c.plan, &run->windows);
}

static void destroy(mr_run *run)
{
	mr_windows_destroy(run->windows);
}

static mr_status create_worker(mr_worker *w)
{
	w->window = calloc(1, sizeof(*w->window));
	return w->window ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the windows of worker %u", w->id);
}

static void destroy_worker(mr_worker *w)
{
	free(w->window);
}

static mr_status stand_worker(mr_worker *w, uint64_t step)
{
	mr_windows *windows = w->run->windows;
	mr_window_place *at = w->window;

	mr_windows_give_back(windows, at->plan);
	at->plan = NULL;
	w->train = (mr_cursor){.section = MR_BODY, .step = step};
	MR_TRY(mr_windows_seek(windows, w->id, step, &w->train.n, &at->plan, &w->train.at));
	return mr_windows_begun(windows, w->id, step, &at->n_begun);
}

const mr_feature mr_feature_windows = {
	.instead = {.list = list,
		    .advance = advance,
		    .sample = sample,
		    .leave_sample = leave_sample,
		    .read = read_of,
		    .done = done},
	.create = create,
	.destroy = destroy,
	.create_worker = create_worker,
	.destroy_worker = destroy_worker,
	.stand_worker = stand_worker,
};
