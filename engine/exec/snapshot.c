#include "exec/snapshot.h"

#include <assert.h>
#include <stdlib.h>

#include "base/zeroed.h"

static bool features_may(const mr_run *run)
{
	for (const mr_feature *const *f = run->feature; *f; f++)
		if ((*f)->save_param || (*f)->save_stage || (*f)->save_pipe || (*f)->save_end || (*f)->leave)
			return false;
	return !run->facts;
}

static bool may(const mr_run *run)
{
	const mr_instead *h = &run->hooks.instead;
	const mr_plan *p = run->c.plan;

	if (run->c.ranks || run->c.shares || run->n_pipes != 1 || p->contract.coverage != MR_COVER_TRAIN ||
	    mr_plan_stride(p) != 1 || run->n_trained != run->n_stages || !features_may(run) || h->list || h->read ||
	    h->done || h->train || (p->storage != MR_MODULO && p->contract.flush == MR_FLUSH_NONE))
		return false;
	for (uint16_t s = 0; s < run->n_stages; s++)
		if (mr_links_at(&run->train, 0, s)->n_kept)
			return false;
	return true;
}

mr_status mr_snapshot_open(mr_run *run)
{
	if (run->snapshot || !may(run))
		return MR_OK;
	run->snapshot = mr_zeroed(sizeof(*run->snapshot));
	if (run->snapshot) {
		atomic_init(&run->snapshot->step, MR_SNAPSHOT_NONE);
		run->snapshot->stage = calloc(run->n_stages, sizeof(*run->snapshot->stage));
	}
	return run->snapshot && run->snapshot->stage ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a snapshot");
}

void mr_snapshot_close(mr_run *run)
{
	if (!run->snapshot)
		return;
	mr_state_fini(&run->snapshot->state);
	free(run->snapshot->stage);
	free(run->snapshot->late);
	free(run->snapshot);
	run->snapshot = NULL;
}

/* --- the lists --- */

/* The number among [@from, @end) whose place among @n is @i; false: there is none. */
static bool number_at(uint64_t from, uint64_t end, uint32_t n, uint32_t i, uint64_t *number)
{
	*number = from + (i + n - from % n) % n;
	return *number < end;
}

/* What mr_state_of_run lists of the slots of stage @s, which has done @f forwards and @b backwards. */
static mr_status list_slots(const mr_run *run, uint16_t s, uint64_t b, uint64_t f, mr_state *out)
{
	mr_links_stage *st = mr_links_at(&run->train, 0, s);
	uint32_t n = run->c.plan->n_slots[mr_plan_at(run->c.plan, 0, s)];
	mr_state_list *l = &out->inflight;
	uint64_t m;

	for (uint32_t i = 0; i < n; i++) { /* slots themselves are the worker's */
		mr_saved_tensor t = mr_state_bytes(st->slot_memory + i * st->slot_bytes, st->slot_bytes);

		if (t.bytes && number_at(b, f, n, i, &m))
			MR_TRY(mr_state_add(l, &t, "slot.s%u.m%llu", s, (unsigned long long)m));
	}
	run->snapshot->stage[s].inputs = l->n;
	for (uint32_t i = 0; i < n && s == 0; i++) {
		mr_saved_tensor t = mr_state_bytes(mr_link_buffer(&st->in, 0), st->in.bytes); /* as yet */

		if (number_at(b, f, n, i, &m))
			MR_TRY(mr_state_add(l, &t, "input.m%llu", (unsigned long long)m));
	}
	for (uint32_t i = 0; i < n && s + 1 == run->n_stages; i++) {
		mr_saved_tensor t = {.dtype = MR_F64, .n_dims = 1, .shape = {1}, .bytes = sizeof(double)};

		if (!number_at(b, f, n, i, &m))
			continue;
		t.data = &run->losses[m % run->n_losses];
		MR_TRY(mr_state_add(l, &t, "loss.m%llu", (unsigned long long)m));
	}
	return MR_OK;
}

static mr_status list_stage(const mr_run *run, uint16_t s, uint64_t step, mr_state *out)
{
	uint64_t b = mr_run_done_at(run, s, step, false), m;
	uint64_t end = mr_run_done_at(run, s ? (uint16_t)(s - 1) : s, step, true);
	mr_links_stage *st = mr_links_at(&run->train, 0, s);

	assert(b == mr_run_done_at(run, 0, step, false)); /* no gradient is on its way */
	MR_TRY(mr_state_of_stage(run, s, mr_run_version_at(run, s, step), out));
	MR_TRY(list_slots(run, s, b, mr_run_done_at(run, s, step, true), out));
	run->snapshot->stage[s].sent = out->inflight.n;
	for (uint32_t i = 0; s > 0 && i < st->in.n; i++) {
		mr_saved_tensor t = mr_state_bytes(mr_link_buffer(&st->in, i), st->in.bytes);

		if (number_at(b, end, st->in.n, i, &m))
			MR_TRY(mr_state_add(&out->inflight, &t, "in.s%u.b%u", s, i));
	}
	return MR_OK;
}

