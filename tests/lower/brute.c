#include "lower/brute_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void brute_wrong(brute *b, const mr_instr *in, const char *what)
{
	snprintf(b->why, 80, "%s m%u s%u p%u: %s", in ? mr_op_name((mr_op)in->op) : "", in ? in->micro : 0,
		 in ? in->stage : 0, in ? in->pipe : 0, what);
	longjmp(b->out, 1);
}

static bool replicas(const brute *b)
{
	return b->p->contract.average.rule != MR_AVERAGE_NONE;
}

/* Micro-batches a commit of @stage sums; the parts that sum them, with turns; and which of them @in is about. */
static int need_of(const mr_plan *p, int stage)
{
	return p->stage_replicas[stage] ? p->stage_replicas[stage] : (int)p->contract.need;
}

static int parts_of(const mr_plan *p, int stage)
{
	return p->stage_replicas[stage] ? p->stage_replicas[stage] : p->contract.whole_steps ? 1 : p->n_pipes;
}

static int part_of(const mr_plan *p, const mr_instr *in)
{
	return in->pipe % (p->stage_replicas[in->stage] ? p->stage_replicas[in->stage] : parts_of(p, in->stage));
}

/* Whose versions @in is about. */
static brute_stage *weights(brute *b, const mr_instr *in)
{
	return &b->stage[(replicas(b) ? in->pipe * b->p->n_stages : 0) + in->stage];
}

/* The version that the first micro-batch of count @count reads: every H counts an average comes on top. */
static int version_of(const brute *b, int count)
{
	return replicas(b) ? count + count / (int)b->p->contract.average.every : count;
}

/* Is version @v > 0 an average? */
static bool is_average(const brute *b, int v)
{
	return replicas(b) && v % ((int)b->p->contract.average.every + 1) == 0;
}

static bool local(const brute *b, const mr_instr *in, int other_stage)
{
	return b->p->worker_of[in->pipe * b->p->n_stages + in->stage] ==
	       b->p->worker_of[in->pipe * b->p->n_stages + other_stage];
}

static int number(const mr_plan *p, int micro, int stored, int room)
{
	return p->storage == MR_STORED ? stored : room ? micro / p->n_pipes % room : 0;
}

/* Does the reader take messages in the order in which they are sent? With stored numbers it takes the one that its list
 * names. */
static bool queues(const brute *b, const mr_instr *in, int from)
{
	return !local(b, in, from) && b->p->storage == MR_MODULO;
}

/* A message for @in has come; same-worker boundaries have no queue. */
static bool arrived(brute *b, const mr_instr *in, const brute_link *l, int micro, int from)
{
	if (local(b, in, from))
		return l->at[micro] != FREE;
	return queues(b, in, from) ? l->head < l->tail : in->in >= MAX_PLACES || l->held[in->in] != FREE;
}

static int take(brute *b, const mr_instr *in, brute_link *l, int micro, int stored, int room, int from)
{
	int n = number(b->p, micro, stored, room);

	if (n >= room || (queues(b, in, from) && l->queue[l->head++] != n) || l->held[n] != micro)
		brute_wrong(b, in, "message is not what was expected");
	return n;
}

static void send(brute *b, const mr_instr *in, brute_link *l, int micro, int n)
{
	if (l->held[n] != FREE || l->tail >= 2 * MAX_MICRO)
		brute_wrong(b, in, "buffer is not free");
	l->held[n] = micro;
	l->at[micro] = n;
	l->queue[l->tail++] = n;
}

static void release(brute *b, const mr_instr *in, int micro)
{
	brute_place *x = brute_at(b, in);
	int n_slots = b->p->n_slots[in->pipe * b->p->n_stages + in->stage];

	for (int k = 0; k < n_slots; k++)
		if (x->slot[k] == micro)
			x->slot[k] = FREE;
	if (in->stage > 0)
		x->fwd.held[x->fwd.at[micro]] = FREE;
	if (in->op != MR_OP_F && in->stage + 1 < b->p->n_stages)
		x[1].bwd.held[x[1].bwd.at[micro]] = FREE;
}

