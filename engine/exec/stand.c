/*
 * stand.c - puts a run at a pause point: the plan alone determines which micro-batches are under way there.
 *
 * At pause point n (ir/pause.h), stage s has done a number of F and a number of B; the micro-batches between the two
 * counts hold its slots, those that stage s-1 has done and s has not are messages in the ring between them, and
 * everything else is idle. A plan that flushes has nothing under way. A plan that does not flush recomputes right
 * before B, so the activations that its F dropped are not recomputed yet. Each of its pipes has every P-th micro-batch.
 */
#include <assert.h>
#include <string.h>

#include "exec/run.h"

/* The cursor of worker @w at pause point @step > 0. */
static mr_cursor cursor_at(const mr_run *run, uint16_t w, uint64_t step)
{
	const mr_worker *wk = &run->worker[w];
	mr_cursor c = {.section = MR_PROLOGUE, .step = step};

	if (step > wk->n_pauses)
		return (mr_cursor){
			.section = MR_BODY, .n = (step - wk->n_pauses) / mr_plan_stride(run->c.plan), .step = step};
	c.at = wk->pause_at[step - 1];
	return c.at < mr_plan_list(run->c.plan, w, MR_PROLOGUE)->n ? c : (mr_cursor){.section = MR_BODY, .step = step};
}

/* Micro-batches whose F (or else last backward half) stage @s of @pipe has done when its worker stands at @c. */
static uint64_t done_at(const mr_run *run, uint8_t pipe, uint16_t s, const mr_cursor *c, bool forward)
{
	const mr_plan *p = run->c.plan;
	uint16_t w = mr_plan_worker(p, pipe, s);
	uint64_t sum = 0;

	for (int sec = MR_PROLOGUE; sec <= MR_BODY; sec++) {
		const mr_list *l = mr_plan_list(p, w, (mr_section)sec);

		for (uint32_t i = 0; i < l->n; i++) {
			const mr_instr *in = &l->at[i];
			bool counts = forward ? in->op == MR_OP_F : in->op == MR_OP_B || in->op == MR_OP_W;

			if (in->stage == s && in->pipe == pipe && counts)
				sum += in->span * (sec == MR_BODY ? c->n : c->section == MR_BODY || i < c->at);
		}
	}
	return sum;
}

uint64_t mr_run_done(const mr_run *run, uint8_t pipe, uint16_t s, bool forward)
{
	if (run->hooks.instead.done)
		return run->hooks.instead.done(run, pipe, s, forward);
	return done_at(run, pipe, s, &run->worker[mr_plan_worker(run->c.plan, pipe, s)].train, forward);
}

uint64_t mr_run_done_at(const mr_run *run, uint16_t s, uint64_t step, bool forward)
{
	mr_cursor c = cursor_at(run, mr_plan_worker(run->c.plan, 0, s), step);

	return done_at(run, 0, s, &c, forward);
}

/* F of micro-batch @m at stage @s of @pipe, and its iteration. */
static const mr_instr *forward_of(const mr_plan *p, uint8_t pipe, uint16_t s, uint64_t m, uint64_t *n)
{
	for (int sec = MR_PROLOGUE; sec <= MR_BODY; sec++) {
		const mr_list *l = mr_plan_list(p, mr_plan_worker(p, pipe, s), (mr_section)sec);

		for (uint32_t i = 0; i < l->n; i++) {
			const mr_instr *in = &l->at[i];

			if (in->op != MR_OP_F || in->stage != s || in->pipe != pipe || m < in->micro)
				continue;
			*n = sec == MR_BODY ? (m - in->micro) / p->n_micro : 0;
			if (sec == MR_BODY ? (m - in->micro) % p->n_micro == 0 : m == in->micro)
				return in;
		}
	}
	assert(false); /* every micro-batch has a forward */
	return NULL;
}

mr_status mr_run_read(const mr_run *run, uint8_t pipe, uint16_t s, uint64_t m, uint64_t *version, bool *drops)
{
	const mr_instr *in;
	uint64_t n = 0;

	if (run->hooks.instead.read)
		return run->hooks.instead.read(run, pipe, s, m, version, drops);
	in = forward_of(run->c.plan, pipe, s, m, &n);
	*version = mr_instr_read(run->c.plan, in, n);
	*drops = in->flags & MR_INSTR_DROP;
	return MR_OK;
}

/*
 * Takes the slots of stage @s in @pipe, and the buffers that they hold; for a micro-batch that is recomputed later,
 * only the input. @f and @b count the pipe's own micro-batches, like the numbers of its places (plan.h).
 */
static mr_status take_slots(mr_run *run, uint8_t pipe, uint16_t s, uint64_t f, uint64_t b)
{
	const mr_plan *p = run->c.plan;
	mr_links_stage *st = mr_links_at(&run->train, pipe, s);
	size_t at = mr_plan_at(p, pipe, s);

	for (uint64_t k = b; k < f; k++) {
		uint64_t read, m = k * p->n_pipes + pipe;
		mr_slot *slot = &st->slot[k % p->n_slots[at]];
		uint32_t buffer = s ? (uint32_t)(k % p->n_fwd[at]) : (uint32_t)(k - b);
		bool drops;

		MR_TRY(mr_run_read(run, pipe, s, m, &read, &drops));
		mr_link_hold(&st->in, buffer);
		if (drops) {
			st->kept_in[m % st->n_kept] = buffer;
			st->kept_version[m % st->n_kept] = read;
			continue;
		}
		mr_links_hold(st, slot);
		slot->micro = m;
		slot->version = read;
		slot->in = buffer;
	}
	return MR_OK;
}

