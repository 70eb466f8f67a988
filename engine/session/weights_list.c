#include "session/weights_list.h"

#include <stdlib.h>
#include <string.h>

/* One more tensor, of @n numbers of @dtype. */
static mr_status add_tensor(mr_state_list *l, const char *name, mr_dtype dtype, uint32_t rank, const int64_t *dim,
			    int64_t n)
{
	mr_saved_tensor *t = &l->at[l->n++];

	*t = (mr_saved_tensor){
		.name = name,
		.dtype = dtype,
		.n_dims = rank,
		.bytes = (uint64_t)n * mr_dtype_bytes(dtype),
	};
	memcpy(t->shape, dim, rank * sizeof(*t->shape));
	t->data = malloc(t->bytes);
	return t->data ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the weights of %s", name);
}

mr_status mr_weights_list(const mr_session *s, mr_state_list *out)
{
	const mr_graph *g = mr_session_model(s);
	const mr_types *types = &s->kernels->types;
	uint32_t n = g->n_params + g->n_states;
	mr_status st = MR_OK;

	*out = (mr_state_list){.at = calloc(n + 1u, sizeof(*out->at)), .room = n};
	if (!out->at)
		return mr_fail(MR_ERESOURCE, "no memory for a list of weights");
	for (uint32_t p = 0; p < g->n_params && st == MR_OK; p++)
		if (g->params[p].tied_to < 0)
			st = add_tensor(out, g->params[p].name, types->weights, g->params[p].rank, g->params[p].dim,
					g->params[p].n);
	for (uint32_t i = 0; i < g->n_states && st == MR_OK; i++)
		st = add_tensor(out, g->states[i].name, types->compute, g->states[i].spec.rank, g->states[i].spec.dim,
				g->states[i].n);
	if (st != MR_OK)
		mr_weights_list_fini(out);
	return st;
}

void mr_weights_list_fini(mr_state_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->at[i].data);
	free(l->at);
	*l = (mr_state_list){0};
}