/* The latest version by the list of @in: with turns, what its part has stepped to; with whole steps, its pipe. */
static int latest(brute *b, const mr_instr *in)
{
	if (b->p->contract.whole_steps)
		return b->stage[in->stage].stepped[in->pipe];
	return b->p->stage_replicas[in->stage] ? b->stage[in->stage].stepped[part_of(b->p, in)]
					       : weights(b, in)->latest;
}

/* Version @v lies in its buffer; @wanted is what the contract says. */
static void read_version(brute *b, const mr_instr *in, int v, int wanted)
{
	if (v != wanted || weights(b, in)->buffer[v % b->p->n_versions[in->stage]] != v)
		brute_wrong(b, in, "version is not what was expected");
}

static bool commits_there(const brute *b, const mr_instr *in, int v, uint16_t w)
{
	const mr_contract *c = &b->p->contract;

	for (int pipe = 0; v && is_average(b, v) && pipe < b->p->n_pipes; pipe++)
		if (b->stage[pipe * b->p->n_stages + in->stage].latest < v)
			return false;
	for (int s = 0; s < b->p->n_stages && !replicas(b); s++) {
		bool asked = c->flush == MR_FLUSH_BARRIER ||
			     (s == in->stage && (b->p->worker_of[s] != w || b->p->n_pipes > 1)) ||
			     (c->tied && in->stage == b->p->n_stages - 1 && s == 0);

		if (asked && b->stage[s].latest < v)
			return false;
	}
	return true;
}

static int rule_f(brute *b, const mr_instr *in, int micro)
{
	const mr_contract *c = &b->p->contract;

	if (c->coverage == MR_COVER_FORWARD)
		return 0;
	if (c->read_f == MR_READ_BATCH)
		return replicas(b) ? version_of(b, micro / (int)c->need)
		       : in->stage + (c->catches_up ? micro % (int)c->need : 0) < c->delayed
			       ? (micro / (int)c->need > (int)c->delay ? micro / (int)c->need - (int)c->delay : 0)
			       : micro / (int)c->need;
	if (c->read_f == MR_READ_AGED)
		return in->read > 0 ? in->read : 0; /* whatever it says, as long as it is there and not too old */
	if (c->read_f == MR_READ_FIRST && micro % (int)c->need)
		return brute_at(b, in)->f_read[micro - micro % (int)c->need];
	if (c->read_f == MR_READ_LATEST || c->read_f == MR_READ_FIRST || in->stage == 0)
		return latest(b, in);
	return b->place[in->pipe * b->p->n_stages].f_read[micro];
}

