/*
 * reference.h - the kernels as a textbook would write them: one thread, no dependency, every sum in ascending order.
 *
 * Included once by reference_f32.c and once by reference_f64.c, which define REAL, FN (name of the libm function),
 * TABLE and DTYPE. Nothing here may depend on blocking: a blocked loop below adds the same terms in the same order as
 * the plain one. Scalars arrive in f64 and are rounded to REAL once, before the loop.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/kernels/backend.h"
#include "nn/kernels/step_rules.h"

#ifndef REAL
#error "include reference.h only from reference_f32.c and reference_f64.c"
#endif

struct mr_kctx {
	REAL *pack;        /* op(B) of a transposed gemm, [k, n] */
	size_t pack_bytes;
};

static mr_status ctx_create(uint32_t n_threads, mr_kctx **out)
{
	(void)n_threads; /* this filling is single-threaded whatever the team */
	*out = calloc(1, sizeof(**out));
	return *out ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a kernel context");
}

static void ctx_destroy(mr_kctx *kc)
{
	if (!kc)
		return;
	free(kc->pack);
	free(kc);
}

static size_t ctx_bytes(const mr_kctx *kc)
{
	return sizeof(*kc) + kc->pack_bytes;
}

/* --- gemm --------------------------------------------------------------------------------------------------------- */

/* Columns of C that are kept in registers together. */
#define TILE ((int64_t)(128 / sizeof(REAL)))

static mr_status pack_transposed(mr_kctx *kc, const mr_gemm *g, const REAL *b)
{
	size_t bytes = (size_t)g->k * (size_t)g->n * sizeof(REAL);

	if (bytes > kc->pack_bytes) {
		REAL *p = realloc(kc->pack, bytes);

		if (!p)
			return mr_fail(MR_ERESOURCE, "no memory for a packed matrix of %zu bytes", bytes);
		kc->pack = p;
		kc->pack_bytes = bytes;
	}
	for (int64_t j = 0; j < g->n; j++)
		for (int64_t l = 0; l < g->k; l++)
			kc->pack[l * g->n + j] = b[j * g->k + l];
	return MR_OK;
}

/* acc[width] = sum over k of A[i,k] * B[k, 0..width): the compiler vectorises this for each constant width. */
static inline __attribute__((always_inline)) void gemm_tile(int64_t width, int64_t k, int64_t n, const REAL *restrict a,
							    int64_t a_step, const REAL *restrict b, REAL *restrict acc)
{
	for (int64_t j = 0; j < width; j++)
		acc[j] = 0;
	for (int64_t l = 0; l < k; l++) {
		REAL x = a[l * a_step];

		for (int64_t j = 0; j < width; j++)
			acc[j] += x * b[l * n + j];
	}
}

static inline REAL gelu_inner(REAL x)
{
	return (REAL)0.79788456080286535588 * (x + (REAL)0.044715 * x * x * x); /* sqrt(2/pi) (x + 0.044715 x^3) */
}

/* Where tanh is -1 or 1 in every type, what it is multiplied by must stay finite. NaN stays NaN. */
static inline REAL gelu_within(REAL x)
{
	return x < -30 ? -30 : x > 30 ? 30 : x;
}

static REAL act_value(mr_act act, REAL x)
{
	if (act == MR_ACT_RELU)
		return x <= 0 ? 0 : x;
	if (act == MR_ACT_GELU)
		return (REAL)0.5 * (x < -30 ? -30 : x) * (1 + FN(tanh)(gelu_inner(gelu_within(x))));
	return x;
}

static void act_backward(mr_kctx *kc, mr_act act, int64_t n, const void *aux_, const void *dy_, void *dz_)
{
	const REAL *aux = aux_, *dy = dy_;
	REAL *dz = dz_;

	(void)kc;
	for (int64_t i = 0; i < n; i++) {
		REAL x = aux[i], d = 1;

		if (act == MR_ACT_RELU) {
			d = x > 0 ? 1 : 0 * x;
		} else if (act == MR_ACT_GELU) {
			x = gelu_within(x);
			REAL t = FN(tanh)(gelu_inner(x));
			REAL slope = (REAL)0.79788456080286535588 * (1 + (REAL)(3 * 0.044715) * x * x);

			d = (REAL)0.5 * (1 + t) + (REAL)0.5 * x * (1 - t * t) * slope;
		}
		dz[i] = dy[i] * d;
	}
}

