/*
 * check_storage.c - checks that every slot and buffer is free when it is taken and that readers read what was written.
 *
 * Slots belong to one worker: its list shows when they are free. A boundary buffer is not taken before its last content
 * is released, because the writer waits for that (the storage edges of unroll.h); the absence of cycles, in one list or
 * across workers, shows that these waits end. It remains to check that readers name the right buffer, and, where
 * numbers follow from the micro-batches (MR_MODULO), that the reader takes messages in the order in which they are
 * sent, since counts determine which are under way at a pause.
 */
#include "lower/check_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ir/op.h"

static size_t cell(const mr_unroll *g, uint16_t stage, uint32_t node)
{
	return stage * (size_t)g->n_micro + (size_t)mr_unroll_micro(g, node);
}

/* Frees the slots of the further micro-batches of a span, which are those that F or R took. */
static mr_status free_rest(const mr_unroll *g, uint32_t node, uint32_t *held)
{
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	for (uint32_t k = 1; k < g->at[node].in->span; k++) {
		size_t at = cell(g, g->at[node].in->stage, node) + k;
		uint32_t saver = g->recompute[at] != MR_NO_NODE ? g->recompute[at] : g->f[at];
		uint32_t slot = mr_instr_slot(g->plan, g->at[saver].in, g->at[saver].n);

		if (held[slot] != saver)
			return mr_fail(MR_ECONFIG, "%s: what %s saved is no longer in slot %u",
				       mr_unroll_name(g, node, a), mr_unroll_name(g, saver, b), slot);
		if (g->release[at] == node)
			held[slot] = MR_NO_NODE;
	}
	return MR_OK;
}

/* @held: [first_slot[place] + slot] the F or R that took it, or MR_NO_NODE. */
static mr_status check_slot(const mr_unroll *g, uint32_t node, uint32_t *held, const size_t *first_slot)
{
	const mr_plan *p = g->plan;
	const mr_instr *in = g->at[node].in;
	size_t at = mr_plan_at(p, in->pipe, in->stage);
	uint32_t slot = mr_instr_slot(p, in, g->at[node].n), saver = g->recompute[cell(g, in->stage, node)];
	bool takes = in->op == MR_OP_F || in->op == MR_OP_R;
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	if (slot >= p->n_slots[at])
		return mr_fail(MR_ECONFIG, "%s: slot %u of a stage that has %u", mr_unroll_name(g, node, a), slot,
			       p->n_slots[at]);
	held += first_slot[at];
	if (takes && held[slot] != MR_NO_NODE)
		return mr_fail(MR_ECONFIG, "%s: takes slot %u, which still holds what %s saved",
			       mr_unroll_name(g, node, a), slot, mr_unroll_name(g, held[slot], b));
	if (takes)
		held[slot] = node;
	else if (saver == MR_NO_NODE)
		saver = g->f[cell(g, in->stage, node)];
	if (!takes && held[slot] != saver)
		return mr_fail(MR_ECONFIG, "%s: uses slot %u, which does not hold what %s saved",
			       mr_unroll_name(g, node, a), slot, mr_unroll_name(g, saver, b));
	if (in->flags & MR_INSTR_DROP || g->release[cell(g, in->stage, node)] == node)
		held[slot] = MR_NO_NODE;
	return in->span > 1 ? free_rest(g, node, held) : MR_OK;
}

/* Checks a W on another worker than its stage's: it uses the slot in which F or R saved; U frees it (free_away). */
static mr_status check_away(const mr_unroll *g, uint32_t node)
{
	const mr_instr *in = g->at[node].in;
	size_t at = cell(g, in->stage, node);
	uint32_t saver = g->recompute[at] != MR_NO_NODE ? g->recompute[at] : g->f[at];
	uint32_t slot = mr_instr_slot(g->plan, in, g->at[node].n),
		 held = mr_instr_slot(g->plan, g->at[saver].in, g->at[saver].n);
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	if (slot == held)
		return MR_OK;
	return mr_fail(MR_ECONFIG, "%s: uses slot %u, but %s saved in slot %u", mr_unroll_name(g, node, a), slot,
		       mr_unroll_name(g, saver, b), held);
}

/* U has waited for all W of its count: the slots that stolen ones used are free again. */
static void free_away(const mr_unroll *g, uint32_t node, uint32_t *held, const size_t *first_slot)
{
	const mr_instr *in = g->at[node].in;
	size_t at = mr_plan_at(g->plan, in->pipe, in->stage);

	for (uint32_t k = 0; k < g->plan->n_slots[at]; k++) {
		uint32_t saver = held[first_slot[at] + k], release;

		if (saver == MR_NO_NODE)
			continue;
		release = g->release[cell(g, in->stage, saver)];
		if (release != MR_NO_NODE && mr_unroll_is_away(g, release))
			held[first_slot[at] + k] = MR_NO_NODE;
	}
}