static bool do_f(brute *b, const mr_instr *in, int micro, int read, uint16_t w)
{
	const mr_plan *p = b->p;
	brute_place *x = brute_at(b, in);
	size_t at = in->pipe * (size_t)p->n_stages + in->stage;
	bool more = in->stage + 1 < p->n_stages;
	int out = more ? number(p, micro, in->out, p->n_fwd[at + 1]) : 0,
	    slot = number(p, micro, in->slot, p->n_slots[at]);

	if (in->stage > 0 && !arrived(b, in, &x->fwd, micro, in->stage - 1))
		return false;
	if (!commits_there(b, in, read, w) || (p->contract.whole_steps && !brute_has_room(b, in, micro)))
		return false;
	if (more && (out >= p->n_fwd[at + 1] || out >= MAX_PLACES))
		brute_wrong(b, in, "buffer out of range");
	if (more && x[1].fwd.held[out] != FREE) {
		if (local(b, in, in->stage + 1))
			brute_wrong(b, in, "own buffer is not free");
		return false;
	}
	if (in->stage > 0)
		take(b, in, &x->fwd, micro, in->in, p->n_fwd[at], in->stage - 1);
	if (x->f_read[micro] != FREE || (b->pipe_of[micro] != FREE && b->pipe_of[micro] != in->pipe))
		brute_wrong(b, in, "forward twice");
	b->pipe_of[micro] = in->pipe;
	if (p->contract.read_f == MR_READ_FIRST && micro % (int)p->contract.need) {
		if (b->stage[in->stage].held != micro / (int)p->contract.need || read != rule_f(b, in, micro))
			brute_wrong(b, in, "the weights held are another's");
	} else {
		b->stage[in->stage].held = micro / (int)p->contract.need;
		read_version(b, in, read, rule_f(b, in, micro));
	}
	if (p->contract.coverage == MR_COVER_TRAIN &&
	    version_of(b, micro / need_of(p, in->stage)) - read > (int)p->contract.max_staleness)
		brute_wrong(b, in, "staler than claimed");
	if (micro / (int)p->contract.need < (int)p->contract.sync_steps && read != micro / (int)p->contract.need)
		brute_wrong(b, in, "stale in a synchronous start");
	x->f_read[micro] = read;
	x->early[micro] = read > weights(b, in)->validated;
	if (p->contract.flush == MR_FLUSH_VALIDATED && x->early[micro] && in->stage > 0 && !x[-1].early[micro])
		brute_wrong(b, in, "cannot be repeated: its input was made after V");
	if (slot >= p->n_slots[at] || x->slot[slot] != FREE)
		brute_wrong(b, in, "slot is not free");
	if (!(in->flags & MR_INSTR_DROP))
		x->slot[slot] = micro;
	if (more)
		send(b, in, &x[1].fwd, micro, out);
	if (p->contract.coverage == MR_COVER_FORWARD)
		release(b, in, micro);
	return true;
}

/* Saved activations of @micro lie where @in says. */
static void find_saved(brute *b, const mr_instr *in, int micro)
{
	size_t at = in->pipe * (size_t)b->p->n_stages + in->stage;
	int slot = number(b->p, micro, in->slot, b->p->n_slots[at]);

	if (b->p->contract.coverage == MR_COVER_FORWARD)
		brute_wrong(b, in, "a backward in a forward-only plan");
	if (slot >= b->p->n_slots[at] || b->place[at].slot[slot] != micro)
		brute_wrong(b, in, "slot holds something else");
}

static void backward_version(brute *b, const mr_instr *in, int micro, int read)
{
	bool same = b->p->contract.same_version_b;

	if (mr_instr_takes_made(b->p, in)) { /* what was made of that version lies with the activations */
		if (read != brute_at(b, in)->f_read[micro])
			brute_wrong(b, in, "made for another forward");
		return;
	}
	read_version(b, in, read, same ? brute_at(b, in)->f_read[micro] : latest(b, in));
}

/* Saves again what F gave up, from the same input and weights. */
static void do_r(brute *b, const mr_instr *in, int micro, int read)
{
	const mr_plan *p = b->p;
	size_t at = in->pipe * (size_t)p->n_stages + in->stage;
	brute_place *x = brute_at(b, in);
	int slot = number(p, micro, in->slot, p->n_slots[at]);

	if (p->contract.coverage == MR_COVER_FORWARD || x->f_read[micro] == FREE || x->r[micro] || x->i[micro])
		brute_wrong(b, in, "recomputed twice, too early or too late");
	for (int k = 0; k < p->n_slots[at]; k++)
		if (x->slot[k] == micro)
			brute_wrong(b, in, "the forward kept what is saved again");
	backward_version(b, in, micro, read);
	if (in->stage && number(p, micro, in->in, p->n_fwd[at]) != x->fwd.at[micro])
		brute_wrong(b, in, "forward buffer is another");
	if (slot >= p->n_slots[at] || x->slot[slot] != FREE)
		brute_wrong(b, in, "slot is not free");
	x->slot[slot] = micro;
	x->r[micro] = true;
}

