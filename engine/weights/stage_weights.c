#include "weights/stage_weights.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "host/group.h"
#include "weights/factors.h"
#include "weights/layer_states.h"
#include "weights/mitigated.h"
#include "weights/norms.h"
#include "weights/owned.h"
#include "weights/predict.h"
#include "weights/ranges.h"
#include "weights/reduction.h"
#include "weights/replicas.h"
#include "weights/row_versions.h"
#include "weights/slow_start.h"
#include "weights/steal_queue.h"
#include "weights/stored_states.h"
#include "weights/tied_sum.h"
#include "weights/validation.h"

size_t mr_weights_work_bytes(const mr_stage *s, const mr_optim *o, mr_dtype t)
{
	uint32_t first, end;
	size_t most = 0;

	mr_stage_params(s, &first, &end);
	for (uint32_t p = first; p < end && o->ops->work_bytes; p++) {
		mr_optim_matrix m = mr_graph_matrix(mr_stage_graph(s), p);
		size_t bytes = m.rows ? o->ops->work_bytes(&m, t) : 0;

		most = bytes > most ? bytes : most;
	}
	return most;
}

size_t mr_weights_factor_bytes(const mr_stage_weights *b)
{
	/* of a frozen stage nothing is stepped */
	return mr_stage_size(b->stage)->state_bytes ? mr_factors_bytes(b->stage, &b->optim, b->k->types.state) : 0;
}

int64_t mr_weights_whole_rows(const mr_stage_weights *b, uint32_t p, int64_t n)
{
	int64_t cols = mr_param_lazy_cols(&mr_stage_graph(b->stage)->params[p]);

	return cols ? (n + cols - 1) / cols * cols : mr_states_whole_blocks(b, p, n);
}

size_t mr_weights_shard_work_bytes(const mr_stage_weights *b, uint8_t pipe)
{
	size_t most = mr_weights_work_bytes(b->stage, &b->optim, b->k->types.state);
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		size_t sums = (size_t)mr_weights_whole_rows(b, p, b->shard[pipe].piece) *
			      mr_dtype_bytes(b->k->types.gradients);

		most = sums > most ? sums : most;
	}
	return most;
}

/* The begin of a layer, or the end of the last, that is nearest to byte @at of the weights. */
static size_t nearest_layer(const mr_stage_weights *b, size_t at)
{
	const mr_graph *g = mr_stage_graph(b->stage);
	size_t best = mr_stage_size(b->stage)->weight_bytes, off = best - at;
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = end; p-- > first;) {
		size_t begin = mr_stage_weight_at(b->stage, p), by = begin > at ? begin - at : at - begin;

		if ((p > first && g->params[p - 1].node == g->params[p].node) || by > off)
			continue;
		best = begin;
		off = by;
	}
	return best;
}

void mr_weights_cut(mr_stage_weights *b)
{
	size_t lines = mr_stage_size(b->stage)->weight_bytes / MR_CACHE_LINE; /* every parameter begins on one */

	b->whole = !mr_optim_elementwise(&b->optim);
	b->n_parts = 0;
	for (uint32_t i = 0; i < b->n_shards; i++) {
		mr_shard *s = &b->shard[i];
		size_t begin = lines * s->place / b->n_shards * MR_CACHE_LINE;
		size_t end = lines * (s->place + 1) / b->n_shards * MR_CACHE_LINE;

		if (b->joint) {
			begin = s->place ? nearest_layer(b, begin) : 0;
			end = s->place + 1 < b->n_shards ? nearest_layer(b, end)
							 : mr_stage_size(b->stage)->weight_bytes;
		}
		s->begin = begin;
		s->end = end;
		b->n_parts += s->need > 0;
	}
	b->n_here = b->n_shards;
	b->parts_here = b->n_parts;
}

static void layout_features(mr_stage_weights *b, mr_arena *a, uint8_t shard)
{
#define MR_OF_STAGE(type, name, layout, close)                                                                         \
	{                                                                                                              \
		void (*const take)(mr_stage_weights *, mr_arena *, uint8_t) = layout;                                  \
                                                                                                                       \
		if (b->name && take)                                                                                   \
			take(b, a, shard);                                                                             \
	}
#include "weights/features.def"
}

