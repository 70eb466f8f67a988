#include "stage/tied_table.h"

#include "base/size.h"

/* Rows that enter the layer of @p for each sample. */
static int64_t rows_into(const mr_graph *g, const mr_param *p)
{
	return g->values[g->nodes[p->node].in[0]].shape.rows;
}

static bool has_role(const mr_graph *g, const mr_param *p, mr_sparse_rows_role role)
{
	const mr_node *nd = &g->nodes[p->node];

	return nd->ops->sparse_rows == role && p->index == 0 && !nd->frozen && nd->cfg.parts <= 1;
}

/* The one other use of parameter @p, in a layer behind its own; UINT32_MAX: there is none, or more. */
static uint32_t only_user(const mr_graph *g, uint32_t p)
{
	uint32_t user = UINT32_MAX;

	for (uint32_t u = 0; u < g->n_params; u++) {
		if (g->params[u].tied_to != (int32_t)p)
			continue;
		if (user != UINT32_MAX)
			return UINT32_MAX;
		user = u;
	}
	return user != UINT32_MAX && g->params[user].node > g->params[p].node ? user : UINT32_MAX;
}

bool mr_tied_table_find(const mr_graph *g, uint32_t first, uint32_t end, int64_t samples, mr_tied_table *out)
{
	for (uint32_t p = first; p < end; p++) {
		const mr_param *owner = &g->params[p];
		uint32_t u = only_user(g, p);
		int64_t tokens = rows_into(g, owner);

		if (u >= end || u < first || owner->lazy || !has_role(g, owner, MR_SPARSE_ROWS_LAST) ||
		    !has_role(g, &g->params[u], MR_SPARSE_ROWS_FIRST) ||
		    !mr_sparse_rows_pays(samples * tokens, owner->dim[0]))
			continue;
		*out = (mr_tied_table){.owner = p, .user = u, .tokens = tokens,
					.batch = samples * rows_into(g, &g->params[u])};
		return true;
	}
	return false;
}

/* Take the memory of @f from @a; @f itself lies at its beginning. */
static void layout(const mr_tied_table *t, const mr_graph *g, const mr_types *types, int64_t samples, mr_arena *a,
		   mr_sparse_rows *f)
{
	const mr_param *owner = &g->params[t->owner];

	(void)mr_arena_take(a, sizeof(*f), MR_CACHE_LINE);
	mr_sparse_rows_layout(f, a, types, samples * t->tokens, owner->dim[0], owner->dim[1], t->batch);
}

size_t mr_tied_table_bytes(const mr_tied_table *t, const mr_graph *g, const mr_types *types, int64_t samples)
{
	mr_sparse_rows f;
	mr_arena a;

	mr_arena_init(&a, NULL, 0);
	layout(t, g, types, samples, &a, &f);
	return mr_align_up(a.used, MR_CACHE_LINE);
}

const mr_sparse_rows *mr_tied_table_rows(const mr_tied_table *t, const mr_graph *g, const mr_types *types,
					  int64_t samples, void *scratch, const int32_t *token, void *whole)
{
	mr_sparse_rows *f = (mr_sparse_rows *)(void *)((char *)scratch + t->at);
	mr_arena a;

	if (!token)
		return f;
	mr_arena_init(&a, f, mr_tied_table_bytes(t, g, types, samples));
	layout(t, g, types, samples, &a, f);
	f->whole = whole;
	mr_sparse_rows_find(f, token, samples * t->tokens, g->params[t->owner].dim[0]);
	return f;
}
