#include "exec/links.h"

#include "base/size.h"
#include "ir/fifo.h"

/* Input and target buffers beyond those in use, so that decoding overlaps computing: a power of two, at most
 * AHEAD_BYTES of them. */
enum { LEAST_AHEAD = 2, MOST_AHEAD = 32, AHEAD_BYTES = 256 << 10 };

static uint32_t ahead(size_t bytes, uint32_t least)
{
	uint32_t n = LEAST_AHEAD;

	while (n < least)
		n *= 2;
	while (n < MOST_AHEAD && 2 * n * mr_align_up(bytes, MR_CACHE_LINE) <= AHEAD_BYTES)
		n *= 2;
	return n;
}

static void layout_link(mr_link *h, uint32_t n, size_t bytes, mr_arena *a)
{
	h->n = n;
	h->every = 1;
	h->bytes = mr_align_up(bytes, MR_CACHE_LINE);
	h->buffer = mr_arena_take(a, h->bytes * n, MR_CACHE_LINE);
	h->state = mr_arena_take(a, n, MR_CACHE_LINE);
	h->slots = mr_arena_take(a, 2 * (size_t)mr_ring_slots(n) * sizeof(uint32_t), MR_CACHE_LINE);
}

/* Lay out the boundary before @s, of activations or of gradients, between two stages. */
static void layout_boundary(mr_link *h, const mr_plan *p, uint8_t pipe, uint16_t s, bool forward, size_t bytes,
			    mr_arena *a)
{
	uint32_t n = (forward ? p->n_fwd : p->n_bwd)[mr_plan_at(p, pipe, s)];

	layout_link(h, n, bytes, a);
	if (!mr_boundary_is_fifo(p, pipe, s, forward) || (h->kind && !mr_link_kind_shares(h->kind)))
		h->arrived = mr_arena_take(a, n, MR_CACHE_LINE);
}

/* Lay out a link that the loader fills; the stage uses @n_used buffers at once. A sleeping loader may hold half of the
 * others. */
static void layout_feed(mr_link *h, uint32_t n_used, size_t bytes, uint32_t least, mr_arena *a)
{
	uint32_t more = ahead(bytes, least);

	layout_link(h, n_used + more, bytes, a);
	h->every = more / 2;
}

/* Room for the targets of all inputs that may be on their way to the last stage or wait for the first one. */
static void layout_halves(mr_links_stage *st, size_t bytes, mr_arena *a)
{
	st->half_bytes = mr_align_up(bytes, MR_CACHE_LINE);
	st->n_halves = bytes ? st->in.n + st->n_slots : 0;
	st->half = mr_arena_take(a, st->n_halves * st->half_bytes, MR_CACHE_LINE);
	st->half_of = mr_arena_take(a, st->n_halves * sizeof(*st->half_of), MR_CACHE_LINE);
}

/* Micro-batches whose input stage @s of @pipe needs at once; with @target, whose target is kept for a recomputation. */
static uint32_t most_held(const mr_plan *p, uint8_t pipe, uint16_t s, bool target)
{
	uint32_t n = 0, most = 0;

	for (int sec = MR_PROLOGUE; sec <= MR_BODY; sec++) { /* a body takes as many as it gives back */
		const mr_list *l = mr_plan_list(p, mr_plan_worker(p, pipe, s), (mr_section)sec);

		for (uint32_t i = 0; i < l->n; i++) {
			const mr_instr *in = &l->at[i];

			if (in->stage != s || in->pipe != pipe)
				continue;
			if (in->op == MR_OP_F && (!target || in->flags & MR_INSTR_DROP))
				n++;
			else if (target ? in->op == MR_OP_R : in->op == MR_OP_B || in->op == MR_OP_W)
				n--;
			most = n > most ? n : most;
		}
	}
	return most;
}

/* Forwards of stage @s before a V, which may have to be repeated: their targets are kept, too. */
static uint32_t before_validation(const mr_plan *p, uint16_t s)
{
	const mr_list *l = mr_plan_list(p, mr_plan_worker(p, 0, s), MR_BODY);
	uint32_t n = 0;

	if (p->contract.flush != MR_FLUSH_VALIDATED)
		return 0;
	for (uint32_t i = 0; i < l->n && l->at[i].op != MR_OP_V; i++)
		n += l->at[i].stage == s && l->at[i].op == MR_OP_F;
	return n;
}

/* The most micro-batches that are begun in @w's prologue and not finished: a synchronous commit has F and B of all its
 * own, and U. */
static uint32_t run_ahead(const mr_plan *p, uint16_t w)
{
	uint32_t n = mr_plan_list(p, w, MR_PROLOGUE)->n;
	uint64_t over = p->contract.sync_steps * (2 * (uint64_t)p->contract.need + 1);

	return over < n ? n - (uint32_t)over : 0;
}