/* The tensor of buffer @i that the stage before @s has sent; SIZE_MAX: it has not. */
static size_t find_sent(const mr_run *run, uint16_t s, uint32_t i)
{
	const mr_snapshot_stage *of = &run->snapshot->stage[s];
	const void *at = mr_link_buffer(&mr_links_at(&run->train, 0, s)->in, i);

	for (size_t k = of->sent; k < of->end[2]; k++)
		if (run->snapshot->state.inflight.at[k].data == at)
			return k;
	return SIZE_MAX;
}

mr_status mr_snapshot_list(mr_run *run, uint64_t step)
{
	mr_snapshot *x = run->snapshot;
	const mr_state_list *list[3] = {&x->state.model, &x->state.optimizer, &x->state.inflight};
	mr_status st = MR_OK;

	mr_state_fini(&x->state);
	for (uint16_t s = 0; s < run->n_stages && st == MR_OK; s++) {
		for (int l = 0; l < 3; l++)
			x->stage[s].first[l] = list[l]->n;
		st = list_stage(run, s, step, &x->state);
		for (int l = 0; l < 3; l++)
			x->stage[s].end[l] = list[l]->n;
	}
	free(x->late);
	x->late = calloc(x->state.inflight.n + 1, 1);
	if (st == MR_OK && !x->late)
		st = mr_fail(MR_ERESOURCE, "no memory for a list of %zu tensors", x->state.inflight.n);
	for (uint16_t s = 1; s < run->n_stages && st == MR_OK; s++) {
		uint64_t end = mr_run_done_at(run, (uint16_t)(s - 1), step, true);

		for (uint64_t m = mr_run_done_at(run, s, step, true); m < end; m++)
			x->late[find_sent(run, s, (uint32_t)(m % mr_links_at(&run->train, 0, s)->in.n))] = 1;
	}
	return st;
}

/* --- on its way --- */

void mr_snapshot_arm(mr_run *run, uint64_t step, mr_snapshot_copy *copy, void *arg)
{
	mr_snapshot *x = run->snapshot;

	x->number++;
	x->copy = copy;
	x->arg = arg;
	atomic_store_explicit(&x->n_passed, 0, memory_order_relaxed);
	atomic_store_explicit(&x->n_whole, 0, memory_order_relaxed);
	atomic_store_explicit(&x->step, step, memory_order_release);
}

bool mr_snapshot_is_whole(const mr_run *run)
{
	return atomic_load_explicit(&run->snapshot->n_whole, memory_order_acquire) == run->n_workers;
}

bool mr_snapshot_complete(mr_run *run)
{
	mr_snapshot *x = run->snapshot;

	if (atomic_load_explicit(&x->n_passed, memory_order_acquire) != run->n_workers)
		return false;
	for (size_t i = 0; i < x->state.inflight.n; i++)
		if (x->late[i])
			x->copy(x->arg, 2, i, NULL, NULL);
	return true;
}

void mr_snapshot_end(mr_run *run)
{
	bool whole = mr_snapshot_is_whole(run);

	atomic_store_explicit(&run->snapshot->step, MR_SNAPSHOT_NONE, memory_order_relaxed);
	for (uint16_t w = 0; w < run->n_workers && !whole; w++)
		run->worker[w].n_late = 0;
}

static void find_inputs(const mr_run *run, mr_snapshot_stage *of)
{
	mr_links_stage *st = mr_links_at(&run->train, 0, 0);
	size_t k = of->inputs;

	for (uint32_t i = 0; i < st->n_slots; i++)
		if (st->slot[i].taken)
			run->snapshot->state.inflight.at[k++].data = mr_link_buffer(&st->in, st->slot[i].in);
}

void mr_snapshot_pass(mr_worker *w, uint64_t step)
{
	mr_run *run = w->run;
	mr_snapshot *x = run->snapshot;

	if (atomic_load_explicit(&x->step, memory_order_acquire) != step || w->snapshot_number == x->number)
		return;
	w->snapshot_number = x->number;
	for (uint16_t s = 0; s < run->n_stages; s++) {
		mr_snapshot_stage *of = &x->stage[s];

		if (mr_plan_worker(run->c.plan, 0, s) != w->id)
			continue;
		if (s == 0)
			find_inputs(run, of);
		for (int l = 0; l < 3; l++)
			for (size_t i = of->first[l]; i < of->end[l]; i++)
				if (l == 2 && x->late[i])
					w->n_late++;
				else
					x->copy(x->arg, l, i, run->c.kernels, w->kc);
	}
	atomic_fetch_add_explicit(&x->n_passed, 1, memory_order_release);
	if (!w->n_late) /* the last thing that is done to it: the caller may begin the next one */
		atomic_fetch_add_explicit(&x->n_whole, 1, memory_order_release);
}

void mr_snapshot_take(mr_worker *w, uint16_t s, uint32_t in)
{
	mr_snapshot *x = w->run->snapshot;
	size_t i = s ? find_sent(w->run, s, in) : SIZE_MAX;

	if (i == SIZE_MAX || !x->late[i])
		return;
	x->copy(x->arg, 2, i, w->run->c.kernels, w->kc);
	x->late[i] = 0;
	if (!--w->n_late)
		atomic_fetch_add_explicit(&x->n_whole, 1, memory_order_release);
}