/* C[0..width) of one row from its sums. */
static void gemm_store(const mr_gemm *g, int64_t width, const REAL *acc, const REAL *bias, const REAL *addend, REAL *c, REAL *z)
{
	if (g->add) {
		for (int64_t j = 0; j < width; j++)
			c[j] += acc[j];
		return;
	}
	for (int64_t j = 0; j < width; j++) {
		REAL x = g->bias ? acc[j] + bias[j] : acc[j];

		if (g->act == MR_ACT_GELU)
			z[j] = x;
		c[j] = addend ? x + addend[j] : act_value(g->act, x);
	}
}

static void colsum(mr_kctx *kc, int64_t rows, int64_t cols, const void *x_, void *y_, bool add)
{
	const REAL *x = x_;
	REAL *y = y_;

	(void)kc;
	for (int64_t j = 0; j < cols; j++) {
		REAL s = 0;

		for (int64_t r = 0; r < rows; r++)
			s += x[r * cols + j];
		y[j] = add ? y[j] + s : s;
	}
}

static mr_status gemm(mr_kctx *kc, const mr_gemm *g, const void *a_, const void *b_, const void *bias_, void *c_,
		      void *aux)
{
	const REAL *a = a_, *b = b_, *bias = bias_, *addend = g->addend;
	REAL *c = c_, *z = aux;
	REAL acc[TILE];
	int64_t a_row = g->ta ? 1 : g->k, a_step = g->ta ? g->m : 1;

	if (g->tb) {
		MR_TRY(pack_transposed(kc, g, b));
		b = kc->pack;
	}
	for (int64_t i = 0; i < g->m; i++) {
		for (int64_t j = 0, width; j < g->n; j += width) {
			const REAL *ai = a + i * a_row, *bj = b + j;

			if (g->n - j >= TILE)
				gemm_tile(width = TILE, g->k, g->n, ai, a_step, bj, acc);
			else if (g->n - j >= 4)
				gemm_tile(width = 4, g->k, g->n, ai, a_step, bj, acc);
			else
				gemm_tile(width = 1, g->k, g->n, ai, a_step, bj, acc);
			gemm_store(g, width, acc, bias ? bias + j : NULL, addend ? addend + i * g->n + j : NULL,
				   c + i * g->n + j, z ? z + i * g->n + j : NULL);
		}
	}
	if (g->a_sums)
		colsum(kc, g->k, g->m, a, g->a_sums, g->add);
	if (g->b_sums)
		colsum(kc, g->k, g->n, b, g->b_sums, g->add);
	if (g->through != MR_ACT_NONE)
		act_backward(kc, g->through, g->m * g->n, g->through_aux, c, c);
	return MR_OK;
}

/* --- layer norm --------------------------------------------------------------------------------------------------- */

static void norm(mr_kctx *kc, int64_t rows, int64_t cols, double eps, const void *x_, const void *gain_,
		 const void *shift_, void *y_, void *mean_, void *rstd_)
{
	const REAL *x = x_, *gain = gain_, *shift = shift_;
	REAL *y = y_, *mean = mean_, *rstd = rstd_;

	(void)kc;
	for (int64_t r = 0; r < rows; r++, x += cols, y += cols) {
		REAL s = 0, q = 0, m = 0;

		for (int64_t j = 0; mean && j < cols; j++)
			s += x[j];
		if (mean)
			m = mean[r] = s / (REAL)cols;
		for (int64_t j = 0; j < cols; j++)
			q += (x[j] - m) * (x[j] - m);
		rstd[r] = 1 / FN(sqrt)(q / (REAL)cols + (REAL)eps);
		for (int64_t j = 0; j < cols; j++) {
			y[j] = (x[j] - m) * rstd[r] * gain[j];
			if (shift)
				y[j] += shift[j];
		}
	}
}