size_t mr_weights_sum_bytes(const mr_stage_weights *b)
{
	size_t own = mr_stage_size(b->stage)->grad_bytes;

	if (b->lender)
		return 0;
	return own > b->grad_room ? own : b->grad_room;
}

void mr_weights_lend(mr_stage_weights *lender, mr_stage_weights *b)
{
	size_t bytes = mr_stage_size(b->stage)->grad_bytes;

	b->lender = lender;
	lender->grad_room = bytes > lender->grad_room ? bytes : lender->grad_room;
}

void mr_weights_lend_room(mr_stage_weights *lender, mr_stage_weights *b)
{
	size_t bytes = mr_stage_size(b->stage)->weight_bytes, own = mr_stage_size(lender->stage)->weight_bytes;

	own = own > lender->room_bytes ? own : lender->room_bytes;
	lender->room_bytes = bytes > own ? bytes : own;
	if (lender != b)
		b->room_of = lender;
}

bool mr_weights_begins(const mr_stage_weights *b, uint32_t shard)
{
	return b->sharded ? shard == b->first_here : mr_weights_home(b, shard) == shard;
}

void mr_weights_layout(mr_stage_weights *b, mr_arena *a, uint8_t pipe)
{
	const mr_stage_sizes *z = mr_stage_size(b->stage);
	mr_shard *s = &b->shard[pipe];
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	if (b->sharded && !b->room_of)
		s->room = mr_arena_take(a, mr_stagger(b->room_bytes), MR_CACHE_LINE);
	if (!b->sharded && mr_weights_home(b, pipe) == pipe)
		s->version = mr_arena_take(
			a, mr_stagger(mr_weights_stride_of(b, pipe) * b->cap + (b->row_versions ? z->table_bytes : 0)),
			MR_CACHE_LINE);
	s->grads = b->lender ? NULL : mr_arena_take(a, mr_weights_sum_bytes(b), MR_CACHE_LINE);
	if (pipe == 0 && !b->owned)
		mr_owned_layout(b, a);
	s->work = mr_arena_take(a, mr_weights_shard_work_bytes(b, pipe), MR_CACHE_LINE);
	s->state_room = mr_arena_take(a, mr_states_room(b, pipe), MR_CACHE_LINE);
	if (pipe == 0)
		mr_version_count_layout(&b->version_count, a, b->cap);
	if (pipe == 0 && b->norms)
		mr_norms_layout(b, a);
	s->step = mr_arena_take(a, (end - first) * sizeof(mr_step), MR_CACHE_LINE);
	if (b->joint)
		mr_reduction_layout(b, a, pipe);
	layout_features(b, a, pipe);
}

void mr_weights_fini(mr_stage_weights *b)
{
	mr_owned_close(b);
	mr_reduction_close(b);
	mr_norms_close(b);
#define MR_OF_STAGE(type, name, layout, close)                                                                         \
	{                                                                                                              \
		void (*const part)(mr_stage_weights *) = close;                                                        \
                                                                                                                       \
		if (b->name && part)                                                                                   \
			part(b);                                                                                       \
		free(b->name);                                                                                         \
		b->name = NULL;                                                                                        \
	}
#include "weights/features.def"
}

void mr_weights_join(mr_stage_weights *b)
{
	for (uint32_t i = 1; i < b->n_shards; i++)
		b->shard[i].version = b->shard[mr_weights_home(b, i)].version;
	for (uint32_t i = 0; b->room_of && i < b->n_shards; i++)
		b->shard[i].room = b->room_of->shard[i].room;
	for (uint32_t i = 0; b->lender && i < b->n_shards; i++)
		b->shard[i].grads = b->lender->shard[i].grads;
}

/* --- sums --- */

/* The first shard that has micro-batches. */
static uint32_t first_part(const mr_stage_weights *b)
{
	uint32_t i = 0;

	while (i + 1 < b->n_shards && !b->shard[i].need)
		i++;
	return i;
}

void *mr_weights_total(const mr_stage_weights *b)
{
	if (b->summed)
		return b->summed;
	if (b->apart)
		return b->shard[0].grads;
	return b->shard[first_part(b)].grads;
}

void *mr_weights_total_of(const mr_stage_weights *b, uint32_t shard)
{
	return b->apart ? b->shard[shard].grads : mr_weights_total(b);
}

