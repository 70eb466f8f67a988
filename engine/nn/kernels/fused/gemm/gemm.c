#include "nn/kernels/fused/gemm/gemm.h"

#include "nn/kernels/fused/vec/team.h"

/* Rows of a batch beyond which oneDNN is as good (measured at 128 to 1024 columns: level at 512). */
#define MOST_ROWS 256

/* Rows of dz per thread, beyond which dz W^T is split by rows. By rows each thread transposes less and reads all of W
 * (1024 x 1024, two threads, alone: 64 rows take 352 us by rows and 329 by columns, 128 rows 632 and 656; but whole
 * steps of six such layers at 128 rows reach 76.6 % of the peak by rows and 77.9 % by columns, means of eight medians).
 */
#define STRIP_ROWS 64
/* But a W that is read from memory should be read once (256 rows, 768 x 50257: 409 GFLOP/s by rows, 413 by columns),
 * for which the transposed dz must be small. */
#define STRIP_MANY_COLS 8192
#define STRIP_FEW_K 1024

/* Rows of a batch beyond which threads do not steal units of x W from each other: in such small units a panel is packed
 * for too few rows at a time (measured at 256: 768 x 768 columns took 5 % longer, 768 x 50257 20 %). */
#define MOST_SHARED_ROWS 192

/* From this many rows a thread, or elements of dW, larger batches are computed here too (measured inside a step: 1024
 * rows and 128 to 1024 columns, two threads); with fewer, what each thread packs for itself is too much of the work. */
#define TALL_ROWS 256
#define TALL_ELEMENTS 8192

/* Elements of B from which packing pays, if the rows of a dozen products or more need it. */
#define PACKED_ELEMENTS 65536

static mr_gemm_order order_of(const mr_gemm *g)
{
	if (g->packed)
		return MR_GEMM_PACKED;
	if ((g->ta ? g->k : g->m) > MOST_ROWS)
		return MR_GEMM_TALL;
	if (g->ta)
		return MR_GEMM_GROUPS;
	return g->tb && !g->bias && g->act == MR_ACT_NONE ? MR_GEMM_STRIPS : MR_GEMM_PANELS;
}

bool mr_gemm_has_kernel(const mr_gemm *g, uint32_t n_threads, bool step)
{
	if (!(g->m > 0 && g->n > 0 && g->k > 0) || (g->ta && g->tb) || (step && !g->ta))
		return false;
	switch (order_of(g)) {
	case MR_GEMM_TALL:
		return g->ta ? g->m * g->n / n_threads >= TALL_ELEMENTS : g->m / n_threads >= TALL_ROWS;
	default:
		return true;
	}
}

size_t mr_gemm_packed_bytes(const mr_vec *vec, const mr_gemm *g)
{
	const mr_vec_order *o = vec->order[MR_GEMM_PACKED];

	if (!o || g->m > MR_GEMM_PACKED_ROWS || g->n * g->k < PACKED_ELEMENTS)
		return 0;
	return (size_t)((g->n + o->cols - 1) / o->cols * o->cols * g->k) * sizeof(float);
}

bool mr_gemm_adds(const mr_gemm *g, uint32_t n_threads)
{
	return mr_gemm_has_kernel(g, n_threads, false) && order_of(g) != MR_GEMM_STRIPS;
}

bool mr_gemm_fuses_act_backward(const mr_gemm *g, uint32_t n_threads)
{
	return g->fuse_act_backward == MR_ACT_GELU && mr_gemm_has_kernel(g, n_threads, false) &&
	       order_of(g) == MR_GEMM_TALL;
}

void mr_gemm_colsum(const mr_vec_ops *ops, uint32_t n_threads, int64_t rows, int64_t cols, const void *x, float *y,
		    bool add)
{
	mr_vec_colsum a = {.rows = rows, .cols = cols, .x = x, .y = y, .add = add};

	mr_team_run(n_threads, ops->colsum, &a, cols, 64, rows);
}

void mr_gemm_sums(const mr_vec *vec, uint32_t n_threads, const mr_gemm *g, const float *a, const float *b)
{
	if (g->colsum_a)
		mr_gemm_colsum(&vec->ops, n_threads, g->k, g->m, a, g->colsum_a, g->add);
	if (g->colsum_b)
		mr_gemm_colsum(&vec->ops, n_threads, g->k, g->n, b, g->colsum_b, g->add);
}

