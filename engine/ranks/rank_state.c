#include "ranks/rank_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "weights/carried.h"
#include "weights/factors.h"
#include "weights/mitigated.h"
#include "weights/replicas.h"
#include "weights/stored_states.h"

static const mr_transport *by(const mr_run *run)
{
	return run->c.ranks->by;
}

static uint32_t rank_of(const mr_run *run, uint8_t pipe, uint16_t s)
{
	return mr_run_rank(&run->c, mr_plan_worker(run->c.plan, pipe, s));
}

/* The worker in whose region @data lies; n_workers: in none. */
static uint16_t region_of(const mr_run *run, const void *data)
{
	const uint8_t *at = data;

	for (uint16_t w = 0; w < run->n_workers; w++) {
		const uint8_t *base = run->worker[w].region.base;

		if (at >= base && at < base + run->worker[w].region.bytes)
			return w;
	}
	return run->n_workers;
}

/* Losses alone lie in no region: they are the last stage's. */
static uint32_t owner_of(const mr_run *run, const mr_saved_tensor *t)
{
	uint16_t w = region_of(run, t->data);
	uint8_t pipe = 0;

	if (w < run->n_workers)
		return mr_run_rank(&run->c, w);
	for (unsigned p = 0; p < run->n_pipes; p++) {
		const mr_links_stage *st = mr_links_at(&run->train, (uint8_t)p, (uint16_t)(run->n_stages - 1));

		for (uint32_t i = 0; i < st->n_slots; i++)
			if (st->slot[i].taken && t->data == &run->losses[st->slot[i].micro % run->n_losses])
				pipe = (uint8_t)p;
	}
	return rank_of(run, pipe, (uint16_t)(run->n_stages - 1));
}

/* A stretch of a tensor that one rank has. */
typedef struct stretch {
	size_t at, bytes;
	uint32_t rank, shard;
} stretch;

/* The stretches of parameter @p of @b, stage @s, in numbers of @each bytes: of each shard the range that it steps; with
 * @scales those of the range's blocks. Returns how many. */
static uint32_t cut(const mr_run *run, const mr_stage_weights *b, uint16_t s, uint32_t p, size_t each, bool scales,
		    stretch *out)
{
	uint32_t n = 0;
	int64_t first, count;

	for (uint32_t i = 0; i < b->n_shards; i++) {
		if (!mr_weights_range(b, (uint8_t)i, p, &first, &count))
			continue;
		if (scales) {
			count = mr_states_blocks(b, p, first + count);
			first = mr_states_blocks(b, p, first);
			count -= first;
		}
		out[n++] = (stretch){(size_t)first * each, (size_t)count * each, rank_of(run, (uint8_t)i, s), i};
	}
	return n;
}

/* Is @t the scales of a state of parameter @p? */
static bool is_scale(const mr_stage_weights *b, uint32_t p, const mr_saved_tensor *t)
{
	int64_t n;

	for (uint32_t i = 0; mr_states_bytes(b) && mr_stage_steps(b->stage, p) && i < b->optim.ops->n_states; i++)
		if (t->data && t->data == (void *)mr_states_scale(b, i, p, &n))
			return true;
	return false;
}

/* Is @t the optimizer's state, the rest of the masters or sharded weights of parameter @p? The bytes of one number, or
 * 0. */
static size_t is_stepped(const mr_run *run, const mr_stage_weights *b, uint32_t p, const mr_saved_tensor *t)
{
	size_t at = mr_stage_weight_at(b->stage, p);

	if (b->sharded && at != SIZE_MAX && t->data == mr_weights_param_at(b, 0, b->latest, p))
		return mr_dtype_bytes(b->k->types.weights);
	if (!mr_stage_steps(b->stage, p))
		return 0;
	if (t->data == (void *)mr_weights_rest(b, at))
		return sizeof(int16_t);
	for (uint32_t i = 0; mr_stage_size(b->stage)->state_bytes && i < run->c.optim->ops->n_states; i++)
		if (t->data == mr_states_at(b, i, p, 0))
			return mr_states_each(b);
	if (b->mitigation && b->mitigation->state &&
	    t->data == b->mitigation->state + mr_stage_state_at(b->stage, p))
		return mr_dtype_bytes(b->k->types.state);
	return 0;
}