void mr_links_layout(mr_links *l, uint8_t pipe, uint16_t s, const mr_stage *stage, const mr_links_stage *lender,
		     mr_arena *a)
{
	const mr_stage_sizes *z = mr_stage_size(stage);
	const mr_plan *p = l->plan;
	mr_links_stage *st = mr_links_at(l, pipe, s);
	uint32_t targets = most_held(p, pipe, s, true) + before_validation(p, s);
	size_t at = mr_plan_at(p, pipe, s);

	st->n_slots = p->n_slots[at];
	st->slot_bytes = mr_align_up(z->slot_bytes, MR_CACHE_LINE);
	st->slot = mr_arena_take(a, st->n_slots * sizeof(mr_slot), MR_CACHE_LINE);
	st->borrows_slots = lender && lender->n_slots >= st->n_slots;
	st->slot_bytes = st->borrows_slots ? lender->slot_bytes : st->slot_bytes;
	st->slot_memory = st->borrows_slots ? lender->slot_memory
					    : mr_arena_take(a, st->n_slots * st->slot_bytes, MR_CACHE_LINE);
	st->n_kept = targets ? p->n_micro + run_ahead(p, mr_plan_worker(p, pipe, s)) : 0;
	st->kept_in = mr_arena_take(a, st->n_kept * sizeof(*st->kept_in), MR_CACHE_LINE);
	st->kept_target = mr_arena_take(a, st->n_kept * sizeof(*st->kept_target), MR_CACHE_LINE);
	st->kept_version = mr_arena_take(a, st->n_kept * sizeof(*st->kept_version), MR_CACHE_LINE);
	if (!st->n_slots)
		return; /* no message passes here */
	if (s)
		layout_boundary(&st->in, p, pipe, s, true, z->in_bytes, a);
	else
		layout_feed(&st->in, targets ? most_held(p, pipe, s, false) : st->n_slots, z->in_bytes, l->ahead, a);
	if (!s)
		layout_halves(st, l->half_bytes, a);
	if (s + 1 < p->n_stages && l->train)
		layout_boundary(&st->grad, p, pipe, (uint16_t)(s + 1), false, z->grad_out_bytes, a);
	if (s + 1 == p->n_stages)
		layout_feed(&st->target, targets ? targets : 1, z->target_bytes, l->ahead, a);
}

void mr_links_set_up(mr_links *l, uint8_t pipe, uint16_t s)
{
	mr_links_stage *st = mr_links_at(l, pipe, s);

	for (uint32_t i = 0; i < st->n_slots; i++)
		st->slot[i] = (mr_slot){.memory = st->slot_memory + i * st->slot_bytes};
}

/* --- kinds --- */

/* The edge by which activations enter stage @s of @pipe, or gradients come back to it. */
static mr_edge edge_into(const mr_plan *p, uint8_t pipe, uint16_t s, bool forward)
{
	return (mr_edge){
		.kind = forward ? MR_EDGE_FORWARD : MR_EDGE_BACKWARD,
		.from = mr_plan_worker(p, pipe, (uint16_t)(forward ? s - 1 : s + 1)),
		.to = mr_plan_worker(p, pipe, s),
		.stage = s,
		.pipe = pipe,
	};
}

static mr_status choose(mr_link *h, mr_edge e, const mr_link_kind *const *kinds)
{
	return e.from == e.to ? MR_OK : mr_link_kind_of(kinds, &e, &h->kind);
}

mr_status mr_links_choose(mr_links *l, const mr_link_kind *const *kinds)
{
	const mr_plan *p = l->plan;

	for (unsigned pipe = 0; pipe < p->n_pipes; pipe++)
		for (uint16_t s = 0; s < p->n_stages; s++) {
			mr_links_stage *st = mr_links_at(l, (uint8_t)pipe, s);

			if (s)
				MR_TRY(choose(&st->in, edge_into(p, (uint8_t)pipe, s, true), kinds));
			if (s + 1 < p->n_stages && l->train)
				MR_TRY(choose(&st->grad, edge_into(p, (uint8_t)pipe, s, false), kinds));
		}
	return MR_OK;
}

mr_status mr_links_open(mr_links *l)
{
	const mr_plan *p = l->plan;

	for (unsigned pipe = 0; pipe < p->n_pipes; pipe++)
		for (uint16_t s = 0; s < p->n_stages; s++) {
			mr_links_stage *st = mr_links_at(l, (uint8_t)pipe, s);
			mr_edge e;

			if (s) {
				e = edge_into(p, (uint8_t)pipe, s, true);
				MR_TRY(mr_link_open(&st->in, &e));
			}
			if (s + 1 < p->n_stages && l->train) {
				e = edge_into(p, (uint8_t)pipe, s, false);
				MR_TRY(mr_link_open(&st->grad, &e));
			}
		}
	return MR_OK;
}

void mr_links_close(mr_links *l)
{
	for (size_t i = 0; l->st && i < (size_t)l->plan->n_pipes * l->plan->n_stages; i++) {
		mr_link_close(&l->st[i].in);
		mr_link_close(&l->st[i].grad);
	}
}

int64_t mr_links_samples(const mr_links *l, uint64_t m)
{
	uint64_t begin = m * (uint64_t)l->samples;

	if (l->n_samples == 0 || begin + (uint64_t)l->samples <= l->n_samples)
		return l->samples;
	return (int64_t)(l->n_samples - begin);
}
