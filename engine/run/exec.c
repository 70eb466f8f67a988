#include "run/exec.h"

#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "host/clock.h"
#include "ir/deps.h"

enum { GOT_IN = 1, GOT_OUT = 2, GOT_TARGET = 4 };

/* --- where a worker stands --- */

static mr_cursor *cursor_of(mr_worker *w, const mr_lane *lane)
{
	return lane->train ? &w->train : &w->eval;
}

static void skip_ends(const mr_worker *w, const mr_plan *p, mr_cursor *c)
{
	if (c->section == MR_PROLOGUE && c->at == mr_plan_list(p, w->id, MR_PROLOGUE)->n)
		*c = (mr_cursor){.section = MR_BODY};
	if (c->section == MR_BODY && c->at == mr_plan_list(p, w->id, MR_BODY)->n)
		*c = (mr_cursor){.section = MR_BODY, .n = c->n + 1};
}

bool mr_exec_next(const mr_worker *w, mr_lane *lane, uint64_t until, mr_task *out)
{
	const mr_plan *p = lane->plan;
	mr_cursor c = lane->train ? w->train : w->eval;

	if (c.section == MR_BODY && c.n >= until)
		return false;
	*out = (mr_task){.lane = lane, .in = &mr_plan_list(p, w->id, c.section)->at[c.at], .n = c.n};
	out->micro = mr_instr_micro(p, out->in, c.n);
	if (out->in->op == MR_OP_N || out->in->op == MR_OP_AR || out->in->op == MR_OP_U)
		out->version = mr_instr_target(p, out->in, c.n);
	else
		out->version = lane->train ? mr_instr_read(p, out->in, c.n) : lane->version;
	return true;
}

void mr_exec_advance(mr_worker *w, mr_lane *lane)
{
	mr_cursor *c = cursor_of(w, lane);

	c->at++;
	skip_ends(w, lane->plan, c);
}

/* --- acquire --- */

static bool reached_all(mr_run *run, uint64_t version, bool norms)
{
	for (uint16_t s = 0; s < run->n_stages; s++)
		if (!mr_event_reached(norms ? &run->block[s].normed : &run->block[s].published, (uint32_t)version))
			return false;
	return true;
}

/* The message that buffer @want is full; any number will do at the model's input and target. */
static bool pop_full(mr_worker *w, mr_hop *h, uint32_t *got, int64_t want, mr_status *status)
{
	if (!mr_ring_try_pop(&h->full, got))
		return false;
	if (want >= 0 && *got != (uint32_t)want)
		*status = mr_fail(MR_EINVAL, "worker %u took buffer %u where the plan says %lld", w->id, *got, (long long)want);
	return true;
}

static mr_wait_cause acquire_f(mr_worker *w, const mr_task *t, mr_status *status)
{
	mr_run *run = w->run;
	mr_lane *l = t->lane;
	uint16_t s = t->in->stage, last = (uint16_t)(run->n_stages - 1);
	const mr_contract *k = &l->plan->contract;

	if (l->train && k->flush == MR_FLUSH_BARRIER && !reached_all(run, t->version, false))
		return MR_WAIT_WEIGHTS;
	if (k->tied && s == last && !mr_event_reached(&run->block[0].published, (uint32_t)t->version))
		return MR_WAIT_WEIGHTS;
	if (!(w->got & GOT_IN)) {
		int64_t want = s ? (int64_t)mr_instr_in_fwd(l->plan, t->in, t->n) : -1;

		if (!pop_full(w, &l->st[s].in, &w->in, want, status))
			return s ? MR_WAIT_UPSTREAM : MR_WAIT_DATA;
		w->got |= GOT_IN;
	}
	if (s == last && !(w->got & GOT_TARGET)) {
		if (!pop_full(w, &l->st[s].target, &w->target, -1, status))
			return MR_WAIT_DATA;
		w->got |= GOT_TARGET;
	}
	if (s < last && !(w->got & GOT_OUT)) {
		w->out = mr_instr_out(l->plan, t->in, t->n);
		if (!mr_hop_take(&l->st[s + 1].in, w->out))
			return MR_WAIT_DOWNSTREAM;
		w->got |= GOT_OUT;
	}
	return MR_WAIT_NONE;
}