static bool do_i(brute *b, const mr_instr *in, int micro, int read)
{
	const mr_plan *p = b->p;
	brute_place *x = brute_at(b, in);
	size_t at = in->pipe * (size_t)p->n_stages + in->stage;
	int out = in->stage ? number(p, micro, in->out, p->n_bwd[at]) : 0;

	if (in->stage + 1 < p->n_stages && !arrived(b, in, &x[1].bwd, micro, in->stage + 1))
		return false;
	if (in->stage && (out >= p->n_bwd[at] || out >= MAX_PLACES))
		brute_wrong(b, in, "buffer out of range");
	if (in->stage && x->bwd.held[out] != FREE) {
		if (local(b, in, in->stage - 1))
			brute_wrong(b, in, "own buffer is not free");
		return false;
	}
	find_saved(b, in, micro);
	if (in->stage + 1 < p->n_stages)
		take(b, in, &x[1].bwd, micro, in->in, p->n_bwd[at + 1], in->stage + 1);
	backward_version(b, in, micro, read);
	if (x->i[micro])
		brute_wrong(b, in, "input gradient twice");
	x->i[micro] = true;
	if (in->stage)
		send(b, in, &x->bwd, micro, out);
	return true;
}

/* @part: which micro-batch of the instruction's span this is; what is written down is about the first. */
static void do_w(brute *b, const mr_instr *in, int micro, int read, int part, bool away)
{
	bool saved = false;
	const mr_plan *p = b->p;
	brute_place *x = brute_at(b, in),
		    *sum = p->contract.whole_steps && !p->contract.ring
				   ? x
				   : &b->place[part_of(p, in) * p->n_stages + in->stage];
	size_t at = in->pipe * (size_t)p->n_stages + in->stage;
	int need = need_of(p, in->stage), count = micro / need, last;

	if (part == 0)
		find_saved(b, in, micro);
	for (int k = 0; k < p->n_slots[at]; k++)
		saved |= x->slot[k] == micro;
	if (!saved || count != (micro - part) / need)
		brute_wrong(b, in, "nothing saved, or another commit");
	if (!x->i[micro] || x->w[micro])
		brute_wrong(b, in, "weight gradient twice or too early");
	if (part == 0 && in->stage + 1 < p->n_stages &&
	    number(p, micro, in->in, p->n_bwd[at + 1]) != x[1].bwd.at[micro])
		brute_wrong(b, in, "gradient buffer is another");
	backward_version(b, in, micro, read);
	x->w[micro] = true;
	if (part == 0 && in->flags & MR_INSTR_FIRST_SUM) {
		if (sum->n_sum)
			brute_wrong(b, in, "sum overwritten before its use");
	} else if (!sum->n_sum || sum->sum[0] / need != count) {
		brute_wrong(b, in, "sum holds gradients of another count");
	}
	last = sum->n_sum ? sum->sum[sum->n_sum - 1] : 0;
	if (sum->n_sum && p->contract.sum != MR_SUM_LISTED && (micro > last) != (p->contract.sum == MR_SUM_ASCENDING))
		brute_wrong(b, in, "sum order");
	sum->sum[sum->n_sum++] = micro;
	x->added[count]++;
	x->away[micro] = away;
	if (!away)
		release(b, in, micro);
	if (p->contract.tied && in->stage == p->n_stages - 1 && b->stage[0].reduced[0] < count)
		brute_wrong(b, in, "tied gradient overwritten before its use");
}

/* The tied block's gradients at stage S-1, kept apart from that stage's own sum. */
static bool tied_there(const brute *b, int v)
{
	int n = 0;

	for (int pipe = 0; pipe < b->p->n_pipes; pipe++)
		n += b->place[pipe * b->p->n_stages + b->p->n_stages - 1].added[v - 1];
	return n == (int)b->p->contract.need;
}