/* Restores what is under way in stage @s of @pipe, and at its two boundaries. */
static mr_status take_flow(mr_run *run, uint8_t pipe, uint16_t s)
{
	const mr_plan *p = run->c.plan;
	mr_links_stage *st = mr_links_at(&run->train, pipe, s);
	uint64_t f = mr_run_done(run, pipe, s, true), b = mr_run_done(run, pipe, s, false);
	size_t place = mr_plan_at(p, pipe, s);

	MR_TRY(take_slots(run, pipe, s, f, b));
	MR_EACH_FEATURE(run, x, stand_stage)
		MR_TRY((*x)->stand_stage(run, pipe, s));
	for (uint64_t k = f; s > 0 && k < mr_run_done(run, pipe, (uint16_t)(s - 1), true); k++)
		mr_link_restore(&st->in, (uint32_t)(k % p->n_fwd[place]));
	for (uint64_t k = b; s + 1 < run->n_stages && k < mr_run_done(run, pipe, (uint16_t)(s + 1), false); k++)
		mr_link_restore(&st->grad, (uint32_t)(k % p->n_bwd[place + 1]));
	return MR_OK;
}

/* Is the worker of stage @s of @pipe another rank's? */
static bool is_remote(const mr_run *run, uint8_t pipe, uint16_t s)
{
	return !mr_run_is_here(&run->c, mr_plan_worker(run->c.plan, pipe, s));
}

/* Buffers of @h that are full or held, as a producer on another rank knows them: numbers from @b to below @f, modulo
 * @n. */
static void mirror_link(mr_link *h, uint64_t b, uint64_t f, uint32_t n)
{
	memset(h->state, MR_BUFFER_IDLE, h->n);
	for (uint64_t k = b; k < f; k++)
		mr_link_hold(h, (uint32_t)(k % n));
}

/* What is under way in stage @s of @pipe, as far as another rank has it. */
static mr_status mirror_flow(mr_run *run, uint8_t pipe, uint16_t s)
{
	const mr_plan *p = run->c.plan;
	mr_links_stage *st = mr_links_at(&run->train, pipe, s);
	uint64_t f = mr_run_done(run, pipe, s, true), b = mr_run_done(run, pipe, s, false);
	size_t place = mr_plan_at(p, pipe, s);

	if (is_remote(run, pipe, s)) {
		for (uint32_t i = 0; i < st->n_slots; i++)
			st->slot[i] = (mr_slot){.memory = st->slot_memory + i * st->slot_bytes};
		st->n_taken = 0;
		MR_TRY(take_slots(run, pipe, s, f, b));
		MR_EACH_FEATURE(run, x, stand_stage)
			MR_TRY((*x)->stand_stage(run, pipe, s));
	}
	if (s > 0 && is_remote(run, pipe, (uint16_t)(s - 1)))
		mirror_link(&st->in, b, mr_run_done(run, pipe, (uint16_t)(s - 1), true), p->n_fwd[place]);
	if (s + 1 < run->n_stages && is_remote(run, pipe, (uint16_t)(s + 1)))
		mirror_link(&st->grad, b, mr_run_done(run, pipe, (uint16_t)(s + 1), false), p->n_bwd[place + 1]);
	return MR_OK;
}

mr_status mr_run_mirror(mr_run *run, uint64_t n)
{
	for (uint32_t i = 0; i < mr_run_n_weights(run); i++)
		run->weights[i].latest = mr_run_version_at(run, (uint16_t)(i % run->n_stages), n);
	for (uint16_t w = 0; n > 0 && w < run->n_workers; w++)
		if (!mr_run_is_here(&run->c, w))
			run->worker[w].train = cursor_at(run, w, n);
	for (unsigned pipe = 0; run->c.plan->contract.flush == MR_FLUSH_NONE && pipe < run->n_pipes; pipe++)
		for (uint16_t s = 0; s < run->n_stages; s++)
			MR_TRY(mirror_flow(run, (uint8_t)pipe, s));
	return MR_OK;
}

mr_status mr_run_stand_at(mr_run *run, uint64_t n)
{
	const mr_plan *p = run->c.plan;

	run->resumed = n > 0;
	for (uint16_t w = 0; w < run->n_workers; w++) {
		if (n > 0)
			run->worker[w].train = cursor_at(run, w, n);
		MR_EACH_FEATURE(run, f, stand_worker)
			MR_TRY((*f)->stand_worker(&run->worker[w], n));
		atomic_store_explicit(&run->worker[w].begun, n, memory_order_relaxed);
	}
	MR_EACH_FEATURE(run, f, stand)
		(*f)->stand(run, n);
	for (unsigned pipe = 0; p->contract.flush == MR_FLUSH_NONE && pipe < run->n_pipes; pipe++)
		for (uint16_t s = 0; s < run->n_stages; s++) {
			assert(n == 0 || p->storage == MR_MODULO);
			MR_TRY(take_flow(run, (uint8_t)pipe, s));
		}
	return MR_OK;
}