/* Is @t a factor of parameter @p? It is with the shard that steps the whole of it. */
static bool is_factor(const mr_stage_weights *b, uint32_t p, const mr_saved_tensor *t)
{
	mr_factor factor[MR_OPTIM_FACTORS];

	if (!b->factors)
		return false;
	mr_factors_show(b->stage, &b->optim, b->k->types.state, p, b->factors, factor);
	for (uint32_t i = 0; i < b->optim.ops->n_factors; i++)
		if (factor[i].at && t->data == factor[i].at)
			return true;
	return false;
}

/* The stretches of @t, of which shards have each its range; at most one a shard. Returns how many; 0: it is no such
 * tensor. */
static uint32_t ranges_of(const mr_run *run, const mr_saved_tensor *t, stretch out[UINT8_MAX + 1])
{
	for (uint16_t s = 0; s < run->n_stages; s++) {
		const mr_stage_weights *b = &run->weights[s];
		uint32_t first, end;

		mr_stage_params(b->stage, &first, &end);
		for (uint32_t p = first; b->n_shards > 1 && p < end; p++) {
			size_t each = is_stepped(run, b, p, t);

			if (each)
				return cut(run, b, s, p, each, false, out);
			if (is_scale(b, p, t))
				return cut(run, b, s, p, sizeof(float), true, out);
			if (is_factor(b, p, t)) {
				each = cut(run, b, s, p, 1, false, out);
				out[0] = (stretch){0, t->bytes, out[0].rank, out[0].shard};
				return (uint32_t)each;
			}
		}
	}
	return 0;
}

/* The same of any tensor. */
static uint32_t stretches_of(const mr_run *run, const mr_saved_tensor *t, stretch out[UINT8_MAX + 1])
{
	uint32_t n = ranges_of(run, t, out);

	if (n)
		return n;
	out[0] = (stretch){0, t->bytes, owner_of(run, t), 0};
	return 1;
}

mr_status mr_rank_state_bring(const mr_run *run, uint32_t rank, void *data, size_t bytes)
{
	if (rank == 0 || !bytes)
		return MR_OK;
	if (run->c.ranks->self == rank)
		return by(run)->send(0, data, bytes);
	return run->c.ranks->self == 0 ? by(run)->receive(rank, data, bytes) : MR_OK;
}

/* The rank on which the micro-batches of place @place of a step pass stage @s. */
static uint32_t rank_of_place(const mr_run *run, uint16_t s, uint32_t place)
{
	const mr_plan *p = run->c.plan;

	for (uint16_t w = 0; w < p->n_workers; w++) {
		const mr_list *l = mr_plan_list(p, w, MR_BODY);

		for (uint32_t i = 0; i < l->n; i++)
			if (l->at[i].op == MR_OP_F && l->at[i].stage == s &&
			    l->at[i].micro % p->contract.need == place)
				return mr_run_rank(&run->c, w);
	}
	return rank_of(run, 0, s);
}

/* Of @t what lies in @table, [windows][places] of @each bytes that stage @s carries; *@is: it lies there. */
static mr_status cut_places(const mr_run *run, const mr_saved_tensor *t, uint16_t s, const void *table, size_t each,
			    mr_rank_stretch *take, void *arg, bool *is)
{
	const mr_carried *c = &run->carried[s];
	size_t all = (size_t)c->depth * c->n_micro * each, begin, end;
	const uint8_t *data = t->data, *base = table;

	*is = all && data >= base && data < base + all;
	begin = *is ? (size_t)(data - base) : 0;
	end = *is ? begin + t->bytes : 0;
	for (size_t at = begin; at < end;) {
		size_t next = (at / each + 1) * each < end ? (at / each + 1) * each : end;

		MR_TRY(take(arg, t, at - begin, next - at,
			    rank_of_place(run, s, (uint32_t)(at / each % c->n_micro))));
		at = next;
	}
	return MR_OK;
}

static mr_status cut_carried(const mr_run *run, const mr_saved_tensor *t, mr_rank_stretch *take, void *arg, bool *is)
{
	*is = false;
	for (uint16_t s = 0; run->carried && s < run->n_stages && !*is; s++) {
		const mr_carried *c = &run->carried[s];

		MR_TRY(cut_places(run, t, s, c->entry, c->bytes, take, arg, is));
		if (!*is)
			MR_TRY(cut_places(run, t, s, c->micro, sizeof(*c->micro), take, arg, is));
	}
	return MR_OK;
}