static mr_wait_cause acquire_b(mr_worker *w, const mr_task *t, mr_status *status)
{
	mr_lane *l = t->lane;
	uint16_t s = t->in->stage;

	if (s + 1 < w->run->n_stages && !(w->got & GOT_IN)) {
		if (!pop_full(w, &l->st[s].grad, &w->in, mr_instr_in_bwd(l->plan, t->in, t->n), status))
			return MR_WAIT_UPSTREAM;
		w->got |= GOT_IN;
	}
	if (s > 0 && !(w->got & GOT_OUT)) {
		w->out = mr_instr_out(l->plan, t->in, t->n);
		if (!mr_hop_take(&l->st[s - 1].grad, w->out))
			return MR_WAIT_DOWNSTREAM;
		w->got |= GOT_OUT;
	}
	return MR_WAIT_NONE;
}

mr_wait_cause mr_exec_acquire(mr_worker *w, const mr_task *t, mr_status *status)
{
	mr_run *run = w->run;

	switch (t->in->op) {
	case MR_OP_F:
		return acquire_f(w, t, status);
	case MR_OP_B:
	case MR_OP_I:
		return acquire_b(w, t, status);
	case MR_OP_U:
		return t->lane->plan->contract.clip && !reached_all(run, t->version, true) ? MR_WAIT_OPTIMIZER : MR_WAIT_NONE;
	case MR_OP_AR:
		return mr_event_reached(&run->block[run->n_stages - 1].finished, (uint32_t)t->version) ? MR_WAIT_NONE
												       : MR_WAIT_WEIGHTS;
	default:
		return MR_WAIT_NONE;
	}
}

