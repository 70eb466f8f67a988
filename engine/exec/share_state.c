#include "exec/share_state.h"

#include <stdlib.h>
#include <string.h>

/* The parameter to which tensor @t of a list belongs, "<parameter>" or "<parameter>.<what>", if shares cut it. */
static const mr_param *cut_param(const mr_graph *g, const mr_saved_tensor *t)
{
	const char *dot = strrchr(t->name, '.');
	uint32_t p = mr_graph_find_param(g, t->name);
	char name[sizeof(mr_param_name)];

	if (p == UINT32_MAX && dot && (size_t)(dot - t->name) < sizeof(name)) {
		memcpy(name, t->name, (size_t)(dot - t->name));
		name[dot - t->name] = 0;
		p = mr_graph_find_param(g, name);
	}
	if (p == UINT32_MAX || !g->params[p].cut.of)
		return NULL;
	return t->bytes == (uint64_t)g->params[p].n * mr_dtype_bytes(t->dtype) ? &g->params[p] : NULL;
}

/* Tensor @i of list @l of each share: the same of the model, of which the list of @st[0] has the one of share 0. */
typedef struct view {
	mr_run *const *run;
	uint32_t n;
	mr_share_buffers *b;
	mr_state *st; /* [n] */
} view;

static const mr_graph *graph_of(const view *v, uint32_t q)
{
	return v->run[q]->c.graph;
}

static mr_state_list *list_of(mr_state *st, int which)
{
	return which ? &st->optimizer : &st->model;
}

/* The buffer of place @i; NULL: there is no memory. */
static void *buffer(mr_share_buffers *b, size_t i, uint64_t bytes)
{
	if (i >= b->n) {
		size_t n = i + 1 > 2 * b->n ? i + 1 : 2 * b->n;
		void **grown = realloc(b->at, n * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + b->n, 0, (n - b->n) * sizeof(*grown));
		b->at = grown;
		b->n = n;
	}
	if (!b->at[i])
		b->at[i] = malloc(bytes + 1);
	return b->at[i];
}

/* Let the tensor of share 0 be that of the whole model; @gives: the shares get it, else it is made of theirs. */
static mr_status exchange(view *v, int which, size_t i, size_t place, bool gives)
{
	mr_saved_tensor *first = &list_of(&v->st[0], which)->at[i];
	const mr_param *p = cut_param(graph_of(v, 0), first);
	uint64_t part = first->bytes;
	size_t each = mr_dtype_bytes(first->dtype);
	const mr_param *whole;
	void *own = first->data;

	for (uint32_t q = 1; !p && gives && q < v->n; q++)
		memcpy(list_of(&v->st[q], which)->at[i].data, own, part);
	if (!p)
		return MR_OK;
	whole = &v->b->whole->params[p - graph_of(v, 0)->params];
	first->bytes = (uint64_t)whole->n * each;
	first->data = buffer(v->b, place, first->bytes);
	for (uint32_t d = 0; d < whole->rank; d++)
		first->shape[d] = whole->dim[d];
	if (!first->data)
		return mr_fail(MR_ERESOURCE, "no memory to join %s", first->name);
	for (uint32_t q = 0; q < v->n; q++) {
		const mr_param *mine = &graph_of(v, q)->params[p - graph_of(v, 0)->params];
		void *at = q ? list_of(&v->st[q], which)->at[i].data : own;

		if (gives)
			mr_param_cut_take(&mine->cut, mr_param_inner(mine), mine->n, each, first->data, at);
		else if (!v->b->holds)
			mr_param_cut_join(&mine->cut, mr_param_inner(mine), mine->n, each, at, first->data);
	}
	return MR_OK;
}

static mr_status exchange_all(view *v, bool gives)
{
	size_t place = 0;

	for (int which = 0; which < 2; which++)
		for (size_t i = 0; i < list_of(&v->st[0], which)->n; i++)
			MR_TRY(exchange(v, which, i, place++, gives));
	return MR_OK;
}

/* Work under way of the other shares, behind that of the first. */
static mr_status add_under_way(view *v)
{
	for (uint32_t q = 1; q < v->n; q++)
		for (size_t i = 0; i < v->st[q].inflight.n; i++) {
			const mr_saved_tensor *t = &v->st[q].inflight.at[i];

			MR_TRY(mr_state_add(&v->st[0].inflight, t, "share%u.%s", q, t->name));
		}
	return MR_OK;
}

/* The lists of the first share, for the whole model, in @first. */
static mr_status join_lists(const mr_shares *s, mr_share_buffers *b, bool gives, mr_state *first)
{
	uint32_t n = s->n;
	view v = {.run = s->run, .n = n, .b = b, .st = calloc(n, sizeof(*v.st))};
	mr_status st = v.st ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the states of %u shares", n);

	*first = (mr_state){0};
	for (uint32_t q = 0; q < n && st == MR_OK; q++)
		st = mr_state_of_run(s->run[q], &v.st[q]);
	if (st == MR_OK)
		st = exchange_all(&v, gives);
	if (st == MR_OK)
		st = add_under_way(&v);
	for (uint32_t q = st == MR_OK; v.st && q < n; q++)
		mr_state_fini(&v.st[q]);
	if (st == MR_OK)
		*first = v.st[0];
	free(v.st);
	return st;
}

mr_status mr_share_state(const mr_shares *s, mr_share_buffers *b, mr_state *out)
{
	return join_lists(s, b, false, out);
}

mr_status mr_share_state_give(const mr_shares *s, mr_share_buffers *b)
{
	mr_state st;

	if (!b->holds)
		return MR_OK;
	MR_TRY(join_lists(s, b, true, &st));
	mr_state_fini(&st);
	b->holds = false;
	return MR_OK;
}

void mr_share_buffers_fini(mr_share_buffers *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->at[i]);
	free(b->at);
	*b = (mr_share_buffers){0};
}