static int by_place(const void *a, const void *b)
{
	const stretch *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

mr_status mr_rank_state_cut(const mr_run *run, const mr_saved_tensor *t, mr_rank_stretch *take, void *arg)
{
	stretch part[UINT8_MAX + 1];
	uint64_t at = 0;
	uint32_t n;
	bool is;

	MR_TRY(cut_carried(run, t, take, arg, &is));
	if (is)
		return MR_OK;
	n = stretches_of(run, t, part);
	qsort(part, n, sizeof(*part), by_place);
	for (uint32_t i = 0; i < n; i++) {
		if (part[i].at > at) /* what nobody steps is the same everywhere */
			MR_TRY(take(arg, t, at, part[i].at - at, 0));
		if (part[i].bytes)
			MR_TRY(take(arg, t, part[i].at, part[i].bytes, part[i].rank));
		at = part[i].at + part[i].bytes;
	}
	return at < t->bytes ? take(arg, t, at, t->bytes - at, 0) : MR_OK;
}

static mr_status bring_stretch(void *arg, const mr_saved_tensor *t, uint64_t at, uint64_t bytes, uint32_t rank)
{
	return mr_rank_state_bring(arg, rank, (uint8_t *)t->data + at, bytes);
}

static mr_status bring(mr_run *run, const mr_saved_tensor *t)
{
	return mr_rank_state_cut(run, t, bring_stretch, run);
}

/* Has @rank a part in a stage of worker @w, or reads its tied parameters? */
static bool takes_part(const mr_run *run, uint32_t rank, uint16_t w)
{
	uint16_t last = (uint16_t)(run->n_stages - 1);
	bool some = false;

	for (uint16_t s = 0; s < run->n_stages; s++) {
		bool its = false, own = false;

		for (unsigned p = 0; p < run->n_pipes; p++) {
			its |= mr_plan_worker(run->c.plan, (uint8_t)p, s) == w;
			own |= rank_of(run, (uint8_t)p, s) == rank;
			own |= s == 0 && run->c.plan->contract.tied && rank_of(run, (uint8_t)p, last) == rank;
		}
		some |= its && own;
	}
	return some;
}

static bool wants(const mr_run *run, uint32_t rank, const mr_saved_tensor *t)
{
	uint16_t w = region_of(run, t->data);

	return w < run->n_workers ? takes_part(run, rank, w) : owner_of(run, t) == rank;
}

/* From rank 0 to @rank. */
static mr_status hand(const mr_run *run, uint32_t rank, void *data, size_t bytes)
{
	if (!rank || !bytes)
		return MR_OK;
	if (run->c.ranks->self == 0)
		return by(run)->send(rank, data, bytes);
	return run->c.ranks->self == rank ? by(run)->receive(0, data, bytes) : MR_OK;
}

/* Does @rank keep stretch @x of sharded weights of stage @s, of which it owns none of these? */
static bool keeps(const mr_run *run, uint16_t s, const stretch *x, uint32_t rank)
{
	const mr_stage_weights *b = &run->weights[s];

	for (uint32_t i = 0; i < b->n_shards && rank != x->rank; i++)
		if (mr_weights_peers(b, i, x->shard) && rank_of(run, (uint8_t)i, s) == rank)
			return true;
	return false;
}

/* The stage of which @t is sharded weights; n_stages: none. */
static uint16_t sharded_stage(const mr_run *run, const mr_saved_tensor *t)
{
	uint16_t s = 0;
	uint32_t p, end;

	for (; s < run->n_stages; s++) {
		const mr_stage_weights *b = &run->weights[s];

		mr_stage_params(b->stage, &p, &end);
		for (; b->sharded && p < end; p++)
			if (mr_stage_weight_at(b->stage, p) != SIZE_MAX &&
			    t->data == mr_weights_param_at(b, 0, b->latest, p))
				return s;
	}
	return s;
}

static mr_status give(mr_run *run, const mr_saved_tensor *t)
{
	stretch part[UINT8_MAX + 1];
	uint32_t n = ranges_of(run, t, part);
	uint16_t s = n ? sharded_stage(run, t) : run->n_stages;

	for (uint32_t i = 0; i < n; i++) {
		uint8_t *data = (uint8_t *)t->data + part[i].at;

		MR_TRY(hand(run, part[i].rank, data, part[i].bytes));
		for (uint32_t r = 1; s < run->n_stages && r < run->c.ranks->n; r++)
			if (keeps(run, s, &part[i], r))
				MR_TRY(hand(run, r, data, part[i].bytes));
	}
	for (uint32_t i = 1; !n && i < run->c.ranks->n; i++)
		if (wants(run, i, t))
			MR_TRY(hand(run, i, t->data, t->bytes));
	return MR_OK;
}

/* The lists are the same everywhere: each rank shows how long its own are. */
mr_status mr_rank_state_check(const mr_run *run, const mr_state *state)
{
	uint64_t own[3] = {state->model.n, state->optimizer.n, state->inflight.n}, other[3];

	if (run->c.ranks->self)
		return by(run)->send(0, own, sizeof(own));
	for (uint32_t i = 1; i < run->c.ranks->n; i++) {
		MR_TRY(by(run)->receive(i, other, sizeof(other)));
		if (memcmp(own, other, sizeof(own)) != 0)
			return mr_fail(MR_EINVAL,
				       "rank %u keeps %llu, %llu and %llu tensors, and rank 0 %llu, %llu and %llu", i,
				       (unsigned long long)other[0], (unsigned long long)other[1],
				       (unsigned long long)other[2], (unsigned long long)own[0],
				       (unsigned long long)own[1], (unsigned long long)own[2]);
	}
	return MR_OK;
}

mr_status mr_rank_state_give(mr_run *run, const mr_saved_tensor *t)
{
	stretch part[UINT8_MAX + 1];
	uint32_t n = ranges_of(run, t, part);
	uint16_t s;

	MR_TRY(give(run, t));
	s = n ? sharded_stage(run, t) : run->n_stages;
	for (uint32_t i = 0; i < n; i++)
		if (part[i].rank && (s == run->n_stages || !keeps(run, s, &part[i], 0)))
			mr_memory_release((const uint8_t *)t->data + part[i].at, part[i].bytes);
	if (!n && region_of(run, t->data) < run->n_workers && !wants(run, 0, t))
		mr_memory_release(t->data, t->bytes);
	return MR_OK;
}

typedef mr_status mover(mr_run *run, const mr_saved_tensor *t);

static mr_status move_all(mr_run *run, mover *move)
{
	mr_state state;
	const mr_state_list *list[] = {&state.model, &state.optimizer, &state.inflight};
	mr_status st;

	MR_TRY(mr_state_of_run(run, &state));
	st = mr_rank_state_check(run, &state);
	for (int k = 0; k < 3; k++)
		for (size_t i = 0; st == MR_OK && i < list[k]->n; i++)
			st = move(run, &list[k]->at[i]);
	mr_state_fini(&state);
	return st;
}

mr_status mr_rank_state_gather(mr_run *run)
{
	return move_all(run, bring);
}

mr_status mr_rank_state_scatter(mr_run *run)
{
	return move_all(run, give);
}

/* @bytes of @data, which @from has, to all others with a replica of stage @s. */
static mr_status share(const mr_run *run, uint16_t s, uint32_t from, void *data, size_t bytes)
{
	uint32_t self = run->c.ranks->self;

	for (uint32_t i = 0; i < run->c.ranks->n; i++) {
		bool has = false;

		for (unsigned p = 0; p < run->n_pipes; p++)
			has |= rank_of(run, (uint8_t)p, s) == i;
		if (!has || i == from)
			continue;
		if (self == from)
			MR_TRY(by(run)->send(i, data, bytes));
		else if (self == i)
			MR_TRY(by(run)->receive(from, data, bytes));
	}
	return MR_OK;
}

mr_status mr_rank_state_share(mr_run *run)
{
	for (uint16_t s = 0; run->replicas && s < run->n_stages; s++) {
		const mr_replicas *g = &run->replicas[s];
		const mr_types *t = &run->c.kernels->types;
		struct {
			void *data;
			size_t each;
		} array[] = {{g->reference, mr_dtype_bytes(t->weights)},
			     {g->rest, sizeof(*g->rest)},
			     {g->velocity, mr_dtype_bytes(t->state)},
			     {g->mean, mr_dtype_bytes(t->state)}};

		for (uint32_t p = 0; p < g->n; p++) {
			mr_replica_part of = mr_replicas_part(g, p);

			for (size_t a = 0; a < sizeof(array) / sizeof(array[0]); a++)
				if (array[a].data)
					MR_TRY(share(run, s, rank_of(run, (uint8_t)p, s),
						     (uint8_t *)array[a].data + of.first * array[a].each,
						     (size_t)of.n * array[a].each));
		}
	}
	return MR_OK;
}
