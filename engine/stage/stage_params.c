/* stage_params.c - the places of a stage's parameters, of their states and of their gradients (see stage.h). */
#include <assert.h>
#include <stdlib.h>

#include "base/size.h"
#include "nn/row_sum.h"
#include "stage/stage_layout.h"

/* The next place in *@bytes for one tensor like @p, of @type. It begins on a cache line, and at the same element in
 * tensors of weights, gradients and state of any type. */
static size_t take_param(const mr_stage *s, size_t *bytes, const mr_param *p, mr_dtype type)
{
	size_t line = MR_CACHE_LINE / mr_types_least_bytes(&s->k->types);
	size_t at = *bytes;

	*bytes += mr_align_up((size_t)p->n, line) * mr_dtype_bytes(type);
	return at;
}

int64_t mr_stage_rows_of(const mr_stage *s, uint32_t p)
{
	const mr_param *param = &s->g->params[p];
	int64_t most = s->samples * s->summed * param->lazy;

	return most && param->index == 0 && mr_row_sum_pays(most, param->dim[0]) ? most : 0;
}

/* The next place in *@bytes for the gradient of parameter @p. */
static size_t take_grad(const mr_stage *s, size_t *bytes, uint32_t p)
{
	const mr_param *param = &s->g->params[p];
	mr_dtype type = s->k->types.gradients;
	int64_t most = mr_stage_rows_of(s, p);
	size_t at = *bytes;

	if (!most)
		return take_param(s, bytes, param, type);
	*bytes += mr_row_sum_bytes(most, mr_param_lazy_cols(param), type);
	return at;
}

/* Parameters that are stored here: those that are tables, or the others. */
static void place_stored(mr_stage *s, bool tables)
{
	mr_stage_sizes *z = &s->size;

	for (uint32_t p = s->first_param; p < s->end_param; p++) {
		const mr_param *param = &s->g->params[p];
		uint32_t i = p - s->first_param;

		if (param->tied_to >= 0 || (param->lazy > 0) != tables)
			continue;
		s->weight_at[i] = take_param(s, &z->weight_bytes, param, s->k->types.weights);
		z->n_elements += param->n;
		if (s->g->nodes[param->node].frozen)
			continue;
		s->state_at[i] = take_param(s, &z->state_bytes, param, s->k->types.state);
		s->grad_at[i] = take_grad(s, &z->grad_bytes, p);
	}
}

mr_status mr_stage_place_params(mr_stage *s)
{
	const mr_graph *g = s->g;
	mr_stage_sizes *z = &s->size;

	for (uint32_t p = s->first_param; p < s->end_param; p++)
		s->weight_at[p - s->first_param] = s->state_at[p - s->first_param] = SIZE_MAX;
	place_stored(s, false);
	z->table_bytes = z->weight_bytes;
	place_stored(s, true);
	z->table_bytes = z->weight_bytes - z->table_bytes;
	z->rest_bytes = mr_types_rest_bytes(&s->k->types) ? z->weight_bytes : 0;
	for (uint32_t p = s->first_param; p < s->end_param; p++)
		if (g->params[p].tied_to >= 0)
			s->grad_at[p - s->first_param] =
				take_param(s, &z->grad_bytes, &g->params[p], s->k->types.gradients);
	for (uint32_t i = 0; i < (s->end - s->first); i++)
		for (uint32_t j = 0; j < s->step[i].node->n_params; j++) {
			uint32_t p = s->step[i].node->first_param + j;
			uint32_t o = g->params[p].tied_to >= 0 ? (uint32_t)g->params[p].tied_to : p;
			bool here = o >= s->first_param && o < s->end_param;

			if (!here && (!s->tied_owner || mr_stage_weight_at(s->tied_owner, o) == SIZE_MAX))
				return mr_fail(MR_ECONFIG, "parameter %s is tied to %s, whose stage is not known here",
					       g->params[p].name, g->params[o].name);
			s->step[i].weight_tied[j] = !here;
			s->step[i].weight_at[j] = mr_stage_weight_at(here ? s : s->tied_owner, o);
			s->step[i].grad_at[j] = s->grad_at[p - s->first_param];
		}
	return MR_OK;
}

/* Has the gradient of parameter @p a place of its own where others share one? */
static bool keeps_grad(const mr_stage *s, uint32_t p)
{
	const mr_tied_table *t = s->table;

	if (t && (p == t->owner || p == t->user))
		return p == t->user && t->norms;
	return mr_graph_tied(s->g, p);
}

/* Place from byte @at on the gradients of step @i that have places of their own, or the others; returns their end. */
static size_t place_grads_of(mr_stage *s, uint32_t i, size_t at, bool kept)
{
	mr_stage_step *st = &s->step[i];

	for (uint32_t j = 0; j < st->node->n_params && !st->node->frozen; j++) {
		uint32_t p = st->node->first_param + j;

		if (s->shares_grads && keeps_grad(s, p) != kept)
			continue;
		if (s->table && p == s->table->owner) /* no gradient of it is written */
			continue;
		st->grad_at[j] = s->grad_at[p - s->first_param] = take_grad(s, &at, p);
		st->sum_rows = j ? st->sum_rows : mr_stage_rows_of(s, p);
	}
	return at;
}

/* Lay the gradients out again. */
static void place_sums(mr_stage *s)
{
	size_t all = 0, at = 0;

	for (uint32_t i = 0; i < (s->end - s->first) && !s->frozen; i++) {
		at = place_grads_of(s, i, s->shares_grads ? 0 : all, false);
		all = at > all ? at : all;
	}
	for (uint32_t i = 0; i < (s->end - s->first) && s->shares_grads && !s->frozen; i++)
		all = place_grads_of(s, i, all, true);
	s->size.grad_bytes = all;
}

void mr_stage_share_grads(mr_stage *s)
{
	s->shares_grads = true;
	place_sums(s);
}

mr_status mr_stage_step_rows(mr_stage *s, bool norms)
{
	mr_tied_table t;

	assert(s->shares_grads);
	if (!mr_tied_table_find(s->g, s->first_param, s->end_param, s->samples, &t))
		return MR_OK;
	t.norms = norms;
	t.at = mr_align_up(s->size.scratch_bytes, MR_CACHE_LINE);
	s->size.scratch_bytes = t.at + mr_tied_table_bytes(&t, s->g, &s->k->types, s->samples);
	s->table = malloc(sizeof(*s->table));
	if (!s->table)
		return mr_fail(MR_ERESOURCE, "no memory for a stage of %u layers", s->end - s->first);
	*s->table = t;
	place_sums(s);
	return MR_OK;
}

bool mr_stage_steps_rows(const mr_stage *s, uint32_t p, uint32_t *user)
{
	if (!s->table || s->table->owner != p)
		return false;
	*user = s->table->user;
	return true;
}

void mr_stage_sum_rows(mr_stage *s, uint32_t micro)
{
	s->summed = micro;
	place_sums(s);
}

void mr_stage_freeze(mr_stage *s)
{
	s->frozen = true;
	s->size.grad_bytes = s->size.state_bytes = s->size.rest_bytes = 0;
}