bool mr_weights_part(const mr_stage_weights *b, uint8_t pipe, uint32_t p, int64_t *first, int64_t *n)
{
	*first = *n = 0;
	return mr_stage_steps(b->stage, p) && mr_weights_range(b, pipe, p, first, n);
}

bool mr_weights_range(const mr_stage_weights *b, uint8_t pipe, uint32_t p, int64_t *first, int64_t *n)
{
	const mr_shard *s = &b->shard[pipe];
	size_t at = mr_stage_weight_at(b->stage, p), bytes = mr_dtype_bytes(b->k->types.weights), end, from;

	*first = 0;
	*n = mr_stage_graph(b->stage)->params[p].n;
	if (at == SIZE_MAX)
		return false;
	if (b->whole || b->n_shards == 1)
		return b->n_shards == 1 || (at >= s->begin && at < s->end);
	end = at + (size_t)*n * bytes;
	from = at > s->begin ? at : s->begin;
	end = end < s->end ? end : s->end;
	if (from >= end)
		return false;
	*first = mr_weights_whole_rows(b, p, (int64_t)((from - at) / bytes));
	*n = mr_weights_whole_rows(b, p, (int64_t)((end - at) / bytes)) - *first;
	return *n > 0;
}

/* Where a table is at its offset: with row versions behind the last buffer; a copy of a node has none. */
static void *tables_at(const mr_stage_weights *b, uint8_t pipe, uint64_t v)
{
	if (b->shard[pipe].home && !b->row_versions)
		pipe = 0;
	return mr_weights_at(b, pipe, b->row_versions ? b->cap - 1 : v);
}

void mr_weights_show(const mr_stage_weights *b, uint8_t shard, uint64_t v, mr_stage_io *io)
{
	io->weights = b->sharded ? b->shard[shard].room : mr_weights_at(b, shard, v);
	io->tables = b->row_versions || b->shard[shard].home ? tables_at(b, shard, v) : NULL;
	io->version = v;
	io->grads = b->shard[shard].grads;
}

void *mr_weights_param_at(const mr_stage_weights *b, uint8_t pipe, uint64_t v, uint32_t p)
{
	bool table = mr_stage_graph(b->stage)->params[p].lazy > 0;
	void *weights = table ? tables_at(b, pipe, v) : mr_weights_at(b, pipe, v);

	return (uint8_t *)weights + mr_stage_weight_at(b->stage, p);
}

bool mr_weights_keeps_whole(const mr_stage_weights *b, uint32_t p)
{
	return !(b->row_versions && mr_stage_graph(b->stage)->params[p].lazy);
}

/* A parameter, whose parts threads share. */
typedef struct beginning {
	const mr_stage_weights *b;
	uint64_t seed;
	uint32_t p;
	void *weights;
	int16_t *rest;
} beginning;

static void begin_part(void *arg, uint64_t part)
{
	const beginning *x = arg;
	const mr_graph *g = mr_stage_graph(x->b->stage);
	int64_t first = (int64_t)part * MR_GRAPH_INIT_PART, end = first + MR_GRAPH_INIT_PART;
	bool owned = !x->b->owned || mr_owned_here(x->b, x->p, first, end, false);

	if (x->b->sharded && !owned && !mr_owned_here(x->b, x->p, first, end, true))
		return;
	mr_graph_init_part(g, x->p, (int64_t)part, x->seed, x->b->k->types.weights, x->weights, owned ? x->rest : NULL);
}

void mr_weights_init(mr_stage_weights *b, uint8_t pipe, uint64_t seed)
{
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		size_t at = mr_stage_weight_at(b->stage, p);

		beginning x = {.b = b, .seed = seed, .p = p};

		if (at == SIZE_MAX || (b->shard[pipe].home && mr_stage_graph(b->stage)->params[p].lazy))
			continue;
		x.weights = mr_weights_param_at(b, pipe, 0, p);
		if (pipe == b->first_here && mr_stage_steps(b->stage, p))
			x.rest = mr_weights_rest(b, at);
		mr_team_each((uint64_t)mr_graph_init_parts(mr_stage_graph(b->stage), p), begin_part, &x);
	}
	if (pipe == b->first_here && b->row_versions)
		mr_row_versions_init(b);
}

/* --- steps --- */

