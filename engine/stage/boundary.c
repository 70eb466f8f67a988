#include "stage/boundary.h"

#include <stdlib.h>

#include "base/size.h"

static void place(mr_boundary *b, const mr_graph *g, int64_t samples, mr_dtype dtype)
{
	for (uint32_t i = 0; i < b->n; i++) {
		mr_boundary_part *part = &b->part[i];
		size_t bytes = (size_t)samples * mr_shape_bytes(g->values[part->value].shape, dtype);

		part->at = mr_align_up(b->bytes, MR_CACHE_LINE);
		b->bytes = part->at + bytes;
		part->grad_at = MR_NO_GRAD;
		if (!mr_graph_has_grad(g, part->value))
			continue;
		part->grad_at = mr_align_up(b->grad_bytes, MR_CACHE_LINE);
		b->grad_bytes = part->grad_at + bytes;
	}
}

mr_status mr_boundary_make(const mr_graph *g, uint32_t node, int64_t samples, mr_dtype dtype, mr_boundary *out)
{
	uint16_t *live = NULL;

	*out = (mr_boundary){.n = mr_graph_live(g, node, NULL)};
	if (out->n == 0)
		return MR_OK;
	live = calloc(out->n, sizeof(*live));
	out->part = calloc(out->n, sizeof(*out->part));
	if (!live || !out->part) {
		free(live);
		mr_boundary_fini(out);
		return mr_fail(MR_ERESOURCE, "no memory for a boundary of %u values", out->n);
	}
	mr_graph_live(g, node, live);
	for (uint32_t i = 0; i < out->n; i++)
		out->part[i].value = live[i];
	free(live);
	place(out, g, samples, dtype);
	return MR_OK;
}

void mr_boundary_fini(mr_boundary *b)
{
	free(b->part);
	*b = (mr_boundary){0};
}

const mr_boundary_part *mr_boundary_find(const mr_boundary *b, uint16_t value)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->part[i].value == value)
			return &b->part[i];
	return NULL;
}