/* A replica's own step. */
static void step_replica(brute *b, const mr_instr *in, int v)
{
	int need = (int)b->p->contract.need;
	brute_stage *s = weights(b, in);
	brute_place *x = brute_at(b, in);

	if (is_average(b, v) || s->latest != v - 1)
		brute_wrong(b, in, "commit out of turn");
	for (int k = 0; k < x->n_sum; k++)
		if (version_of(b, x->sum[k] / need) != v - 1)
			brute_wrong(b, in, "sum of another count");
	if (x->n_sum != need / b->p->n_pipes)
		brute_wrong(b, in, "sum is not complete");
	x->n_sum = 0;
	s->buffer[v % b->p->n_versions[in->stage]] = v;
	s->latest = v;
}

/* One part of an average: from the first part to the last no instruction may read a replica of the stage. */
static bool do_average(brute *b, const mr_instr *in, int v)
{
	brute_stage *marks = &b->stage[in->stage];
	int parts = 0;

	if (!is_average(b, v) || marks->reduced[in->pipe] >= v)
		brute_wrong(b, in, "average out of turn");
	for (int pipe = 0; pipe < b->p->n_pipes; pipe++)
		if (b->stage[pipe * b->p->n_stages + in->stage].latest < v - 1)
			return false;
	marks->reduced[in->pipe] = v;
	for (int pipe = 0; pipe < b->p->n_pipes; pipe++)
		parts += marks->reduced[pipe] == v;
	for (int pipe = 0; pipe < b->p->n_pipes; pipe++) {
		brute_stage *s = &b->stage[pipe * b->p->n_stages + in->stage];

		if (s->latest != v - 1)
			brute_wrong(b, in, "average of other versions");
		s->buffer[v % b->p->n_versions[in->stage]] = parts == b->p->n_pipes ? v : FREE;
		s->latest = parts == b->p->n_pipes ? v : s->latest;
	}
	return true;
}

/* All pipes' sums of (stage, version), or with @empty: take them, as the last U does. */
static bool sums_there(brute *b, const mr_instr *in, int stage, int v, bool empty)
{
	int need = need_of(b->p, stage), n = 0;

	for (int part = 0; part < parts_of(b->p, stage); part++) {
		brute_place *x = &b->place[part * b->p->n_stages + stage];

		for (int k = 0; k < x->n_sum; k++)
			if (x->sum[k] / need != v - 1)
				brute_wrong(b, in, "sum of another count");
		n += x->n_sum;
		if (empty)
			x->n_sum = 0;
	}
	return n == need;
}