static mr_status check_slots(const mr_unroll *g)
{
	const mr_plan *p = g->plan;
	size_t places = (size_t)p->n_pipes * p->n_stages, total = 0;
	size_t *first_slot = malloc(places * sizeof(*first_slot));
	uint32_t *held;
	mr_status st;

	for (size_t i = 0; first_slot && i < places; i++) {
		first_slot[i] = total;
		total += p->n_slots[i];
	}
	held = malloc((total + 1) * sizeof(*held));
	st = first_slot && held ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %zu slots", total);
	if (st == MR_OK)
		memset(held, 0xff, total * sizeof(*held));
	for (uint32_t i = 0; st == MR_OK && i < g->n_nodes; i++)
		if (mr_op_is_compute(g->at[i].in->op))
			st = mr_unroll_is_away(g, i) ? check_away(g, i) : check_slot(g, i, held, first_slot);
		else if (p->contract.steal && g->at[i].in->op == MR_OP_U)
			free_away(g, i, held, first_slot);
	free(first_slot);
	free(held);
	return st;
}

/* The buffers that @node reads are those that its producers wrote (with MR_MODULO they cannot differ). */
static mr_status check_reads(const mr_unroll *g, uint32_t node)
{
	const mr_plan *p = g->plan;
	const mr_instr *in = g->at[node].in;
	bool forward = in->op == MR_OP_F || in->op == MR_OP_R;
	uint32_t from, wrote, reads;
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	if (!mr_op_is_compute(in->op) || in->stage == (forward ? 0 : p->n_stages - 1))
		return MR_OK;
	from = forward ? g->f[cell(g, (uint16_t)(in->stage - 1), node)]
		       : g->grad[cell(g, (uint16_t)(in->stage + 1), node)];
	wrote = mr_instr_out(p, g->at[from].in, g->at[from].n);
	reads = forward ? mr_instr_in_fwd(p, in, g->at[node].n) : mr_instr_in_bwd(p, in, g->at[node].n);
	if (wrote != reads)
		return mr_fail(MR_ECONFIG, "%s: reads %s buffer %u, but %s wrote buffer %u", mr_unroll_name(g, node, a),
			       forward ? "forward" : "gradient", reads, mr_unroll_name(g, from, b), wrote);
	return MR_OK;
}

/* The first message at or behind @k of @place, in its list: F forward, B and I backward. */
static uint32_t next_message(const mr_unroll *g, size_t place, uint32_t k, bool forward)
{
	for (; k < g->place_first[place + 1]; k++) {
		uint8_t op = g->at[g->place_node[k]].in->op;

		if (forward ? op == MR_OP_F : op == MR_OP_B || op == MR_OP_I)
			break;
	}
	return k;
}

/* Messages from @maker to @user: the k-th sent must be the k-th taken. Where the lists store numbers the reader finds
 * its message by number. */
static mr_status check_fifo(const mr_unroll *g, uint8_t pipe, uint16_t maker, uint16_t user, bool forward)
{
	size_t from = mr_plan_at(g->plan, pipe, maker), to = mr_plan_at(g->plan, pipe, user);
	uint32_t i = g->place_first[from], k = g->place_first[to];
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	if (g->plan->worker_of[from] == g->plan->worker_of[to] || g->plan->storage == MR_STORED)
		return MR_OK;
	for (; (k = next_message(g, to, k, forward)) < g->place_first[to + 1]; k++, i++) {
		uint32_t sent, taken = g->place_node[k];

		i = next_message(g, from, i, forward); /* exists: every taker has its maker, and takers are distinct */
		sent = g->place_node[i];
		if (mr_unroll_micro(g, sent) != mr_unroll_micro(g, taken))
			return mr_fail(
				MR_ECONFIG,
				"%s: its turn is the output of %s: the boundary of a plan that repeats without a "
				"flush is first in, first out",
				mr_unroll_name(g, taken, a), mr_unroll_name(g, sent, b));
	}
	return MR_OK;
}

mr_status mr_check_storage(const mr_unroll *g)
{
	MR_TRY(check_slots(g));
	for (uint32_t i = 0; i < g->n_nodes; i++)
		MR_TRY(check_reads(g, i));
	for (unsigned p = 0; p < g->plan->n_pipes; p++)
		for (uint16_t s = 1; s < g->plan->n_stages; s++) {
			MR_TRY(check_fifo(g, (uint8_t)p, (uint16_t)(s - 1), s, true));
			MR_TRY(check_fifo(g, (uint8_t)p, s, (uint16_t)(s - 1), false));
		}
	return MR_OK;
}