/* The call of @o that steps parameter @p from element @first on. */
static mr_optim_call call_of(const mr_stage_weights *b, uint8_t pipe, uint32_t p, int64_t first,
			     double lr, double gscale)
{
	size_t from = (size_t)first * mr_dtype_bytes(b->k->types.weights), at = mr_stage_weight_at(b->stage, p) + from;
	const mr_graph *g = mr_stage_graph(b->stage);
	mr_optim_call c = {
		.src = (const uint8_t *)mr_weights_param_at(b, pipe, b->latest, p) + from,
		.dst = (uint8_t *)mr_weights_param_at(b, pipe, b->latest + 1, p) + from,
		.lr = lr,
		.t = mr_weights_step_of(b, b->latest + 1),
		.gscale = gscale,
		.decay = g->params[p].decay,
		.lazy_cols = mr_param_lazy_cols(&g->params[p]),
		.sum_rows = mr_stage_rows_of(b->stage, p),
		.work = b->shard[pipe].work,
	};

	if (b->row_versions) {
		uint32_t begin, end;

		mr_stage_params(b->stage, &begin, &end);
		c.old_rows = b->row_versions->of[p - begin];
	}
	c.rounding = (mr_rounding){.seed = b->seed, .step = c.t, .first = (uint64_t)first, .param = p};
	c.src_rest = c.dst_rest = mr_weights_rest(b, at);
	for (uint32_t i = 0; i < b->optim.ops->n_states; i++)
		c.state[i] = mr_states_at(b, i, p, first);
	c.stored = mr_states_stored(b, pipe, p, first);
	if (!mr_optim_elementwise(&b->optim))
		c.matrix = mr_graph_matrix(g, p);
	if (b->factors)
		mr_factors_show(b->stage, &b->optim, b->k->types.state, p, b->factors, c.factor);
	return c;
}

const mr_step *mr_weights_steps(mr_stage_weights *b, uint8_t pipe, double lr, double gscale)
{
	mr_step *step = b->shard[pipe].step;
	uint32_t first, end;

	assert(mr_optim_elementwise(&b->optim));
	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		mr_optim_call c;

		step[p - first] = (mr_step){0};
		if (!mr_stage_steps(b->stage, p))
			continue;
		c = call_of(b, pipe, p, 0, lr, gscale);
		b->optim.ops->fill(&b->optim, &c, &step[p - first]);
	}
	return step;
}

const mr_step *mr_weights_steps_inside(mr_stage_weights *b, double lr, double gscale)
{
	mr_step *step = b->shard[0].step;
	uint32_t first, end, user;

	(void)mr_weights_steps(b, 0, lr, gscale);
	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; b->tied && p < end; p++) {
		if (mr_stage_steps_rows(b->stage, p, &user))
			step[user - first] = step[p - first];
		else if (mr_stage_steps(b->stage, p) && mr_graph_tied(mr_stage_graph(b->stage), p))
			step[p - first] = (mr_step){0};
	}
	return step;
}

bool mr_weights_may_copy(const mr_stage_weights *b)
{
	const mr_stage_sizes *z = mr_stage_size(b->stage);

	if (z->table_bytes && (z->table_bytes == z->weight_bytes || b->whole_sums))
		return false;
	return b->n_shards > 1 && !b->private_weights && !b->one_copy;
}

void mr_weights_copy(mr_stage_weights *b, uint8_t pipe, size_t from, size_t to)
{
	const uint8_t *made = (const uint8_t *)mr_weights_at(b, pipe, b->latest + 1) + from;
	const mr_stage_sizes *z = mr_stage_size(b->stage);
	size_t end = z->weight_bytes - (b->private_weights ? 0 : z->table_bytes); /* tables lie behind all others */

	to = to < end ? to : end;
	for (uint32_t i = 0; i < b->n_shards && !b->apart && from < to; i++)
		if (mr_weights_home(b, i) == i && i != mr_weights_home(b, pipe))
			memcpy((uint8_t *)mr_weights_at(b, (uint8_t)i, b->latest + 1) + from, made, to - from);
}

mr_status mr_weights_step_part(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc, double lr,
			       double gscale, uint32_t p, int64_t first, int64_t n, const void *g)
{
	size_t bytes = mr_dtype_bytes(b->k->types.weights);
	size_t at = mr_stage_weight_at(b->stage, p) + (size_t)first * bytes;
	mr_optim_call c = call_of(b, pipe, p, first, lr, gscale);

	MR_TRY(mr_optim_step(&b->optim, &c, b->k, kc, n, g));
	mr_weights_copy(b, pipe, at, at + (size_t)n * bytes);
	return MR_OK;
}

