#include "weights/row_versions.h"

#include <stdlib.h>

#include "base/zeroed.h"

/* Does nothing read or write versions and sums as a whole, and no other worker see them? */
static bool suits(const mr_stage_weights *b)
{
	return mr_stage_size(b->stage)->table_bytes && b->n_shards == 1 && !b->private_weights && !b->whole_sums &&
	       !b->replicas && !b->apart && !b->reduction;
}

void mr_row_sums_open(mr_stage_weights *b)
{
	/* the squares of bf16 gradients are added in pieces of the whole table */
	if (suits(b) && !b->whole && !mr_types_pure(&b->k->types))
		mr_stage_sum_rows(b->stage, b->sum);
}

/* The old rows of parameter @p, before they have their memory. */
static mr_old_rows rows_of(const mr_stage_weights *b, const mr_param *p, int64_t samples)
{
	int64_t most = samples * p->lazy * b->sum;

	return (mr_old_rows){.rows = p->dim[0],
			     .row_bytes = (size_t)mr_param_lazy_cols(p) * mr_dtype_bytes(b->k->types.weights),
			     .commits = b->cap - 1,
			     .most = most < p->dim[0] ? most : p->dim[0],
			     .latest = &b->latest};
}

mr_status mr_row_versions_open(mr_stage_weights *b, int64_t samples)
{
	const mr_graph *g = mr_stage_graph(b->stage);
	mr_row_versions *v;
	uint32_t first, end;

	if (!samples || b->cap == 1 || !suits(b))
		return MR_OK;
	mr_stage_params(b->stage, &first, &end);
	v = b->row_versions = mr_zeroed(sizeof(*v));
	if (v) {
		v->of = calloc(end - first, sizeof(*v->of));
		v->table = calloc(end - first, sizeof(*v->table));
	}
	if (!v || !v->of || !v->table)
		return mr_fail(MR_ERESOURCE, "no memory for the row versions of a stage");
	for (uint32_t p = first; p < end; p++) {
		if (!g->params[p].lazy)
			continue;
		v->of[p - first] = &v->table[v->n_tables++];
		*v->of[p - first] = rows_of(b, &g->params[p], samples);
	}
	return MR_OK;
}

void mr_row_versions_close(mr_stage_weights *b)
{
	free(b->row_versions->of);
	free(b->row_versions->table);
}

void mr_row_versions_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard)
{
	mr_row_versions *v = b->row_versions;
	size_t before;

	if (shard)
		return;
	v->block = mr_arena_take(a, 0, MR_CACHE_LINE);
	before = a->used;
	for (uint32_t i = 0; i < v->n_tables; i++)
		mr_old_rows_layout(&v->table[i], a);
	v->bytes = a->used - before;
}

void mr_row_versions_init(mr_stage_weights *b)
{
	for (uint32_t i = 0; i < b->row_versions->n_tables; i++)
		mr_old_rows_init(&b->row_versions->table[i]);
}

uint64_t mr_weights_version_bytes(const mr_stage_weights *b, uint64_t n)
{
	const mr_stage_sizes *z = mr_stage_size(b->stage);

	return n * mr_weights_stride(b) + (b->row_versions ? z->table_bytes + b->row_versions->bytes : 0);
}
