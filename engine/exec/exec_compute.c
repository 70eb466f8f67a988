/* exec_compute.c - F and the backward instructions: arithmetic, slots, sending of the results. */
#include "exec/exec_internal.h"
#include "exec/shares.h"

#include <math.h>

#include "ir/deps.h"
#include "weights/reduction.h"

/* Counts @t as a reader of its version, unless a feature says that it reads another's. */
static void count_read(const mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	if (!t->links->train)
		return;
	for (uint32_t i = 0; w->run->hooks.reads[i]; i++)
		if (!w->run->hooks.reads[i](w, t))
			return;
	mr_version_count_read(&b->version_count, t->version);
	if (mr_instr_takes_two(t->links->plan, t->in, t->version))
		mr_version_count_read(&b->version_count, t->version - 1);
}

mr_status mr_exec_make_io(mr_worker *w, const mr_task *t, mr_slot *slot, mr_stage_io *io)
{
	mr_run *run = w->run;
	mr_links *l = t->links;
	uint16_t s = t->in->stage;
	uint8_t pipe = t->in->pipe;
	mr_stage_weights *b = mr_run_weights(run, pipe, s);

	*io = (mr_stage_io){
		.kc = w->kc,
		.in = mr_link_buffer(&t->st->in, slot->in),
		.slot = slot->memory,
		.scratch = w->scratch,
		.add_grads = !(t->in->flags & MR_INSTR_FIRST_SUM),
		.samples = mr_links_samples(l, t->micro),
		.train = l->train,
		.seed = run->c.seed,
		.first_sample = t->micro * (uint64_t)l->samples,
		.window = t->micro / run->c.plan->contract.need,
		.own_loss = run->c.own_loss,
		.shares = w->shares.n ? &w->shares : NULL,
	};
	mr_weights_show(b, mr_run_shard(run, pipe, s), t->version, io);
	count_read(w, t, b);
	MR_TRY_HOOKS(run, pass, w, t, slot, io);
	return MR_OK;
}

static mr_status bad_loss(const char *what, uint64_t micro, double loss, uint64_t version)
{
	return mr_fail(MR_EDIVERGED, "the %s of micro-batch %llu is %s (weights of version %llu)", what,
		       (unsigned long long)micro, isnan(loss) ? "not a number" : "infinite",
		       (unsigned long long)version);
}

mr_status mr_exec_bad_loss(uint64_t micro, double loss, uint64_t version)
{
	return bad_loss("loss", micro, loss, version);
}

mr_status mr_exec_book_loss(mr_run *run, const mr_task *t, double loss)
{
	if (!isfinite(loss) && !(t->links->train && (run->facts & MR_JUDGES_STEPS || run->c.skip_nonfinite)))
		return bad_loss(t->links->train || run->c.data->trains_only ? "loss" : "validation loss", t->micro,
				loss, t->version);
	if (t->links->train)
		run->losses[t->micro % run->n_losses] = loss;
	else
		run->eval_loss[t->micro] = loss;
	return MR_OK;
}

/* Take the slot of @t for its micro-batch, with @in as the buffer of its input. */
static mr_status take_slot(const mr_task *t, uint32_t in, mr_slot **out)
{
	mr_links_stage *st = t->st;
	mr_slot *slot = &st->slot[mr_instr_slot(t->links->plan, t->in, t->n)];

	if (slot->taken)
		return mr_fail(MR_EINVAL, "stage %u: the slot of micro-batch %llu still belongs to %llu", t->in->stage,
			       (unsigned long long)t->micro, (unsigned long long)slot->micro);
	*slot = (mr_slot){.memory = slot->memory, .micro = t->micro, .version = t->version, .in = in};
	mr_links_hold(st, slot);
	*out = slot;
	return MR_OK;
}

/*
 * Keeps what later instructions need of F: its input, target and version for an R if it drops its activations, the
 * target for a repetition. Returns whether the target is kept.
 */
