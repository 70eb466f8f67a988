/* brute_rules.c - rules of the contract that look at an instruction and what has been done at its stage, and at nothing
 * else. */
#include "lower/brute_state.h"

/* Where W are taken from each other: has @in its turn, and if it is with another worker, is the stage done with all
 * else? */
bool brute_has_turn(brute *b, const mr_instr *in, int micro, bool away)
{
	int need = (int)b->p->contract.need, first = micro / need * need, m = first;

	while (m < first + need && m < MAX_MICRO && (!away || brute_at(b, in)->i[m]))
		m++;
	return m >= first + need && (micro == first || brute_at(b, in)->w[micro - 1]);
}

/* Any worker may take @in only if no other worker waits for it or for an instruction after it in its list. */
void brute_tail_only(brute *b, const mr_instr *in, uint16_t w)
{
	const mr_list *l = &b->p->lists[w * MR_N_SECTIONS + MR_BODY];

	if (!b->p->contract.steal || !l->n || in < l->at || in >= l->at + l->n)
		brute_wrong(b, in, "placed on any worker where that is not allowed");
	for (const mr_instr *k = in; k < l->at + l->n; k++)
		if (k->op < MR_OP_N && (k->op != MR_OP_W || !(k->flags & MR_INSTR_ANY)))
			brute_wrong(b, in, "not the tail");
}

/* Only F may use what V has not looked at, and V of a worker's stages come together. */
void brute_only_validated(brute *b, const mr_instr *in, int read, uint16_t w)
{
	const mr_plan *p = b->p;
	int seen = b->stage[in->stage].validated;

	if (read > seen && in->op != MR_OP_F)
		brute_wrong(b, in, "uses a version that may be taken back");
	for (int s = 0; s < p->n_stages; s++)
		if (p->worker_of[s] == w && b->stage[s].validated != seen)
			brute_wrong(b, in, "stands between V of one worker");
}

bool brute_validate(brute *b, const mr_instr *in, int v)
{
	brute_stage *s = &b->stage[in->stage];

	if (v != s->latest || (v && v != s->validated + 1) || b->p->n_versions[in->stage] < 2)
		brute_wrong(b, in, "validation out of turn");
	for (int k = 0; k < b->p->n_stages; k++)
		if (b->stage[k].normed < v)
			return false;
	s->validated = v;
	return true;
}

/* From the last stage down: kept, then the one that is updated, then passed. */
void brute_one_stage_a_step(brute *b, const mr_instr *in, uint64_t micro)
{
	bool last = in->stage + 1 == b->p->n_stages;
	brute_place *x = brute_at(b, in);
	unsigned now = in->flags & (MR_INSTR_KEEP | MR_INSTR_PASS), behind = last ? MR_INSTR_KEEP : x[1].leaves[micro];

	if (in->op == MR_OP_F && in->target < 0)
		brute_wrong(b, in, "a minibatch below 0");
	if (in->op == MR_OP_I || in->op == MR_OP_W)
		brute_wrong(b, in, "halves");
	if (in->op != MR_OP_B)
		return;
	if (now == (MR_INSTR_KEEP | MR_INSTR_PASS) ||
	    (behind == MR_INSTR_KEEP ? now == MR_INSTR_PASS : now != MR_INSTR_PASS) ||
	    (in->stage == 0 && now == MR_INSTR_KEEP))
		brute_wrong(b, in, "another stage than the one of its step");
	x->leaves[micro] = (uint8_t)now;
}

/* In a ring with whole steps: has the micro-batch before @micro been here, whose pipe is the one before? */
static bool has_passed(const brute *b, const mr_instr *in, int micro, bool forward)
{
	const brute_place *x;

	if (micro < 0)
		return true;
	x = &b->place[micro % b->p->n_pipes * b->p->n_stages + in->stage];
	return forward ? x->f_read[micro] != FREE : x->w[micro];
}

/* Is the sum to which @in, a B, adds that of the micro-batches of its count before it, or empty? */
bool brute_has_sum(brute *b, const mr_instr *in, int micro)
{
	int need = (int)b->p->contract.need;

	if (!b->p->contract.ring)
		return true;
	if (micro % b->p->n_pipes != in->pipe)
		brute_wrong(b, in, "another's turn");
	return has_passed(b, in, micro - 1, false) && (micro % need || b->stage[in->stage].latest >= micro / need);
}

/* Have F of the micro-batch before @micro and B of that whose room it takes been here? */
bool brute_has_room(brute *b, const mr_instr *in, int micro)
{
	int rooms = b->p->rooms[in->stage];

	return !b->p->contract.ring ||
	       (has_passed(b, in, micro - 1, true) && (!rooms || has_passed(b, in, micro - rooms, false)));
}

/* The step of a pipe with its own sum, or in a ring that of all, after the step before, whoever makes that. */
bool brute_step_whole(brute *b, const mr_instr *in, int v)
{
	brute_stage *s = &b->stage[in->stage];
	brute_place *x = b->p->contract.ring ? &b->place[in->stage] : brute_at(b, in);

	if (in->op != MR_OP_U || x->n_sum != (int)b->p->contract.need || x->sum[x->n_sum - 1] != v * x->n_sum - 1)
		brute_wrong(b, in, "steps with another sum");
	if (s->latest != v - 1)
		return false;
	x->n_sum = 0;
	s->buffer[v % b->p->n_versions[in->stage]] = v;
	s->latest = s->stepped[in->pipe] = v;
	return true;
}
