#include "weights/norms.h"

#include <math.h>

#include "base/zeroed.h"
#include "nn/row_sum.h"
#include "nn/squares.h"
#include "weights/norm_parts.h"

mr_status mr_run_norms_create(uint64_t every, bool global, uint32_t n, mr_run_norms **out)
{
	mr_run_norms *x = mr_zeroed(sizeof(*x));
	double *at = calloc(n, sizeof(*at));

	if (!x || !at) {
		free(x);
		free(at);
		return mr_fail(MR_ERESOURCE, "no memory for the gradient norms of %u steps", n);
	}
	x->every = every;
	x->global = global;
	x->n = n;
	x->at = at;
	*out = x;
	return MR_OK;
}

void mr_run_norms_destroy(mr_run_norms *x)
{
	if (x) {
		free(x->at);
		free(x->come);
		free(x->room);
	free(x->squares);
	}
	free(x);
}

void mr_run_norms_reset(mr_run_norms *x)
{
	mr_weights_no_parts(&x->n_stages);
	atomic_store_explicit(&x->last, 0, memory_order_relaxed);
}

mr_status mr_norms_open(mr_stage_weights *b)
{
	b->norms = mr_zeroed(sizeof(*b->norms));
	return b->norms ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the gradient norms of a stage");
}

mr_status mr_norms_choose(mr_stage_weights *b, uint16_t stage, uint16_t by, uint16_t n_workers,
			  const mr_link_kind *const *kinds)
{
	b->norms->by = by;
	return mr_counter_choose(&b->norms->known, stage, n_workers, kinds);
}

static size_t sumsq_bytes(const mr_stage_weights *b)
{
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	return (end - first) * sizeof(double);
}

mr_status mr_norms_open_links(mr_stage_weights *b)
{
	mr_stage_norms *x = b->norms;
	size_t bytes = sumsq_bytes(b);

	for (uint16_t w = 0; x->known.end && bytes && w < x->known.n_workers; w++) {
		if (!x->known.end[w].in[x->by].kind)
			continue;
		if (!x->heard && !(x->heard = calloc(x->known.n_workers, sizeof(*x->heard))))
			return mr_fail(MR_ERESOURCE, "no memory for the gradient norms of a stage");
		if (!(x->heard[w] = calloc(2, bytes)))
			return mr_fail(MR_ERESOURCE, "no memory for the gradient norms of a stage");
	}
	if (x->heard)
		mr_counter_carry(&x->known, x->by, bytes, x->sumsq, x->heard);
	return mr_counter_open(&x->known);
}

void mr_norms_close(mr_stage_weights *b)
{
	for (uint16_t w = 0; b->norms && b->norms->heard && w < b->norms->known.n_workers; w++)
		free(b->norms->heard[w]);
	if (b->norms) {
		free(b->norms->heard);
		mr_norm_parts_close(b->norms->parts);
	}
	free(b->norms);
	b->norms = NULL;
}

static int64_t n_blocks(const mr_stage_weights *b, uint32_t p)
{
	return mr_squares_n_blocks(mr_stage_graph(b->stage)->params[p].n);
}

void mr_norms_layout(mr_stage_weights *b, mr_arena *a)
{
	uint32_t first, end;
	int64_t n = 0;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++)
		n += n_blocks(b, p);
	b->norms->sumsq = mr_arena_take(a, 2 * (end - first) * sizeof(double), MR_CACHE_LINE);
	if (b->reduction && b->n_shards > 1 && !b->joint && !b->apart)
		b->norms->block = mr_arena_take(a, (size_t)n * sizeof(double), MR_CACHE_LINE);
}

void mr_norms_reset(mr_stage_weights *b, mr_parker *const *parkers, uint32_t n_workers)
{
	mr_counter_reset(&b->norms->known, (uint32_t)b->latest, parkers, n_workers, parkers);
	b->norms->largest = 0;
}

double *mr_norms_sumsq(const mr_stage_weights *b, uint64_t version)
{
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	return b->norms->sumsq + (version & 1) * (end - first);
}

/* The sum of squares of parameter @p's gradient in the sum @total; 0 where it is stored elsewhere, or has none. */
static mr_status square_in(const mr_stage_weights *b, mr_kctx *kc, uint32_t p, const uint8_t *total, double *out)
{
	const mr_param *param = &mr_stage_graph(b->stage)->params[p];
	int64_t most = mr_stage_rows_of(b->stage, p);
	const uint8_t *grad = total + mr_stage_grad_at(b->stage, p);
	mr_row_sum sum;

	*out = 0;
	if (!mr_stage_steps(b->stage, p))
		return MR_OK;
	if (!most)
		return mr_squares(b->k, kc, param->n, grad, out);
	sum = mr_row_sum_at((void *)(uintptr_t)grad, most, mr_param_lazy_cols(param), b->k->types.gradients);
	return mr_row_sum_squares(&sum, b->k, kc, out);
}