static bool do_commit(brute *b, const mr_instr *in, int v, uint16_t w)
{
	const mr_plan *p = b->p;
	const mr_contract *c = &p->contract;
	brute_stage *s = &b->stage[in->stage];
	int parts = parts_of(p, in->stage), part = part_of(p, in);
	bool ar = parts > 1 || (c->tied && in->stage == 0), turns = p->stage_replicas[in->stage], whole;

	if (v < 1 || v > MAX_MICRO || c->coverage == MR_COVER_FORWARD ||
	    p->worker_of[in->pipe * p->n_stages + in->stage] != w || (in->pipe && in->op == MR_OP_N) ||
	    (turns && in->op >= MR_OP_N && in->pipe != part))
		brute_wrong(b, in, "commit at the wrong place");
	if (replicas(b)) {
		if (in->op == MR_OP_AVG)
			return do_average(b, in, v);
		if (in->op == MR_OP_AR || in->op == MR_OP_N)
			brute_wrong(b, in, "replicas reduce nothing");
		step_replica(b, in, v);
		return true;
	}
	if (c->whole_steps)
		return brute_step_whole(b, in, v);
	if (in->op == MR_OP_AR) {
		if (!ar || s->reduced[part] != v - 1)
			brute_wrong(b, in, "reduction out of turn");
		if (!sums_there(b, in, in->stage, v, false) || (c->tied && in->stage == 0 && !tied_there(b, v)))
			return false;
		s->reduced[part] = v;
		return true;
	}
	if (ar && s->reduced[part] < v)
		brute_wrong(b, in, "not reduced");
	for (int k = 0; ar && (in->op == MR_OP_N || turns) && k < parts; k++)
		if (s->reduced[k] < v)
			return false;
	whole = sums_there(b, in, in->stage, v, false);
	if (!whole && !c->steal)
		brute_wrong(b, in, "sum is not complete");
	if (!whole)
		return false;
	if (in->op == MR_OP_N) {
		if (!c->clip || s->normed != v - 1)
			brute_wrong(b, in, "norm out of turn");
		s->normed = v;
		return true;
	}
	for (int k = 0; c->clip && c->flush != MR_FLUSH_VALIDATED && k < p->n_stages; k++)
		if (b->stage[k].normed < v)
			return false;
	if (s->latest != v - 1 || s->stepped[part] != v - 1)
		brute_wrong(b, in, "commit out of turn");
	s->stepped[part] = v;
	if (turns) /* half of one version and half of another, as long as parts are to come */
		s->buffer[v % p->n_versions[in->stage]] = FREE;
	for (int k = 0; k < parts; k++)
		if (s->stepped[k] < v)
			return true; /* the others' ranges are still to come */
	sums_there(b, in, in->stage, v, true);
	for (int m = 0; m < MAX_MICRO; m++)
		if (brute_at(b, in)->away[m])
			release(b, in, m);
	memset(brute_at(b, in)->away, 0, sizeof(brute_at(b, in)->away));
	s->buffer[v % p->n_versions[in->stage]] = v;
	s->latest = v;
	return true;
}

bool brute_step(brute *b, const mr_instr *in, uint64_t n, uint16_t w)
{
	uint64_t micro = in->micro + n * b->p->n_micro;
	bool block = b->p->contract.coverage == MR_COVER_BLOCK;
	int64_t commits = b->p->commits, read, target;
	uint16_t home;

	if (in->op > MR_OP_AVG || (in->op == MR_OP_AVG && !replicas(b)) ||
	    (in->op == MR_OP_V && b->p->contract.flush != MR_FLUSH_VALIDATED) || in->span < 1 ||
	    (in->span > 1 && in->op != MR_OP_W) || in->stage >= b->p->n_stages || in->pipe >= b->p->n_pipes ||
	    micro + in->span > MAX_MICRO ||
	    ((home = b->p->worker_of[in->pipe * b->p->n_stages + in->stage]) != w &&
	     !(b->p->contract.steal && in->op == MR_OP_W && !(in->flags & MR_INSTR_ANY))))
		brute_wrong(b, in, "not an instruction of this worker");
	if (in->flags & ~(in->op == MR_OP_F            ? 4u
			  : in->op == MR_OP_B && block ? 27u
			  : in->op == MR_OP_B          ? 3u
			  : in->op == MR_OP_W          ? 35u
						       : 0u))
		brute_wrong(b, in, "flags");
	if (in->flags & MR_INSTR_ANY)
		brute_tail_only(b, in, w);
	if (b->p->stage_replicas[in->stage])
		commits = b->p->n_micro / b->p->stage_replicas[in->stage];
	read = in->read + (int64_t)n * commits;
	target = in->target + (int64_t)n * commits;
	read = read < 0 ? 0 : read;
	if (b->p->stage_replicas[in->stage] && in->op < MR_OP_N && micro % b->p->n_pipes != in->pipe)
		brute_wrong(b, in, "another's turn");
	if (in->op == MR_OP_V && micro != (uint64_t)target * b->p->contract.need)
		brute_wrong(b, in, "V of another place");
	if (in->op == MR_OP_V)
		return brute_validate(b, in, (int)target);
	if (in->op < MR_OP_N && b->p->contract.flush == MR_FLUSH_VALIDATED)
		brute_only_validated(b, in, (int)read, w);
	if (in->op >= MR_OP_N)
		return do_commit(b, in, (int)(target < 0 ? 0 : target), w);
	if (block && in->op != MR_OP_B)
		brute_one_stage_a_step(b, in, micro);
	if (in->op == MR_OP_F)
		return do_f(b, in, (int)micro, (int)read, w);
	if (in->op == MR_OP_R) {
		do_r(b, in, (int)micro, (int)read);
		return true;
	}
	/* The sum is free when all parts have stepped with what was in it. */
	if (b->p->stage_replicas[in->stage] && b->stage[in->stage].latest < (int)micro / need_of(b->p, in->stage))
		return false;
	if (in->op == MR_OP_B && b->p->contract.whole_steps && !brute_has_sum(b, in, (int)micro))
		return false;
	if (in->op != MR_OP_W && !do_i(b, in, (int)micro, (int)read))
		return false;
	if (block && in->op == MR_OP_B)
		brute_one_stage_a_step(b, in, micro);
	if (in->op == MR_OP_W && b->p->contract.steal && !brute_has_turn(b, in, (int)micro, w != home))
		return false;
	if (in->op != MR_OP_I)
		for (int k = 0; k < in->span; k++)
			do_w(b, in, (int)micro + k, (int)read, k, w != home);
	if (in->flags & MR_INSTR_UPDATE) {
		if (b->p->contract.clip || b->p->contract.steal || b->p->contract.whole_steps)
			brute_wrong(b, in, "update without the whole gradient");
		return do_commit(b, in, (int)(target < 0 ? 0 : target), w);
	}
	return true;
}