static bool keep(const mr_worker *w, const mr_task *t, mr_slot *slot)
{
	mr_links_stage *st = t->st;
	bool drops = t->in->flags & MR_INSTR_DROP;

	if (!drops && !(w->run->hooks.instead.repeats && w->run->hooks.instead.repeats(w->run, t)))
		return false;
	st->kept_in[t->micro % st->n_kept] = slot->in;
	st->kept_target[t->micro % st->n_kept] = w->acquired.target;
	st->kept_version[t->micro % st->n_kept] = slot->version;
	if (drops)
		mr_links_free(st, slot);
	return true;
}

mr_status mr_exec_forward(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_links *l = t->links;
	mr_links_stage *st = t->st;
	mr_slot *slot;
	mr_stage_io io;
	double loss = 0;
	bool kept;

	MR_TRY(take_slot(t, w->acquired.in, &slot));
	MR_TRY(mr_exec_make_io(w, t, slot, &io));
	io.loss = &loss;
	if (!l->train)
		io.judged = mr_judging_begin(&run->judging, t->micro);
	if (w->acquired.got & MR_GOT_OUT)
		io.out = mr_link_out(&st[1].in, w->acquired.out);
	if (w->acquired.got & MR_GOT_TARGET)
		io.target = mr_link_buffer(&st->target, w->acquired.target);
	MR_TRY(mr_stage_forward(run->stage[t->in->stage], &io));
	if (w->acquired.got & MR_GOT_OUT)
		mr_link_put(&st[1].in, w->acquired.out);
	kept = keep(w, t, slot);
	if (w->acquired.got & MR_GOT_TARGET) {
		if (!kept)
			mr_link_give_back(&st->target, w->acquired.target);
		MR_TRY(mr_exec_book_loss(run, t, loss));
	}
	if (l->plan->contract.coverage == MR_COVER_FORWARD) {
		mr_link_give_back(&st->in, slot->in);
		mr_links_free(st, slot);
	}
	return MR_OK;
}

mr_status mr_exec_recompute(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	uint16_t s = t->in->stage;
	mr_links_stage *st = t->st;
	uint64_t at = t->micro % st->n_kept;
	bool last = s + 1 == run->n_stages;
	mr_slot *slot;
	mr_stage_io io;
	double loss;

	MR_TRY(take_slot(t, st->kept_in[at], &slot));
	slot->version = st->kept_version[at];
	MR_TRY(mr_exec_make_io(w, t, slot, &io));
	io.loss = &loss; /* F has recorded it */
	io.out = w->scratch + mr_stage_size(run->stage[s])->scratch_bytes;
	if (last)
		io.target = mr_link_buffer(&st->target, st->kept_target[at]);
	MR_TRY(mr_stage_recompute(run->stage[s], &io));
	if (last)
		mr_link_give_back(&st->target, st->kept_target[at]);
	return MR_OK;
}

static void count_staleness(mr_stage_weights *b, uint8_t pipe, uint64_t read)
{
	uint64_t age = b->latest - read;

	b->shard[pipe].staleness[age < MR_STALENESS_BINS ? age : MR_STALENESS_BINS - 1]++;
}

void mr_exec_release(mr_run *run, const mr_task *t, mr_slot *slot)
{
	uint16_t s = t->in->stage;
	mr_links_stage *st = t->st;

	mr_link_give_back(&st->in, slot->in);
	if (s + 1 < run->n_stages)
		mr_link_give_back(&st->grad, slot->grad);
	mr_links_free(st, slot);
	if (!(run->facts & MR_COUNTS_AT_STEPS))
		count_staleness(mr_run_weights(run, t->in->pipe, s), mr_run_shard(run, t->in->pipe, s), slot->version);
}

void mr_exec_release_rest(mr_run *run, const mr_task *t)
{
	for (uint32_t i = 0; i < t->st->n_slots; i++)
		if (t->st->slot[i].taken)
			mr_exec_release(run, t, &t->st->slot[i]);
}