/* With h = (x - mean) rstd and u = gain dy: dx = rstd (u - mean(u) - h mean(u h)), means over the row. */
static void norm_backward_input(mr_kctx *kc, int64_t rows, int64_t cols, const void *x_, const void *gain_,
				const void *mean_, const void *rstd_, const void *dy_, void *dx_, bool add)
{
	const REAL *x = x_, *gain = gain_, *mean = mean_, *rstd = rstd_, *dy = dy_;
	REAL *dx = dx_;

	(void)kc;
	for (int64_t r = 0; r < rows; r++, x += cols, dy += cols, dx += cols) {
		REAL su = 0, suh = 0, m = mean ? mean[r] : 0;

		for (int64_t j = 0; j < cols; j++) {
			REAL u = gain[j] * dy[j];

			su += mean ? u : 0;
			suh += u * ((x[j] - m) * rstd[r]);
		}
		su /= (REAL)cols;
		suh /= (REAL)cols;
		for (int64_t j = 0; j < cols; j++) {
			REAL h = (x[j] - m) * rstd[r];
			REAL d = rstd[r] * (gain[j] * dy[j] - su - h * suh);

			dx[j] = add ? dx[j] + d : d;
		}
	}
}

static void norm_backward_weight(mr_kctx *kc, int64_t rows, int64_t cols, const void *x_, const void *mean_,
				 const void *rstd_, const void *dy_, void *dgain_, void *dshift_, bool add)
{
	const REAL *x = x_, *mean = mean_, *rstd = rstd_, *dy = dy_;
	REAL *dgain = dgain_, *dshift = dshift_;

	(void)kc;
	for (int64_t j = 0; j < cols; j++) {
		REAL sg = 0, ss = 0;

		for (int64_t r = 0; r < rows; r++) {
			sg += dy[r * cols + j] * ((x[r * cols + j] - (mean ? mean[r] : 0)) * rstd[r]);
			ss += dy[r * cols + j];
		}
		dgain[j] = add ? dgain[j] + sg : sg;
		if (dshift)
			dshift[j] = add ? dshift[j] + ss : ss;
	}
}

static void norm_backward(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *gain, const void *mean, const void *rstd,
			  const void *dy, void *dx, bool add, void *dgain, void *dshift, bool add_weight)
{
	norm_backward_input(kc, rows, cols, x, gain, mean, rstd, dy, dx, add);
	norm_backward_weight(kc, rows, cols, x, mean, rstd, dy, dgain, dshift, add_weight);
}

/* --- attention: saved = probabilities [samples, heads, t, t], of which only the lower triangle is written --------- */

static size_t attn_saved_bytes(const mr_attn *a)
{
	return (size_t)(a->samples * a->heads * a->t * a->t) * sizeof(REAL);
}

static size_t attn_scratch_bytes(const mr_attn *a)
{
	return (size_t)a->t * sizeof(REAL);
}