mr_status mr_weights_step(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc, double lr, double gscale)
{
	const uint8_t *total = mr_weights_total_of(b, pipe);
	size_t each = mr_dtype_bytes(b->k->types.gradients);
	uint32_t begin, end;
	int64_t first, n;

	mr_stage_params(b->stage, &begin, &end);
	for (uint32_t p = begin; p < end; p++)
		if (mr_weights_part(b, pipe, p, &first, &n))
			MR_TRY(mr_weights_step_part(b, pipe, kc, lr, gscale, p, first, n,
						    total + mr_stage_grad_at(b->stage, p) + (size_t)first * each));
	return MR_OK;
}

void mr_weights_skip(mr_stage_weights *b, uint8_t pipe)
{
	size_t bytes = mr_dtype_bytes(b->k->types.weights);
	uint32_t begin, end;
	int64_t first, n;

	if (b->cap == 1)
		return;
	mr_stage_params(b->stage, &begin, &end);
	for (uint32_t p = begin; p < end; p++) {
		size_t at = mr_stage_weight_at(b->stage, p);

		if (b->private_weights && !b->apart) { /* the copy is this pipe's own: all of it */
			first = 0;
			n = at == SIZE_MAX ? 0 : mr_stage_graph(b->stage)->params[p].n;
		} else if (!mr_weights_part(b, pipe, p, &first, &n)) {
			continue;
		}
		at = (size_t)first * bytes;
		if (!n || !mr_weights_keeps_whole(b, p))
			continue;
		memcpy((uint8_t *)mr_weights_param_at(b, pipe, b->latest + 1, p) + at,
		       (const uint8_t *)mr_weights_param_at(b, pipe, b->latest, p) + at, (size_t)n * bytes);
		at += mr_stage_weight_at(b->stage, p);
		if (!b->private_weights)
			mr_weights_copy(b, pipe, at, at + (size_t)n * bytes);
	}
}

uint64_t mr_weights_step_of(const mr_stage_weights *b, uint64_t v)
{
	return b->replicas ? mr_replicas_step_of(b->replicas, v) : v;
}

double mr_weights_lr(const mr_stage_weights *b, const mr_lr *lr, uint64_t v)
{
	double full = mr_lr_at(lr, (v + b->in_step - 1) / b->in_step) * b->rate;

	full *= b->rates ? b->rates[(v - 1) % b->n_rates] : 1;

	return b->slow_start ? mr_slow_start_rate(b->slow_start, full, v) : full;
}

void mr_weights_committed(mr_stage_weights *b)
{
	b->latest++;
	mr_version_count_made(&b->version_count, b->latest);
	if (b->tied)
		b->tied->summed = false;
	b->unchanged = false;
}

void mr_weights_take_over(mr_stage_weights *to, const mr_stage_weights *from)
{
	memcpy(to->shard[0].version, from->shard[0].version, mr_weights_stride(from) * from->cap);
	for (uint32_t i = 0; i < from->optim.ops->n_states && mr_states_bytes(from); i++)
		memcpy(to->state[i], from->state[i], mr_states_bytes(from));
	if (from->factors)
		memcpy(to->factors, from->factors, mr_weights_factor_bytes(from));
	if (from->rest)
		memcpy(to->rest, from->rest, mr_stage_size(from->stage)->rest_bytes);
}

void mr_weights_spread(mr_stage_weights *b)
{
	for (uint32_t i = 1; i < b->n_shards; i++)
		for (uint64_t v = 0; mr_weights_home(b, i) == i && v < b->cap; v++)
			memcpy(mr_weights_at(b, (uint8_t)i, v), mr_weights_at(b, 0, v), mr_weights_stride_of(b, i));
}

void mr_weights_staleness(const mr_stage_weights *b, uint64_t *out)
{
	memset(out, 0, MR_STALENESS_BINS * sizeof(*out));
	for (uint32_t i = 0; i < b->n_shards; i++)
		for (uint32_t k = 0; k < MR_STALENESS_BINS; k++)
			out[k] += b->shard[i].staleness[k];
}