/*
 * The steps that a B or W with MR_INSTR_UPDATE carries out, layer by layer, from the latest version into the next one's
 * buffer. That buffer may be the one that this very instruction reads (with one buffer it always is), and it may hold
 * no version that anything else still reads:
 *	- later instructions of this worker: the checker counts this commit at this place of the list
 *	  (check_versions.c), so they read a version newer than latest + 1 - cap, which is in another buffer
 *	  or is the new version itself;
 *	- other workers read this stage's weights only where a parameter is tied to one of another stage, and then no
 *	  instruction has the flag;
 *	- this instruction: only a layer's own I reads its weights, and comes before its W and its step; of a weight
 *	  that two layers of the stage share the step comes behind all (tied.c), or the second layer has no I
 *	  (tied_table.h). W reads no weights. If W is apart from I, every I of the count is done.
 * Only the step itself reads the source, which lies in the same buffer only if it is the same version.
 */
static mr_status prepare_steps(mr_run *run, const mr_task *t, mr_stage_io *io)
{
	mr_stage_weights *b = mr_run_weights(run, t->in->pipe, t->in->stage);
	uint64_t version = mr_instr_target(t->links->plan, t->in, t->n);

	MR_TRY(mr_exec_check_next(b, t, version));
	io->sumsq = mr_exec_asks_norm(run, b, version) ? mr_norms_sumsq(b, version) : NULL;
	io->step = mr_weights_steps_inside(b, mr_exec_lr(run, b, version), 1 / (double)b->sum);
	return MR_OK;
}

mr_status mr_exec_count_sum(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_stage_weights *b = mr_run_weights(run, t->in->pipe, t->in->stage);
	mr_shard *shard = &b->shard[mr_run_shard(run, t->in->pipe, t->in->stage)];

	if (!b->reduction || b->reduction->by_turn)
		return MR_OK; /* nothing waits for the sum, or its last W publishes it */
	shard->n_summed = (t->in->flags & MR_INSTR_FIRST_SUM ? 0 : shard->n_summed) + t->in->span;
	if (shard->n_summed != shard->need)
		return MR_OK;
	MR_TRY_HOOKS(run, summed, w, t, b);
	mr_reduction_finish(b, w->id);
	return MR_OK;
}

static mr_status check_saved(const mr_task *t, const mr_slot *slot, uint64_t micro)
{
	if (slot->taken && slot->micro == micro &&
	    (!t->links->plan->contract.same_version_b || slot->version == t->version))
		return MR_OK;
	return mr_fail(MR_EINVAL,
		       "stage %u: backward of micro-batch %llu with version %llu found the activations of %llu with "
		       "version %llu",
		       t->in->stage, (unsigned long long)micro, (unsigned long long)t->version,
		       (unsigned long long)slot->micro, (unsigned long long)slot->version);
}

/* The steps inside are done. */
static mr_status commit_inside(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_stage_weights *b = mr_run_weights(run, t->in->pipe, t->in->stage);
	double norm = NAN;

	MR_TRY_HOOKS(run, whole, w, t, b);
	if (run->c.measures && !b->unchanged)
		MR_TRY(mr_norms_measure(b, w->kc, b->sum));
	if (mr_exec_asks_norm(run, b, b->latest + 1)) {
		MR_TRY(mr_shares_add_norms(w, b, b->latest + 1));
		norm = mr_exec_take_norm(run, b, b->latest + 1);
	}
	MR_TRY_HOOKS(run, stepped, w, t, b);
	mr_weights_committed(b);
	return mr_exec_publish(w, b, t->in->stage, b->latest, mr_exec_lr(run, b, b->latest), norm);
}

/* The slot of @micro. The plan gives only that of the first of a span; F or R has noted the others. */
static mr_slot *find_saved(const mr_links_stage *st, uint64_t micro)
{
	uint32_t i = 0;

	while (i + 1 < st->n_slots && !(st->slot[i].taken && st->slot[i].micro == micro))
		i++;
	return &st->slot[i];
}