static mr_status reserve(mr_gemm_scratch *s, uint32_t n_threads, size_t floats)
{
	floats = (floats + 1023) & ~(size_t)1023;
	MR_TRY(mr_scratch_grow(&s->room, n_threads * (floats * sizeof(float) + sizeof(mr_share))));
	s->floats = floats;
	s->share = (mr_share *)((float *)s->room.at + n_threads * floats);
	return MR_OK;
}

static bool strips_by_rows(const mr_vec_gemm *v, uint32_t n_threads)
{
	return v->m > STRIP_ROWS * n_threads && (v->n < STRIP_MANY_COLS || v->k > STRIP_FEW_K);
}

/* Run @v, whose scratch and distribution over threads are set here. Clears v->sums if this order of the loops cannot
 * compute them besides. */
static mr_status run(const mr_vec *vec, uint32_t n_threads, mr_gemm_scratch *s, mr_gemm_order order, mr_vec_gemm *v)
{
	const mr_vec_order *o = vec->order[order];
	int64_t n, pieces, units, step = o->cols;

	MR_TRY(reserve(s, n_threads, o->scratch_floats(v->k)));
	if (v->sums && !(o->sums && o->sums(v)))
		v->sums = NULL;
	v->scratch = s->room.at;
	v->scratch_floats = s->floats;
	/* Along the longer side, so that what every thread packs for itself is the shorter one; where a batch is large
	 * along its rows, in which threads meet from layer to layer. A million multiply-adds is where
	 * two threads begin to pay: below, what they pass each other costs more (measured at 128 and 256 columns). */
	v->by_rows = order == MR_GEMM_PACKED ? false
		     : v->ta ? v->m >= v->n
			   : order == MR_GEMM_TALL || v->m > v->n ||
				     (order == MR_GEMM_STRIPS && strips_by_rows(v, n_threads));
	n = v->by_rows ? v->m : v->n;
	pieces = mr_team_pieces(n_threads, n, step, v->m * v->n * v->k / n / 64);
	v->n_share = (uint32_t)pieces;
	units = o->units(v);
	if (pieces == 1 || units < 4 * pieces || (order == MR_GEMM_PANELS && v->m > MOST_SHARED_ROWS)) {
		mr_team_run_pieces(pieces, o->run, v, n, step);
		return MR_OK;
	}
	mr_share_init(s->share, (uint32_t)pieces, units);
	v->share = s->share;
	mr_team_run_pieces(pieces, o->run, v, units, 1);
	return MR_OK;
}

mr_status mr_gemm_run(const mr_vec *vec, uint32_t n_threads, mr_gemm_scratch *s, const mr_gemm *g, const float *a,
		      const float *b, const float *bias, float *c, float *slope, const mr_vec_step *step)
{
	mr_vec_gemm v = {.m = g->m,
			 .n = g->n,
			 .k = g->k,
			 .ta = g->ta,
			 .tb = g->tb,
			 .add = g->add,
			 .act = g->act,
			 .a = a,
			 .b = b,
			 .bias = g->bias ? bias : NULL,
			 .addend = g->addend,
			 .factor = g->fuse_act_backward == MR_ACT_GELU ? g->fuse_act_backward_aux : NULL,
			 .c = c,
			 .packed = g->packed,
			 .backward = g->backward,
			 .slope = slope,
			 .step = step,
			 .sums = g->colsum_b};
	mr_gemm apart = *g;

	if (g->packed && g->packs)
		mr_team_run(n_threads, vec->order[MR_GEMM_PACKED]->pack, &v, g->n, vec->order[MR_GEMM_PACKED]->cols,
			    g->k);
	MR_TRY(run(vec, n_threads, s, order_of(g), &v));
	if (v.sums)
		apart.colsum_b = NULL;
	mr_gemm_sums(vec, n_threads, &apart, a, b);
	return MR_OK;
}

mr_status mr_gemm_run_sum(const mr_vec *vec, uint32_t n_threads, mr_gemm_scratch *s, const mr_gemm *g, uint32_t n,
			  const float *const *as, const float *const *bs, float *c, const mr_vec_step *step)
{
	mr_vec_gemm v = {.m = g->m, .n = g->n, .k = n * g->k, .ta = true, .add = g->add, .as = as, .bs = bs,
			 .piece = g->k, .c = c, .step = step, .sums = g->colsum_b};
	mr_gemm apart = *g;

	MR_TRY(run(vec, n_threads, s, order_of(g), &v));
	if (v.sums)
		apart.colsum_b = NULL;
	for (uint32_t j = 0; j < n; j++, apart.add = true)
		mr_gemm_sums(vec, n_threads, &apart, as[j], bs[j]);
	return MR_OK;
}