/* Of the elements [@first, @first + @n) of parameter @p, whose begin is a block's. */
static mr_status note_blocks(mr_stage_weights *b, mr_kctx *kc, uint32_t p, int64_t first, int64_t n, double *of_p)
{
	size_t each = mr_dtype_bytes(b->k->types.gradients);

	return mr_squares_blocks(b->k, kc, n,
			  (const uint8_t *)mr_weights_total(b) + mr_stage_grad_at(b->stage, p) + (size_t)first * each,
			  of_p + first / MR_SQUARES_BLOCK);
}

mr_status mr_norms_note(mr_stage_weights *b, uint32_t shard, mr_kctx *kc)
{
	double *block = b->norms ? b->norms->block : NULL;
	uint32_t begin, end;
	int64_t first, n;

	mr_stage_params(b->stage, &begin, &end);
	for (uint32_t p = begin; block && p < end; block += n_blocks(b, p++)) {
		int64_t all = mr_stage_graph(b->stage)->params[p].n, from, to;

		if (!mr_weights_part(b, (uint8_t)shard, p, &first, &n))
			continue;
		from = mr_squares_n_blocks(first) * MR_SQUARES_BLOCK;
		to = first + n == all ? all : (first + n) / MR_SQUARES_BLOCK * MR_SQUARES_BLOCK;
		if (from < to)
			MR_TRY(note_blocks(b, kc, p, from, to - from, block));
	}
	return MR_OK;
}

/* The same as square_in of blocks that the shards have noted; those on the borders of ranges are added up here. */
static mr_status square_noted(mr_stage_weights *b, mr_kctx *kc, uint32_t p, double *block, double *out)
{
	int64_t all = mr_stage_graph(b->stage)->params[p].n, first, n;

	*out = 0;
	if (!mr_stage_steps(b->stage, p))
		return MR_OK;
	for (uint32_t i = 0; i < b->n_shards; i++) {
		int64_t from;

		if (!mr_weights_part(b, (uint8_t)i, p, &first, &n) || first % MR_SQUARES_BLOCK == 0)
			continue;
		from = first / MR_SQUARES_BLOCK * MR_SQUARES_BLOCK;
		MR_TRY(note_blocks(b, kc, p, from, all - from < MR_SQUARES_BLOCK ? all - from : MR_SQUARES_BLOCK,
				   block));
	}
	for (int64_t i = 0; i < mr_squares_n_blocks(all); i++)
		*out += block[i];
	return MR_OK;
}

mr_status mr_norms_compute(mr_stage_weights *b, mr_kctx *kc, uint64_t version)
{
	double *sumsq = mr_norms_sumsq(b, version), *block = b->norms->block;
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		MR_TRY(block ? square_noted(b, kc, p, block, &sumsq[p - first])
			     : square_in(b, kc, p, mr_weights_total(b), &sumsq[p - first]));
		if (block)
			block += n_blocks(b, p);
	}
	return MR_OK;
}

mr_status mr_norms_of_shard(const mr_stage_weights *b, uint32_t shard, mr_kctx *kc, double *norm)
{
	uint32_t first, end;
	double sum = 0, some;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		MR_TRY(square_in(b, kc, p, b->shard[shard].grads, &some));
		sum += some;
	}
	*norm = sqrt(sum);
	return MR_OK;
}

void mr_norms_clear(mr_stage_weights *b, uint64_t version)
{
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	memset(mr_norms_sumsq(b, version), 0, (end - first) * sizeof(double));
}

mr_status mr_norms_measure(mr_stage_weights *b, mr_kctx *kc, double count)
{
	uint32_t first, end;
	double sum;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		MR_TRY(square_in(b, kc, p, mr_weights_total(b), &sum));
		b->norms->largest = fmax(b->norms->largest, sqrt(sum) / count);
	}
	return MR_OK;
}

/* The squared norms of the gradient that makes @version as worker @w knows them. */
static const double *seen_by(const mr_stage_weights *b, uint16_t w, uint64_t version)
{
	const mr_stage_norms *x = b->norms;

	if (w == MR_NORMS_OWN || !x->heard || !x->heard[w])
		return mr_norms_sumsq(b, version);
	return (const double *)(x->heard[w] + (version & 1) * sumsq_bytes(b));
}

double mr_norms_all(const mr_stage_weights *b, uint32_t n, uint64_t version, uint16_t worker)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t first, end;

		mr_stage_params(b[i].stage, &first, &end);
		for (uint32_t p = first; p < end; p++)
			sum += seen_by(&b[i], worker, version)[p - first];
	}
	return sqrt(sum);
}

double mr_clip_factor(double norm, double max_norm)
{
	double factor = max_norm / (norm + 1e-6);

	return max_norm > 0 && factor < 1 ? factor : 1;
}