const mr_instr *brute_fetch(const brute *b, uint16_t w, uint32_t k, uint64_t *n)
{
	const mr_list *l = &b->p->lists[w * MR_N_SECTIONS];

	*n = 0;
	if (k < l[MR_PROLOGUE].n)
		return &l[MR_PROLOGUE].at[k];
	k -= l[MR_PROLOGUE].n;
	if (l[MR_BODY].n && k / l[MR_BODY].n < b->n_bodies) {
		*n = k / l[MR_BODY].n;
		return &l[MR_BODY].at[k % l[MR_BODY].n];
	}
	k -= l[MR_BODY].n * b->n_bodies;
	*n = b->n_bodies;
	return k < l[MR_EPILOGUE].n ? &l[MR_EPILOGUE].at[k] : NULL;
}

/* All turns until nobody can go on; what is left then is stuck. */
static void run(brute *b, uint32_t seed)
{
	uint32_t pc[64] = {0}, idle = 0;
	uint64_t n;

	while (idle < 64u * b->p->n_workers) {
		uint16_t w;
		const mr_instr *in;

		seed = seed * 1664525u + 1013904223u;
		w = (uint16_t)((seed >> 16) % b->p->n_workers);
		in = brute_fetch(b, w, pc[w], &n);
		if (in && brute_step(b, in, n, w)) {
			pc[w]++;
			idle = 0;
		} else {
			idle++;
		}
	}
	brute_judge(b, pc);
}

/* @full micro-batches are complete, and what they made is committed. */
static void finish(brute *b, int full)
{
	const mr_plan *p = b->p;
	bool train = p->contract.coverage == MR_COVER_TRAIN;

	for (int m = 0; m < full; m++)
		for (int s = 0; s < p->n_stages; s++) {
			const brute_place *x = &b->place[(b->pipe_of[m] == FREE ? 0 : b->pipe_of[m]) * p->n_stages + s];

			if (x->f_read[m] == FREE || (train && (!x->i[m] || !x->w[m])))
				brute_wrong(b, NULL, "a micro-batch is not complete");
		}
	for (int m = full; p->contract.flush != MR_FLUSH_NONE && m < MAX_MICRO; m++)
		if (b->pipe_of[m] != FREE)
			brute_wrong(b, NULL, "more micro-batches than the header says");
	for (int s = 0; train && s < p->n_stages * (replicas(b) ? p->n_pipes : 1); s++)
		if (b->stage[s].latest < version_of(b, full / need_of(p, s % p->n_stages)))
			brute_wrong(b, NULL, "a commit is missing");
}