static REAL dot(int64_t n, const REAL *a, const REAL *b)
{
	REAL s = 0;

	for (int64_t i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}

/* y[n] += s * x[n]; never overlapping */
static void axpy(int64_t n, REAL s, const REAL *restrict x, REAL *restrict y)
{
	for (int64_t i = 0; i < n; i++)
		y[i] += s * x[i];
}

/* x[n] becomes exp(x - max) / sum. */
static void softmax(int64_t n, REAL *x)
{
	REAL max = x[0], sum = 0;

	for (int64_t i = 1; i < n; i++)
		max = x[i] > max ? x[i] : max;
	for (int64_t i = 0; i < n; i++) {
		x[i] = FN(exp)(x[i] - max);
		sum += x[i];
	}
	for (int64_t i = 0; i < n; i++)
		x[i] /= sum;
}

static mr_status attn(mr_kctx *kc, const mr_attn *a, const void *qkv_, void *y_, void *saved, void *scratch)
{
	int64_t c = a->heads * a->dim, pitch = 3 * c, d = a->dim;
	REAL scale = (REAL)(1 / sqrt((double)d)), *p = saved;

	(void)kc, (void)scratch;
	for (int64_t s = 0; s < a->samples; s++) {
		for (int64_t h = 0; h < a->heads; h++) {
			const REAL *q = (const REAL *)qkv_ + s * a->t * pitch + h * d, *k = q + c, *v = k + c;
			REAL *y = (REAL *)y_ + s * a->t * c + h * d;

			for (int64_t i = 0; i < a->t; i++, p += a->t) {
				for (int64_t j = 0; j <= i; j++)
					p[j] = scale * dot(d, q + i * pitch, k + j * pitch);
				softmax(i + 1, p);
				memset(y + i * c, 0, (size_t)d * sizeof(REAL));
				for (int64_t j = 0; j <= i; j++)
					axpy(d, p[j], v + j * pitch, y + i * c);
			}
		}
	}
	return MR_OK;
}

/* With dp_ij = dy_i v_j: ds_ij = p_ij (dp_ij - sum_j p_ij dp_ij) / sqrt(d), dq = ds k, dk = ds^T q, dv = p^T dy. */
static mr_status attn_backward(mr_kctx *kc, const mr_attn *a, const void *qkv_, const void *saved, const void *dy_,
			       void *dqkv_, void *scratch)
{
	int64_t c = a->heads * a->dim, pitch = 3 * c, d = a->dim;
	REAL scale = (REAL)(1 / sqrt((double)d)), *dp = scratch;
	const REAL *p = saved;

	(void)kc;
	memset(dqkv_, 0, (size_t)(a->samples * a->t * pitch) * sizeof(REAL));
	for (int64_t s = 0; s < a->samples; s++) {
		for (int64_t h = 0; h < a->heads; h++) {
			int64_t at = s * a->t * pitch + h * d;
			const REAL *q = (const REAL *)qkv_ + at, *k = q + c, *v = k + c;
			const REAL *dy = (const REAL *)dy_ + s * a->t * c + h * d;
			REAL *dq = (REAL *)dqkv_ + at, *dk = dq + c, *dv = dk + c;

			for (int64_t i = 0; i < a->t; i++, p += a->t) {
				for (int64_t j = 0; j <= i; j++)
					dp[j] = dot(d, dy + i * c, v + j * pitch);
				REAL mean = dot(i + 1, p, dp);
				for (int64_t j = 0; j <= i; j++) {
					REAL ds = p[j] * (dp[j] - mean) * scale;

					axpy(d, ds, k + j * pitch, dq + i * pitch);
					axpy(d, ds, q + i * pitch, dk + j * pitch);
					axpy(d, p[j], dy + i * c, dv + j * pitch);
				}
			}
		}
	}
	return MR_OK;
}

/* --- embedding, sum, dropout -------------------------------------------------------------------------------------- */

static void embed(mr_kctx *kc, int64_t rows, int64_t t, int64_t cols, const int32_t *tokens, const void *wte_,
		  const void *wpe_, void *y_)
{
	const REAL *wte = wte_, *wpe = wpe_;
	REAL *y = y_;

	(void)kc;
	for (int64_t r = 0; r < rows; r++) {
		const REAL *e = wte + tokens[r] * cols;

		for (int64_t j = 0; j < cols; j++)
			y[r * cols + j] = wpe ? e[j] + wpe[r % t * cols + j] : e[j];
	}
}

static void embed_backward(mr_kctx *kc, int64_t rows, int64_t t, int64_t cols, int64_t vocab, const int32_t *tokens,
			   const void *dy_, void *dwte_, void *dwpe_, bool add)
{
	const REAL *dy = dy_;
	REAL *dwte = dwte_, *dwpe = dwpe_;

	(void)kc;
	if (!add) {
		memset(dwte, 0, (size_t)(vocab * cols) * sizeof(REAL));
		if (dwpe)
			memset(dwpe, 0, (size_t)(t * cols) * sizeof(REAL));
	}
	for (int64_t r = 0; r < rows; r++) {
		axpy(cols, 1, dy + r * cols, dwte + tokens[r] * cols);
		if (dwpe)
			axpy(cols, 1, dy + r * cols, dwpe + r % t * cols);
	}
}

static void sum(mr_kctx *kc, int64_t n, const void *a_, const void *b_, void *y_)
{
	const REAL *a = a_, *b = b_;
	REAL *y = y_;

	(void)kc;
	for (int64_t i = 0; i < n; i++)
		y[i] = a[i] + b[i];
}

static void dropout(mr_kctx *kc, int64_t samples, int64_t per_sample, double rate, const mr_mask_key *key,
		    const void *x_, void *y_)
{
	const REAL *x = x_;
	REAL *y = y_, scale = (REAL)(1 / (1 - rate));
	uint32_t threshold = mr_dropout_threshold(rate), words[4];

	(void)kc;
	for (int64_t s = 0; s < samples; s++, x += per_sample, y += per_sample) {
		for (int64_t i = 0; i < per_sample; i++) {
			if (i % 4 == 0)
				mr_rng_block(key->seed, MR_RNG_DROPOUT, key->first_sample + (uint64_t)s, key->layer,
					     (uint64_t)i / 4, words);
			y[i] = x[i] * (words[i % 4] < threshold ? 0 : scale);
		}
	}
}

/* --- losses, norm ------------------------------------------------------------------------------------------------- */

static double xent(mr_kctx *kc, int64_t rows, int64_t classes, void *logits, const int32_t *targets)
{
	REAL *x = logits;
	double loss = 0;

	(void)kc;
	for (int64_t r = 0; r < rows; r++, x += classes) {
		REAL at = x[targets[r]], max = x[0], total = 0;

		for (int64_t j = 1; j < classes; j++)
			max = x[j] > max ? x[j] : max;
		for (int64_t j = 0; j < classes; j++) {
			x[j] = FN(exp)(x[j] - max);
			total += x[j];
		}
		loss += log((double)total) + ((double)max - (double)at);
		REAL f = 1 / (total * (REAL)rows);
		for (int64_t j = 0; j < classes; j++)
			x[j] *= f;
		x[targets[r]] -= 1 / (REAL)rows;
	}
	return loss / (double)rows;
}

static double mse(mr_kctx *kc, int64_t rows, int64_t cols, void *a_, const void *y_)
{
	REAL *a = a_, f = 1 / (REAL)rows;
	const REAL *y = y_;
	double loss = 0;

	(void)kc;
	for (int64_t i = 0; i < rows * cols; i++) {
		REAL d = a[i] - y[i];

		loss += (double)d * (double)d;
		a[i] = d * f;
	}
	return loss / (2 * (double)rows);
}

static double sumsq(mr_kctx *kc, int64_t n, const void *x_)
{
	const REAL *x = x_;
	double s = 0;

	(void)kc;
	for (int64_t i = 0; i < n; i++)
		s += (double)x[i] * (double)x[i];
	return s;
}

/* --- optimizer steps ---------------------------------------------------------------------------------------------- */

#include "nn/kernels/reference_step.h"

#include "nn/kernels/reference_mix.h"

static void ranges(mr_kctx *kc, int64_t n, mr_range_fn *fn, const void *args)
{
	(void)kc;
	fn(args, 0, n);
}

static mr_status gemm_step(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c, const mr_step *s)
{
	MR_TRY(gemm(kc, g, a, b, NULL, c, NULL));
	step(kc, g->m * g->n, s, c);
	return MR_OK;
}

static mr_status gemm_sum(mr_kctx *kc, const mr_gemm *g, uint32_t n, const void *const *a, const void *const *b, void *c,
			  const mr_step *s)
{
	mr_gemm part = *g;

	for (uint32_t j = 0; j < n; j++) {
		MR_TRY(s && j + 1 == n ? gemm_step(kc, &part, a[j], b[j], c, s) : gemm(kc, &part, a[j], b[j], NULL, c, NULL));
		part.add = true;
	}
	return MR_OK;
}

static mr_status gemm_step_rows(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c, const mr_step *s,
				const mr_gemm_rows *r)
{
	REAL *out = r->out;

	MR_TRY(gemm(kc, g, a, b, NULL, c, NULL));
	for (int64_t i = 0; i < r->n; i++)
		memcpy(out + i * g->n, (const REAL *)c + r->row[i] * g->n, (size_t)g->n * sizeof(REAL));
	step(kc, g->m * g->n, s, c);
	return MR_OK;
}

const mr_kernels TABLE = {
	.name = "reference",
	.dtype = DTYPE,
	.ctx_create = ctx_create,
	.ctx_destroy = ctx_destroy,
	.ctx_bytes = ctx_bytes,
	.gemm = gemm,
	.colsum = colsum,
	.act_backward = act_backward,
	.norm = norm,
	.norm_backward_input = norm_backward_input,
	.norm_backward_weight = norm_backward_weight,
	.norm_backward = norm_backward,
	.attn_saved_bytes = attn_saved_bytes,
	.attn_scratch_bytes = attn_scratch_bytes,
	.attn = attn,
	.attn_backward = attn_backward,
	.embed = embed,
	.embed_backward = embed_backward,
	.sum = sum,
	.dropout = dropout,
	.xent = xent,
	.mse = mse,
	.sumsq = sumsq,
	.ranges = ranges,
	.mix = mix,
	.step = step,
	.gemm_step = gemm_step,
	.gemm_sum = gemm_sum,
	.gemm_step_rows = gemm_step_rows,
};