mr_status mr_exec_span_io(mr_worker *w, const mr_task *t, uint32_t j, mr_slot **slot, mr_stage_io *io)
{
	uint16_t s = t->in->stage;

	*slot = find_saved(t->st, t->micro + j);
	MR_TRY(check_saved(t, *slot, t->micro + j));
	MR_TRY_HOOKS(w->run, entered, w, t, *slot);
	MR_TRY(mr_exec_make_io(w, t, *slot, io));
	if (s + 1 < w->run->n_stages)
		io->grad_out = mr_link_buffer(&t->st->grad, (*slot)->grad);
	return MR_OK;
}

static bool leaves_slot(const mr_worker *w, const mr_task *t)
{
	return w->run->hooks.instead.leaves_slot && w->run->hooks.instead.leaves_slot(w, t);
}

/* W of several micro-batches. */
static mr_status span(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	uint16_t s = t->in->stage;
	uint32_t n = t->in->span;

	for (uint32_t j = 0; j < n; j++)
		MR_TRY(mr_exec_span_io(w, t, j, &w->span.slot[j], &w->span.io[j]));
	if (t->in->flags & MR_INSTR_UPDATE)
		MR_TRY(prepare_steps(run, t, &w->span.io[n - 1]));
	MR_TRY(mr_stage_backward_weights(run->stage[s], w->span.io, n, w->span.call));
	for (uint32_t j = 0; j < n && !leaves_slot(w, t); j++)
		mr_exec_release(run, t, w->span.slot[j]);
	MR_TRY(mr_exec_count_sum(w, t));
	if (t->in->flags & MR_INSTR_UPDATE)
		MR_TRY(commit_inside(w, t));
	return MR_OK;
}

/* B including its step: with a step that updates this stage, the whole of it. */
static mr_status whole_backward(mr_run *run, const mr_task *t, const mr_stage_io *io)
{
	uint16_t s = t->in->stage;

	if (!(t->in->flags & (MR_INSTR_KEEP | MR_INSTR_PASS)))
		return mr_stage_backward(run->stage[s], io);
	if (t->in->flags & MR_INSTR_KEEP)
		MR_TRY(mr_stage_backward_through(run->stage[s], io));
	if (t->in->flags & MR_INSTR_UPDATE)
		mr_weights_skip(&run->weights[s], t->in->pipe);
	run->weights[s].unchanged = true;
	return MR_OK;
}

mr_status mr_exec_backward(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_links *l = t->links;
	uint16_t s = t->in->stage;
	mr_links_stage *st = t->st;
	mr_slot *slot = &st->slot[mr_instr_slot(l->plan, t->in, t->n)];
	mr_stage_io io;

	MR_TRY(check_saved(t, slot, t->micro));
	MR_TRY_HOOKS(run, entered, w, t, slot);
	if (w->acquired.got & MR_GOT_IN)
		slot->grad = w->acquired.in;
	MR_TRY(mr_exec_make_io(w, t, slot, &io));
	if (s + 1 < run->n_stages)
		io.grad_out = mr_link_buffer(&st->grad, slot->grad);
	if (w->acquired.got & MR_GOT_OUT)
		io.grad_in = mr_link_out(&st[-1].grad, w->acquired.out);
	if (t->in->flags & MR_INSTR_UPDATE)
		MR_TRY(prepare_steps(run, t, &io));
	switch (t->in->op) {
	case MR_OP_B:
		MR_TRY(whole_backward(run, t, &io));
		break;
	case MR_OP_I:
		MR_TRY(mr_stage_backward_input(run->stage[s], &io));
		break;
	default:
		MR_TRY(mr_stage_backward_weight(run->stage[s], &io));
	}
	if (w->acquired.got & MR_GOT_OUT)
		mr_link_put(&st[-1].grad, w->acquired.out);
	if (t->in->op == MR_OP_I)
		return MR_OK;
	if (!leaves_slot(w, t))
		mr_exec_release(run, t, slot);
	MR_TRY(mr_exec_count_sum(w, t));
	if (t->in->flags & MR_INSTR_UPDATE)
		MR_TRY(commit_inside(w, t));
	return MR_OK;
}

mr_status mr_exec_weights(mr_worker *w, const mr_task *t)
{
	return t->in->span > 1 ? span(w, t) : mr_exec_backward(w, t);
}