static void reset(brute *b)
{
	for (int k = 0; k < b->p->n_pipes * b->p->n_stages; k++) {
		brute_place *x = &b->place[k];

		memset(x->slot, 0xff, sizeof(x->slot));
		memset(x->f_read, 0xff, sizeof(x->f_read));
		memset(x->fwd.held, 0xff, sizeof(x->fwd.held));
		memset(x->bwd.held, 0xff, sizeof(x->bwd.held));
		memset(x->fwd.at, 0xff, sizeof(x->fwd.at));
		memset(x->bwd.at, 0xff, sizeof(x->bwd.at));
	}
	for (int s = 0; s < b->p->n_stages * b->p->n_pipes; s++) {
		memset(b->stage[s].buffer, 0xff, sizeof(b->stage[s].buffer));
		b->stage[s].buffer[0] = 0;
	}
	memset(b->pipe_of, 0xff, sizeof(b->pipe_of));
}

static bool too_large(const mr_plan *p)
{
	if (p->n_stages > MAX_STAGES || p->n_pipes > MAX_PIPES || p->n_workers > 64 || !p->contract.need ||
	    p->n_micro > MAX_MICRO)
		return true;
	for (int k = 0; k < p->n_pipes * p->n_stages; k++)
		if (p->n_slots[k] > MAX_PLACES || p->n_fwd[k] > MAX_PLACES || p->n_bwd[k] > MAX_PLACES ||
		    !p->n_slots[k] || p->worker_of[k] >= p->n_workers)
			return true;
	for (int s = 0; s < p->n_stages; s++)
		if (!p->n_versions[s] || p->n_versions[s] > MAX_CAP)
			return true;
	return false;
}

brute *brute_open(const mr_plan *plan, uint32_t n_bodies, char why[80])
{
	brute *b;

	snprintf(why, 80, "out of the range of the small plans of the tests");
	if (too_large(plan))
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->p = plan;
	b->n_bodies = n_bodies;
	b->why = why;
	b->n_places = (size_t)plan->n_pipes * plan->n_stages;
	b->place = calloc(b->n_places, sizeof(*b->place));
	if (!b->place) {
		free(b);
		return NULL;
	}
	reset(b);
	return b;
}

void brute_close(brute *b)
{
	free(b->place);
	free(b);
}

void brute_judge(brute *b, const uint32_t *pc)
{
	const mr_plan *p = b->p;
	bool body = false, drained = false;
	uint64_t n;
	int full;

	for (uint16_t w = 0; w < p->n_workers; w++)
		if (brute_fetch(b, w, pc[w], &n))
			brute_wrong(b, brute_fetch(b, w, pc[w], &n), "stuck");
	for (int w = 0; w < p->n_workers; w++) {
		body |= p->lists[w * MR_N_SECTIONS + MR_BODY].n > 0;
		drained |= p->lists[w * MR_N_SECTIONS + MR_EPILOGUE].n > 0;
	}
	full = (int)(body ? b->n_bodies * p->n_micro : p->n_micro);
	for (int m = full; drained && m < MAX_MICRO; m++)
		if (b->pipe_of[m] != FREE)
			full = m + 1;
	finish(b, full);
}

bool brute_run(const mr_plan *plan, uint32_t n_bodies, uint32_t seed, char why[80])
{
	brute *b = brute_open(plan, n_bodies, why);
	volatile bool ok = false;

	if (!b)
		return false;
	if (!setjmp(b->out)) {
		run(b, seed);
		ok = true;
	}
	brute_close(b);
	return ok;
}