static void book(mr_worker *w, mr_wait_cause cause, uint64_t ns)
{
	uint64_t sum = w->wait_ns[cause] + ns;

	w->wait_ns[cause] = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

mr_status mr_exec_wait(mr_worker *w, const mr_task *t)
{
	mr_status st = MR_OK;
	mr_wait_cause cause = mr_exec_acquire(w, t, &st);
	uint64_t since;

	if (cause == MR_WAIT_NONE || st != MR_OK)
		return st;
	since = mr_clock_ns();
	while (cause != MR_WAIT_NONE && st == MR_OK) {
		mr_wait_cause before = cause;

		mr_waiter_note(&w->waiter, cause, (uint32_t)t->micro);
		st = mr_waiter_step(&w->waiter);
		if (st != MR_OK)
			break;
		cause = mr_exec_acquire(w, t, &st);
		if (cause != before) {
			uint64_t now = mr_clock_ns();

			book(w, before, now - since);
			since = now;
		}
	}
	mr_waiter_note(&w->waiter, MR_WAIT_NONE, 0);
	if (st == MR_OK)
		mr_waiter_done(&w->waiter);
	return st;
}

/* --- compute and release --- */

static mr_stage_io make_io(mr_worker *w, const mr_task *t, mr_slot *slot)
{
	mr_run *run = w->run;
	mr_lane *l = t->lane;
	uint16_t s = t->in->stage;
	mr_stage_io io = {
		.kc = w->kc,
		.in = mr_hop_buffer(&l->st[s].in, slot->in),
		.slot = slot->memory,
		.scratch = w->scratch,
		.weights = mr_block_weights(&run->block[s], t->version),
		.grads = run->block[s].grads,
		.add_grads = !(t->in->flags & MR_INSTR_FIRST_SUM),
		.samples = mr_lane_samples(l, t->micro),
		.train = l->train,
		.seed = run->c.seed,
		.first_sample = t->micro * (uint64_t)l->samples,
	};

	if (l->plan->contract.tied && s + 1 == run->n_stages)
		io.tied_weights = mr_block_weights(&run->block[0], t->version);
	return io;
}

static mr_status book_loss(mr_run *run, const mr_task *t, double loss)
{
	if (!isfinite(loss))
		return mr_fail(MR_EDIVERGED, "the %s of micro-batch %llu is %s (weights of version %llu)",
			       t->lane->train ? "loss" : "validation loss", (unsigned long long)t->micro, isnan(loss) ? "not a number" : "infinite",
			       (unsigned long long)t->version);
	if (t->lane->train) {
		run->losses[t->micro % (2 * t->lane->plan->contract.need)] = loss;
	} else {
		run->eval_sum += loss * (double)mr_lane_samples(t->lane, t->micro);
		run->eval_samples += (uint64_t)mr_lane_samples(t->lane, t->micro);
	}
	return MR_OK;
}

static void give_back(mr_hop *h, uint32_t buffer)
{
	bool room = mr_ring_try_push(&h->empty, buffer);

	(void)room; /* the ring holds all numbers */
}

static void hand_over(mr_hop *h, uint32_t buffer)
{
	bool room = mr_ring_try_push(&h->full, buffer);

	(void)room;
}

static mr_status do_f(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_lane *l = t->lane;
	uint16_t s = t->in->stage;
	mr_slot *slot = &l->st[s].slot[mr_instr_slot(l->plan, t->in, t->n)];
	mr_stage_io io;
	double loss = 0;

	if (slot->taken)
		return mr_fail(MR_EINVAL, "stage %u: the slot of micro-batch %llu still belongs to %llu", s,
			       (unsigned long long)t->micro, (unsigned long long)slot->micro);
	*slot = (mr_slot){.memory = slot->memory, .micro = t->micro, .version = t->version, .in = w->in, .taken = true};
	io = make_io(w, t, slot);
	io.loss = &loss;
	if (w->got & GOT_OUT)
		io.out = mr_hop_buffer(&l->st[s + 1].in, w->out);
	if (w->got & GOT_TARGET)
		io.target = mr_hop_buffer(&l->st[s].target, w->target);
	MR_TRY(mr_stage_forward(run->stage[s], &io));
	if (w->got & GOT_OUT)
		hand_over(&l->st[s + 1].in, w->out);
	if (w->got & GOT_TARGET) {
		give_back(&l->st[s].target, w->target);
		MR_TRY(book_loss(run, t, loss));
	}
	if (l->plan->contract.coverage == MR_COVER_FORWARD) {
		give_back(&l->st[s].in, slot->in);
		slot->taken = false;
	}
	return MR_OK;
}

static void count_staleness(mr_block *b, uint64_t read)
{
	uint64_t age = b->latest - read;

	b->staleness[age < MR_STALENESS_BINS ? age : MR_STALENESS_BINS - 1]++;
}

/* The last reader of a micro-batch's activations at this stage is done. */
static void release_slot(mr_run *run, const mr_task *t, mr_slot *slot)
{
	mr_lane *l = t->lane;
	uint16_t s = t->in->stage;

	give_back(&l->st[s].in, slot->in);
	if (s + 1 < run->n_stages)
		give_back(&l->st[s].grad, slot->grad);
	slot->taken = false;
	count_staleness(&run->block[s], slot->version);
}

static void record_step(mr_run *run, const mr_task *t, uint64_t version, double lr, double norm)
{
	uint32_t need = t->lane->plan->contract.need;
	uint64_t at = atomic_load_explicit(&run->n_steps, memory_order_relaxed);
	uint64_t first = (version - 1) * need;
	double sum = 0;

	for (uint32_t i = 0; i < need; i++)
		sum += run->losses[(first + i) % (2 * need)];
	run->step[at % MR_STEP_RING] = (mr_step_rec){
		.step = version,
		.loss = sum / need,
		.lr = lr,
		.norm = t->lane->plan->contract.clip ? norm : (double)NAN,
		.time_ns = mr_clock_ns(),
	};
	/* pairs with the acquire load in mr_engine_poll: the record is written before its number is seen */
	atomic_store_explicit(&run->n_steps, at + 1, memory_order_release);
}

static mr_status check_next(const mr_block *b, const mr_task *t, uint64_t version)
{
	if (version == b->latest + 1)
		return MR_OK;
	return mr_fail(MR_EINVAL, "stage %u commits version %llu after %llu", t->in->stage, (unsigned long long)version,
		       (unsigned long long)b->latest);
}

/* Version @version is made: let others read it. */
static void publish(mr_run *run, const mr_task *t, uint64_t version, double lr, double norm)
{
	mr_event_publish(&run->block[t->in->stage].published, (uint32_t)version);
	if (t->in->stage + 1 == run->n_stages)
		record_step(run, t, version, lr, norm);
}

/*
 * The steps that a B or W with MR_INSTR_UPDATE carries out, layer by layer, from the latest version into the next one's
 * buffer. That buffer may be the one that this very instruction reads (with one buffer it always is), and it may hold no
 * version that anything else still reads:
 *	- later instructions of this worker: the checker counts this commit at this place of the list (check_versions.c), so
 *	  whatever follows reads a version newer than latest + 1 - cap, which is another buffer or the new version itself;
 *	- other workers read this stage's weights only where a block is tied, and then no instruction has the flag;
 *	- this instruction: a layer's weights are read by its own I alone, which comes before its W and its step (a weight that
 *	  two layers of one stage share would be read later, but then mr_run_create refuses the flag). W reads no weights. In a
 *	  W apart from its I, every I of the count is behind us.
 * The source is read by the step itself alone, and lies in the same buffer only where it is the same version.
 */
static mr_status prepare_steps(mr_run *run, const mr_task *t, mr_stage_io *io)
{
	const mr_plan *p = t->lane->plan;
	mr_block *b = &run->block[t->in->stage];
	uint64_t version = mr_instr_target(p, t->in, t->n);

	MR_TRY(check_next(b, t, version));
	io->step = mr_block_steps(b, run->c.optim, mr_lr_at(run->c.lr, version), 1 / (double)p->contract.need);
	return MR_OK;
}

static mr_status do_backward(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_lane *l = t->lane;
	uint16_t s = t->in->stage;
	mr_block *b = &run->block[s];
	mr_slot *slot = &l->st[s].slot[mr_instr_slot(l->plan, t->in, t->n)];
	mr_stage_io io;

	if (!slot->taken || slot->micro != t->micro ||
	    (l->plan->contract.same_version_b && slot->version != t->version))
		return mr_fail(MR_EINVAL, "stage %u: backward of micro-batch %llu with version %llu found the activations of %llu with version %llu",
			       s, (unsigned long long)t->micro, (unsigned long long)t->version,
			       (unsigned long long)slot->micro, (unsigned long long)slot->version);
	if (w->got & GOT_IN)
		slot->grad = w->in;
	io = make_io(w, t, slot);
	if (s + 1 < run->n_stages)
		io.grad_out = mr_hop_buffer(&l->st[s].grad, slot->grad);
	if (w->got & GOT_OUT)
		io.grad_in = mr_hop_buffer(&l->st[s - 1].grad, w->out);
	if (t->in->flags & MR_INSTR_UPDATE)
		MR_TRY(prepare_steps(run, t, &io));
	switch (t->in->op) {
	case MR_OP_B:
		MR_TRY(mr_stage_backward(run->stage[s], &io));
		break;
	case MR_OP_I:
		MR_TRY(mr_stage_backward_input(run->stage[s], &io));
		break;
	default:
		MR_TRY(mr_stage_backward_weight(run->stage[s], &io));
	}
	if (w->got & GOT_OUT)
		hand_over(&l->st[s - 1].grad, w->out);
	if (t->in->op == MR_OP_I)
		return MR_OK;
	release_slot(run, t, slot);
	b->n_summed = t->in->flags & MR_INSTR_FIRST_SUM ? 1 : b->n_summed + 1;
	if (b->n_summed == l->plan->contract.need)
		mr_event_publish(&b->finished, (uint32_t)(b->latest + 1));
	if (t->in->flags & MR_INSTR_UPDATE) {
		mr_block_committed(b);
		publish(run, t, b->latest, mr_lr_at(run->c.lr, b->latest), NAN);
	}
	return MR_OK;
}

static void sum_tied(mr_worker *w, mr_block *b)
{
	if (!b->tied_summed)
		mr_stage_sum_tied(b->stage, w->kc, b->grads);
	b->tied_summed = true;
}

static double commit_scale(mr_run *run, const mr_task *t, mr_block *b, double *norm)
{
	double count = t->lane->plan->contract.need;
	bool global = t->lane->plan->contract.clip;

	*norm = NAN;
	if (run->c.clip <= 0)
		return 1 / count;
	*norm = (global ? mr_blocks_norm(run->block, run->n_stages) : mr_blocks_norm(b, 1)) / count;
	return mr_clip_factor(*norm, run->c.clip) / count;
}

static mr_status do_commit(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_block *b = &run->block[t->in->stage];
	double lr = mr_lr_at(run->c.lr, t->version), norm, scale;

	MR_TRY(check_next(b, t, t->version));
	sum_tied(w, b);
	if (run->c.clip > 0 && !t->lane->plan->contract.clip)
		mr_block_norms(b, w->kc);
	scale = commit_scale(run, t, b, &norm);
	if (run->c.clip > 0 && !isfinite(norm))
		return mr_fail(MR_EDIVERGED, "the gradient norm of step %llu is not finite", (unsigned long long)t->version);
	mr_block_commit(b, w->kc, run->c.optim, lr, scale);
	publish(run, t, t->version, lr, norm);
	return MR_OK;
}

static mr_status compute(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_block *b = &run->block[t->in->stage];

	switch (t->in->op) {
	case MR_OP_F:
		return do_f(w, t);
	case MR_OP_B:
	case MR_OP_I:
	case MR_OP_W:
		return do_backward(w, t);
	case MR_OP_N:
		sum_tied(w, b);
		mr_block_norms(b, w->kc);
		mr_event_publish(&b->normed, (uint32_t)t->version);
		return MR_OK;
	case MR_OP_AR:
		sum_tied(w, b);
		mr_stage_sum_tied_from(b->stage, w->kc, b->grads, run->stage[run->n_stages - 1],
				       run->block[run->n_stages - 1].grads);
		return MR_OK;
	case MR_OP_U:
		return do_commit(w, t);
	default:
		return mr_fail(MR_EINVAL, "the engine has no way to carry out %s", mr_op_name(t->in->op));
	}
}

static void trace(mr_worker *w, const mr_task *t, uint64_t begin, uint64_t end)
{
	mr_trace_rec *r = &w->trace[w->n_trace++ % MR_TRACE_RING];

	*r = (mr_trace_rec){
		.begin_ns = begin - w->run->start_ns,
		.end_ns = end - w->run->start_ns,
		.micro = (uint32_t)t->micro,
		.version = (uint32_t)t->version,
		.stage = t->in->stage,
		.worker = w->id,
		.op = t->in->op,
		.pipe = t->in->pipe,
	};
	memcpy(r->wait_ns, w->wait_ns, sizeof(r->wait_ns));
}

/* Training only: evaluation happens in pauses, which no figure of the run counts. */
static void keep_stats(mr_worker *w, const mr_task *t, uint64_t begin, uint64_t end)
{
	w->stats.busy_ns[t->in->op] += end - begin;
	w->stats.count[t->in->op]++;
	for (int c = 0; c < MR_N_WAITS; c++)
		w->stats.wait_ns[c] += w->wait_ns[c];
	if (w->trace)
		trace(w, t, begin, end);
}

mr_status mr_exec_do(mr_worker *w, const mr_task *t)
{
	uint64_t begin = mr_clock_ns(), end;

	MR_TRY(compute(w, t));
	end = mr_clock_ns();
	atomic_store_explicit(&w->busy_ns, atomic_load_explicit(&w->busy_ns, memory_order_relaxed) + end - begin,
			      memory_order_relaxed);
	if (t->lane->train)
		keep_stats(w, t, begin, end);
	memset(w->wait_ns, 0, sizeof(w->wait_ns));
	w->got = 0;
	atomic_store_explicit(&w->beat, ++w->n_done, memory_order_relaxed);
	if (w->run->c.observer && t->lane->train)
		w->run->c.observer(w->run->c.observer_arg, w->run, t->in, t->micro, t->version);
	return MR_OK;
}

/* The pause point to keep to: looked up again whenever an iteration is about to begin. */
static uint64_t look_up_limit(mr_worker *w, const mr_lane *lane, const _Atomic uint64_t *limit)
{
	const mr_cursor *c = cursor_of(w, lane);

	if (lane->train)
		atomic_store_explicit(&w->begun, c->n, memory_order_relaxed);
	return atomic_load_explicit(limit, memory_order_relaxed);
}

mr_status mr_exec_run(mr_worker *w, mr_lane *lane, const _Atomic uint64_t *limit)
{
	uint64_t until = look_up_limit(w, lane, limit);
	mr_task t;

	while (mr_exec_next(w, lane, until, &t)) {
		atomic_store_explicit(&w->doing, mr_doing_pack(t.in->op, t.in->stage, t.micro), memory_order_relaxed);
		mr_fault_delay(w->id, w->n_done);
		MR_TRY(mr_exec_wait(w, &t));
		MR_TRY(mr_exec_do(w, &t));
		mr_exec_advance(w, lane);
		if (cursor_of(w, lane)->at == 0)
			until = look_up_limit(w, lane, limit);
	}
	atomic_store_explicit(&w->doing, MR_DOING_NOTHING, memory_order_relaxed);
	mr_fault_delay(w->id, w->n_done); /* a look may come between the last instruction and the report */
	return MR_OK;
}
