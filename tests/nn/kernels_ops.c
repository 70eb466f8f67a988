#include "kernels_ops.h"
#include "step_variants.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "guarded.h"
#include "nn/element.h"

/* By one loop a type: half of the time of these tests went into what they compare, number by number. */
static void *make_numbers(mr_dtype t, int64_t n, uint32_t stream, float lo, float hi)
{
	void *p = malloc((size_t)n * mr_dtype_bytes(t));

	switch (t) {
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
	case MR_##id: \
		for (int64_t i = 0; i < n; i++) \
			((stored *)p)[i] = round((double)number_of(stream, i, lo, hi)); \
		break;
#include "base/types.def"
	default: break;
	}
	return p;
}

void *make_room(mr_dtype t, int64_t n)
{
	return make_numbers(t, n, 0, 7, 7);
}

void *make_output(const mr_kernels *k, int64_t n)
{
	return make_room(k->types.activations, n);
}

plant planted;
uint32_t made_streams;

void set_number(const mr_kernels *k, void *p, int64_t i, double x)
{
	mr_element_put(k->types.activations, p, i, x);
}

void *make_of(mr_dtype t, int64_t n, uint32_t stream, double lo, double hi)
{
	void *p = make_numbers(t, n, stream, (float)lo, (float)hi);

	if (stream && stream == planted.stream)
		mr_element_put(t, p, (int64_t)(planted.where * (double)(n - 1)), planted.value);
	made_streams |= stream < 32 ? 1u << stream : 0;
	return p;
}

void *make_input(const mr_kernels *k, int64_t n, uint32_t stream, double lo, double hi)
{
	return make_of(k->types.activations, n, stream, lo, hi);
}

void *make_gelu_aux(const mr_kernels *k, mr_kctx *kc, int64_t n, const void *z)
{
	mr_gemm g = {.m = 1, .n = n, .k = 1, .act = MR_ACT_GELU};
	void *one = make_input(k, 1, 1, 1, 1), *y = make_output(k, n), *aux = make_output(k, n);

	MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = &g, .a = one, .b = z, .c = y, .aux = aux}));
	free(one), free(y);
	return aux;
}

int32_t *make_tokens(int64_t n, int64_t vocab, uint32_t stream)
{
	int32_t *p = malloc((size_t)n * sizeof(*p));

	for (int64_t i = 0; i < n; i++)
		p[i] = (int32_t)(mr_rng_u32(1, MR_RNG_TEST, 1, stream, (uint64_t)i) % (uint64_t)vocab);
	return p;
}

double number_at(const mr_kernels *k, const void *p, int64_t i)
{
	return mr_element(k->types.activations, p, i);
}

void put_of(outputs *o, mr_dtype t, const void *p, int64_t n)
{
	if (o->n + (size_t)n > o->room)
		o->v = realloc(o->v, (o->room = 2 * o->room + (size_t)n + 64) * sizeof(double));
	mr_elements(t, p, 0, n, o->v + o->n);
	o->n += (size_t)n;
}

void put_number(outputs *o, double x)
{
	put_of(o, MR_F64, &x, 1);
}

void put(outputs *o, const mr_kernels *k, const void *p, int64_t n)
{
	put_of(o, k->types.activations, p, n);
}

double distance(const outputs *got, const outputs *want)
{
	double worst = 0, top = 0;

	if (got->n != want->n)
		return INFINITY;
	for (size_t i = 0; i < want->n; i++) {
		double far = fabs(got->v[i] - want->v[i]), size = fabs(want->v[i]);

		if (!isfinite(far)) /* nor is it where one of the two is not */
			return INFINITY;
		worst = far > worst ? far : worst;
		top = size > top ? size : top;
	}
	return worst / (1 + top);
}

bool same_bits(const outputs *a, const outputs *b)
{
	return a->n == b->n && memcmp(a->v, b->v, a->n * sizeof(double)) == 0;
}

uint32_t bf16_tables(const mr_kernels *out[BF16_TABLES])
{
	static const char *const names[BF16_TABLES / 2] = {"reference", "fused", "onednn"};
	uint32_t n = 0;

	for (int i = 0; i < BF16_TABLES / 2; i++) {
		out[n] = mr_kernels_find(names[i], MR_BF16);
		n += out[n] != NULL;
		out[n] = mr_kernels_of(names[i], MR_AS_bf16_pure);
		n += out[n] != NULL;
	}
	return n;
}

bool has_op(const mr_kernels *k, const op *o)
{
	return strcmp(o->name, "mix") || !mr_types_pure(&k->types);
}

outputs run_op(const op *o, const mr_kernels *k, uint32_t n_threads, const int64_t dim[4], int variant, bool add)
{
	outputs out = {0};
	op_case c = {.k = k, .add = add, .variant = variant, .out = &out};

	memcpy(c.dim, dim, sizeof(c.dim));
	MR_CHECK_OK(k->ctx_create(k, n_threads, &c.kc));
	o->run(&c);
	CU_ASSERT(k->ctx_bytes(c.kc) > 0);
	k->ctx_destroy(c.kc);
	return out;
}

/* --- the operations ----------------------------------------------------------------------------------------------- */

/* dims m, n, k; variant: 0-3 transposes, 4-7 bias and activations */
static void run_gemm(const op_case *c)
{
	static const mr_act acts[4] = {MR_ACT_NONE, MR_ACT_NONE, MR_ACT_RELU, MR_ACT_GELU};
	int v = c->variant, fused = v >= 4;
	bool gradient = !fused && v & 1;
	mr_dtype type = gradient ? c->k->types.gradients : c->k->types.activations;
	mr_gemm g = {.of = gradient ? MR_GEMM_GRADIENTS : MR_GEMM_ACTIVATIONS,
		     .m = c->dim[0], .n = c->dim[1], .k = c->dim[2], .ta = v & 1, .tb = v & 2, .add = c->add,
		     .bias = fused && v != 4, .act = fused ? acts[v - 4] : MR_ACT_NONE};
	void *a = make_input(c->k, g.m * g.k, 1, -1, 1), *b = make_input(c->k, g.k * g.n, 2, -1, 1);
	void *bias = make_input(c->k, g.n, 3, -1, 1), *y = make_room(type, g.m * g.n);
	void *aux = make_output(c->k, g.m * g.n), *dz = make_input(c->k, g.m * g.n, 4, -1, 1);

	/* Twice: the second call finds its primitive in the table. */
	for (int i = 0; i < 2; i++)
		MR_CHECK_OK(c->k->gemm(c->kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .bias = g.bias ? bias : NULL,
							      .c = y, .aux = g.act == MR_ACT_GELU ? aux : NULL}));
	put_of(c->out, type, y, g.m * g.n);
	if (g.act == MR_ACT_GELU) { /* what a backend leaves there is its own, what it makes of it is not */
		MR_CHECK_OK(c->k->act_backward(c->kc, &(mr_act_backward_args){.act = g.act, .n = g.m * g.n, .aux = aux,
									      .dy = dz, .dz = dz}));
		put(c->out, c->k, dz, g.m * g.n);
	}
	free(a), free(b), free(bias), free(y), free(aux), free(dz);
}

/* dims rows, cols */
static void run_colsum(const op_case *c)
{
	int64_t rows = c->dim[0], cols = c->dim[1];
	mr_dtype type = c->k->types.gradients;
	void *x = make_input(c->k, rows * cols, 1, -1, 1), *y = make_room(type, cols);

	MR_CHECK_OK(c->k->colsum(c->kc, &(mr_colsum_args){.rows = rows, .cols = cols, .x = x, .y = y, .add = c->add}));
	put_of(c->out, type, y, cols);
	free(x), free(y);
}

/* dims n; variant: activation + 3 * in place */
static void run_act_backward(const op_case *c)
{
	int64_t n = c->dim[0] * c->dim[1];
	mr_act act = (mr_act)(c->variant % 3);
	void *z = make_input(c->k, n, 1, -6, 6), *aux = make_gelu_aux(c->k, c->kc, n, z);
	void *dy = make_input(c->k, n, 2, -1, 1), *dz = make_output(c->k, n), *out = c->variant >= 3 ? dy : dz;

	MR_CHECK_OK(c->k->act_backward(c->kc, &(mr_act_backward_args){.act = act, .n = n,
								      .aux = act == MR_ACT_GELU ? aux : z, .dy = dy,
								      .dz = out}));
	put(c->out, c->k, out, n);
	free(z), free(aux), free(dy), free(dz);
}

/* dims n; variant: activation, without GELU, + 5 * in place */
static void run_act(const op_case *c)
{
	static const mr_act acts[5] = {MR_ACT_NONE, MR_ACT_RELU, MR_ACT_TANH, MR_ACT_SIGMOID, MR_ACT_SILU};
	int64_t n = c->dim[0] * c->dim[1];
	mr_act act = acts[c->variant % 5];
	void *x = make_input(c->k, n, 1, -6, 6), *dy = make_input(c->k, n, 2, -1, 1), *y = make_output(c->k, n);
	void *dz = make_output(c->k, n), *from = c->variant >= 5 ? x : y;

	MR_CHECK_OK(c->k->act_backward(c->kc, &(mr_act_backward_args){.act = MR_ACT_SILU, .n = n, .aux = x, .dy = dy,
								      .dz = dz}));
	put(c->out, c->k, dz, n);
	MR_CHECK_OK(c->k->act(c->kc, &(mr_act_args){.act = act, .n = n, .x = x, .y = from}));
	put(c->out, c->k, from, n);
	MR_CHECK_OK(c->k->act_backward(c->kc, &(mr_act_backward_args){.act = act == MR_ACT_SILU ? MR_ACT_NONE : act,
								      .n = n, .aux = from, .dy = dy, .dz = dz}));
	put(c->out, c->k, dz, n);
	free(x), free(dy), free(y), free(dz);
}

/* @apart: backward in its two halves. */
static void norm_and_back(const op_case *c, bool apart)
{
	int64_t rows = c->dim[0], cols = c->dim[1], n = rows * cols;
	const mr_kernels *k = c->k;
	void *x = make_input(k, n, 1, -1, 3), *gain = make_input(k, cols, 2, 0, 2),
		*shift = make_input(k, cols, 3, -1, 1);
	mr_dtype compute = k->types.compute, gradient = k->types.gradients;
	void *dy = make_input(k, n, 4, -1, 1), *y = make_output(k, n), *mean = make_room(compute, rows);
	void *rstd = make_room(compute, rows), *dx = make_output(k, n), *dg = make_room(gradient, cols),
		*ds = make_room(gradient, cols);

	MR_CHECK_OK(k->norm(c->kc, &(mr_norm_args){.rows = rows, .cols = cols, .eps = 1e-5, .x = x, .gain = gain,
						   .shift = shift, .y = y, .mean = mean, .rstd = rstd}));
	if (apart) {
		MR_CHECK_OK(k->norm_backward_input(
			c->kc, &(mr_norm_backward_input_args){.rows = rows, .cols = cols, .x = x, .gain = gain,
							      .mean = mean, .rstd = rstd, .dy = dy, .dx = dx,
							      .add = c->add}));
		MR_CHECK_OK(k->norm_backward_weight(
			c->kc, &(mr_norm_backward_weight_args){.rows = rows, .cols = cols, .x = x, .mean = mean,
							       .rstd = rstd, .dy = dy, .dgain = dg, .dshift = ds,
							       .add_weight = c->add}));
	} else {
		MR_CHECK_OK(k->norm_backward(
			c->kc, &(mr_norm_backward_args){.rows = rows, .cols = cols, .x = x, .gain = gain, .mean = mean,
							.rstd = rstd, .dy = dy, .dx = dx, .add = c->add, .dgain = dg,
							.dshift = ds, .add_weight = c->add}));
	}
	put(c->out, k, y, n);
	put_of(c->out, compute, mean, rows);
	if (cols > 1) { /* the rstd of one column is 1 / sqrt(eps), which only scales rounding errors */
		put_of(c->out, compute, rstd, rows);
		put(c->out, k, dx, n);
		put_of(c->out, gradient, dg, cols);
	}
	put_of(c->out, gradient, ds, cols);
	free(x), free(gain), free(shift), free(dy), free(y), free(mean), free(rstd), free(dx), free(dg), free(ds);
}

static void run_norm(const op_case *c)
{
	norm_and_back(c, false);
}

void run_norm_halves(const op_case *c)
{
	norm_and_back(c, true);
}

size_t saved_bytes(const mr_kernels *k, const mr_attn *a)
{
	mr_saved saved = {0};

	k->attn_saved(a, &saved);
	return saved.bytes;
}

/* dims samples, t, cols, vocab; variant 1: without positions */
static void run_embed(const op_case *c)
{
	int64_t t = c->dim[1], rows = c->dim[0] * t, cols = c->dim[2], vocab = c->dim[3];
	const mr_kernels *k = c->k;
	void *wte = make_input(k, vocab * cols, 1, -1, 1), *wpe = make_input(k, t * cols, 2, -1, 1);
	void *dy = make_input(k, rows * cols, 3, -1, 1), *y = make_output(k, rows * cols);
	mr_dtype type = k->types.gradients;
	void *dwte = make_room(type, vocab * cols), *dwpe = make_room(type, t * cols);
	int32_t *tokens = make_tokens(rows, vocab, 4);

	MR_CHECK_OK(k->embed(c->kc, &(mr_embed_args){.rows = rows, .t = t, .cols = cols, .vocab = vocab,
						     .tokens = tokens, .wte = wte, .wpe = c->variant ? NULL : wpe,
						     .y = y}));
	MR_CHECK_OK(k->embed_backward(c->kc, &(mr_embed_backward_args){.rows = rows, .t = t, .cols = cols,
								       .vocab = vocab, .tokens = tokens, .dy = dy,
								       .dwte = dwte, .dwpe = c->variant ? NULL : dwpe,
								       .add = c->add}));
	put(c->out, k, y, rows * cols);
	put_of(c->out, type, dwte, vocab * cols);
	put_of(c->out, type, dwpe, t * cols);
	free(wte), free(wpe), free(dy), free(y), free(dwte), free(dwpe), free(tokens);
}

/* variant 1: in place */
static void run_sum(const op_case *c)
{
	int64_t n = c->dim[0] * c->dim[1];
	void *a = make_input(c->k, n, 1, -1, 1), *b = make_input(c->k, n, 2, -1, 1), *y = make_output(c->k, n);
	void *out = c->variant ? b : y;

	MR_CHECK_OK(c->k->sum(c->kc, &(mr_sum_args){.n = n, .a = a, .b = b, .y = out}));
	put(c->out, c->k, out, n);
	free(a), free(b), free(y);
}

/* variant 1: in place */
static void run_sum_relu(const op_case *c)
{
	int64_t n = c->dim[0] * c->dim[1];
	void *a = make_input(c->k, n, 1, -1, 1), *b = make_input(c->k, n, 2, -1, 1), *y = make_output(c->k, n);
	void *out = c->variant ? b : y;

	MR_CHECK_OK(c->k->sum_relu(c->kc, &(mr_sum_relu_args){.n = n, .a = a, .b = b, .y = out}));
	put(c->out, c->k, out, n);
	free(a), free(b), free(y);
}

/* dims samples, elements a sample; variant 1: in place */
static void run_dropout(const op_case *c)
{
	int64_t n = c->dim[0] * c->dim[1];
	/* the sample number carries into its high word */
	mr_mask_key key = {.seed = 5, .first_sample = 0xFFFFFFFEu, .layer = 3};
	void *x = make_input(c->k, n, 1, 1, 2), *y = make_output(c->k, n), *out = c->variant ? x : y;

	MR_CHECK_OK(c->k->dropout(c->kc, &(mr_dropout_args){.samples = c->dim[0], .per_sample = c->dim[1], .rate = 0.3,
							    .key = &key, .x = x, .y = out}));
	put(c->out, c->k, out, n);
	free(x), free(y);
}

/* variant: the kind, 3 for an outer step without momentum; + 4: in place; + 8: three copies in place of two; + 16: five
 */
static void run_mix(const op_case *c)
{
	static const mr_averaging_kind kinds[4] = {MR_AVERAGING_MEAN, MR_AVERAGING_OUTER, MR_AVERAGING_PULL,
						   MR_AVERAGING_OUTER};
	int64_t n = c->dim[0] * c->dim[1];
	const mr_kernels *k = c->k;
	mr_dtype type = k->types.state;
	void *x[5], *y[5], *shared[3];
	bool momentum = c->variant % 4 != 3, in_place = c->variant & 4;
	uint32_t copies = c->variant & 16 ? 5 : c->variant & 8 ? 3 : 2;
	mr_averaging m = {.kind = kinds[c->variant % 4],
			  .n = copies,
			  .src = (const void *const *)x,
			  .dst = in_place ? x : y,
			  .alpha = 0.3,
			  .lr = 0.7,
			  .mu = momentum ? 0.9 : 0};

	for (uint32_t i = 0; i < 3; i++)
		shared[i] = make_of(type, n, 7 + i, -1, 1);
	for (uint32_t r = 0; r < copies; r++) {
		x[r] = make_of(type, n, 10 + r, -1, 1);
		y[r] = make_room(type, n);
	}
	m.reference = shared[0];
	m.velocity = momentum ? shared[1] : NULL;
	m.mean = shared[2];
	MR_CHECK_OK(k->mix(c->kc, &(mr_mix_args){.n = n, .m = &m}));
	for (uint32_t i = 0; i < 3; i++) {
		put_of(c->out, type, shared[i], n);
		free(shared[i]);
	}
	for (uint32_t r = 0; r < copies; r++) {
		put_of(c->out, type, x[r], n);
		put_of(c->out, type, y[r], n);
		free(x[r]), free(y[r]);
	}
}

/* variant: the step's; + N_STEPS: in place */
static void run_step(const op_case *c)
{
	int64_t n = c->dim[0] * c->dim[1];
	const mr_kernels *k = c->k;
	mr_dtype state = k->types.state;
	void *w = make_input(k, n, 1, -1, 1), *g = make_of(k->types.gradients, n, 2, -1, 1);
	void *m = make_of(state, n, 3, -1, 1), *v = make_of(state, n, 4, 0, 1);
	void *other = make_output(k, n), *dst = c->variant >= N_STEPS ? w : other;
	mr_step s = step_variant(c->variant % N_STEPS, w, dst, m, v);

	MR_CHECK_OK(k->step(c->kc, &(mr_step_args){.n = n, .s = &s, .g = g}));
	put(c->out, k, dst, n);
	put(c->out, k, w, n);
	put_of(c->out, state, m, n);
	put_of(c->out, state, v, n);
	free(w), free(g), free(m), free(v), free(other);
}

/* Sums of columns, which a product x^T dz is asked for as well. */
static void ask_sums(const mr_kernels *k, mr_gemm *g)
{
	if (g->ta && !g->tb) {
		g->colsum_a = make_room(k->types.gradients, g->m);
		g->colsum_b = make_room(k->types.gradients, g->n);
	}
}

/* The sums of @g apart. Returns what is left of it. */
static mr_gemm sums_apart(const op_case *c, const mr_gemm *g, const void *a, const void *b)
{
	mr_gemm rest = *g;

	if (g->colsum_a)
		MR_CHECK_OK(c->k->colsum(c->kc, &(mr_colsum_args){.rows = g->k, .cols = g->m, .x = a, .y = g->colsum_a,
								  .add = g->add}));
	if (g->colsum_b)
		MR_CHECK_OK(c->k->colsum(c->kc, &(mr_colsum_args){.rows = g->k, .cols = g->n, .x = b, .y = g->colsum_b,
								  .add = g->add}));
	rest.colsum_a = rest.colsum_b = NULL;
	return rest;
}

static void put_sums(const op_case *c, const mr_gemm *g)
{
	if (g->colsum_a)
		put_of(c->out, c->k->types.gradients, g->colsum_a, g->m);
	if (g->colsum_b)
		put_of(c->out, c->k->types.gradients, g->colsum_b, g->n);
	free(g->colsum_a), free(g->colsum_b);
}

/* dims m, n, k; variant: the step's + N_STEPS * (1 ta, 2 tb), in place where one of the two is set. @apart: gemm, then
 * step. */
static void gemm_then_step(const op_case *c, bool apart)
{
	int64_t n = c->dim[0] * c->dim[1];
	const mr_kernels *k = c->k;
	void *w = make_input(k, n, 1, -1, 1), *m = make_of(k->types.state, n, 3, -1, 1);
	void *v = make_of(k->types.state, n, 4, 0, 1);
	void *a = make_input(k, c->dim[0] * c->dim[2], 5, -1, 1), *b = make_input(k, c->dim[1] * c->dim[2], 6, -1, 1);
	mr_gemm g = {.of = MR_GEMM_GRADIENTS,
		     .m = c->dim[0],
		     .n = c->dim[1],
		     .k = c->dim[2],
		     .ta = c->variant / N_STEPS & 1,
		     .tb = c->variant / N_STEPS & 2,
		     .add = c->add};
	void *sum = make_room(k->types.gradients, n), *other = make_output(k, n), *dst = g.ta != g.tb ? w : other;
	mr_step s = step_variant(c->variant % N_STEPS, w, dst, m, v);

	ask_sums(k, &g);
	if (apart) {
		mr_gemm rest = sums_apart(c, &g, a, b);

		MR_CHECK_OK(k->gemm(c->kc, &(mr_gemm_args){.g = &rest, .a = a, .b = b, .c = sum}));
		MR_CHECK_OK(k->step(c->kc, &(mr_step_args){.n = n, .s = &s, .g = sum}));
	} else {
		MR_CHECK_OK(k->gemm_step(c->kc, &(mr_gemm_step_args){.g = &g, .a = a, .b = b, .c = sum, .s = &s}));
	}
	put_sums(c, &g);
	put(c->out, k, dst, n);
	put(c->out, k, w, n);
	put_of(c->out, k->types.state, m, n);
	put_of(c->out, k->types.state, v, n);
	free(w), free(m), free(v), free(a), free(b), free(sum), free(other);
}

static void run_gemm_step(const op_case *c)
{
	gemm_then_step(c, false);
}

void run_gemm_then_step(const op_case *c)
{
	gemm_then_step(c, true);
}

/* dims m, n, k of a piece; variant: no step, or one of the steps, + (N_STEPS + 1) for five pieces in place of two.
 * @apart: one product after the other. */
static void sum_of_pieces(const op_case *c, bool apart)
{
	int64_t n = c->dim[0] * c->dim[1];
	uint32_t pieces = c->variant > N_STEPS ? 5 : 2;
	int kind = c->variant % (N_STEPS + 1);
	const mr_kernels *k = c->k;
	void *w = make_input(k, n, 1, -1, 1), *m = make_of(k->types.state, n, 3, -1, 1);
	void *v = make_of(k->types.state, n, 4, 0, 1);
	void *sum = make_room(k->types.gradients, n), *a[5], *b[5];
	mr_gemm g = {.of = MR_GEMM_GRADIENTS, .m = c->dim[0], .n = c->dim[1], .k = c->dim[2], .ta = true,
		     .add = c->add};
	mr_step s = step_variant(kind ? kind - 1 : 0, w, w, m, v);

	for (uint32_t j = 0; j < pieces; j++) {
		a[j] = make_input(k, g.m * g.k, 10 + j, -1, 1);
		b[j] = make_input(k, g.n * g.k, 20 + j, -1, 1);
	}
	ask_sums(k, &g);
	if (!apart)
		MR_CHECK_OK(k->gemm_sum(c->kc, &(mr_gemm_sum_args){.g = &g, .n = pieces, .a = (const void *const *)a,
								   .b = (const void *const *)b, .c = sum,
								   .s = kind ? &s : NULL}));
	for (uint32_t j = 0; j < pieces; j++) {
		g.add = c->add || j > 0;
		if (apart) {
			mr_gemm rest = sums_apart(c, &g, a[j], b[j]);

			MR_CHECK_OK(kind && j + 1 == pieces ? k->gemm_step(
				c->kc, &(mr_gemm_step_args){.g = &rest, .a = a[j], .b = b[j], .c = sum, .s = &s})
							    : k->gemm(c->kc, &(mr_gemm_args){.g = &rest, .a = a[j],
											     .b = b[j], .c = sum}));
		}
		free(a[j]), free(b[j]);
	}
	put_sums(c, &g);
	put_of(c->out, kind ? k->types.weights : k->types.gradients, kind ? w : sum, n);
	put_of(c->out, k->types.state, m, n);
	put_of(c->out, k->types.state, v, n);
	free(w), free(m), free(v), free(sum);
}

static void run_gemm_sum(const op_case *c)
{
	sum_of_pieces(c, false);
}

void run_gemms(const op_case *c)
{
	sum_of_pieces(c, true);
}

/* dims m, n, k; variant: the step's. A third of the rows of the product besides, in no order. @apart: gemm, copies,
 * step. */
static void step_and_rows(const op_case *c, bool apart)
{
	const mr_kernels *k = c->k;
	mr_gemm g = {.of = MR_GEMM_GRADIENTS, .m = c->dim[0], .n = c->dim[1], .k = c->dim[2], .ta = true};
	int64_t n = g.m * g.n, some = (g.m + 2) / 3;
	size_t bytes = (size_t)g.n * mr_dtype_bytes(k->types.gradients);
	void *w = make_input(k, n, 1, -1, 1), *m = make_of(k->types.state, n, 3, -1, 1);
	void *v = make_of(k->types.state, n, 4, 0, 1);
	void *a = make_input(k, g.m * g.k, 5, -1, 1), *b = make_input(k, g.n * g.k, 6, -1, 1);
	void *sum = make_room(k->types.gradients, n), *rows = make_room(k->types.gradients, some * g.n);
	void *room = make_output(k, some * g.k);
	int32_t *row = malloc((size_t)some * sizeof(*row));
	mr_step s = step_variant(c->variant, w, w, m, v);

	for (int64_t i = 0; i < some; i++)
		row[i] = (int32_t)(g.m - 1 - (i * 5 + 3) % g.m);
	ask_sums(k, &g);
	if (apart) {
		mr_gemm rest = sums_apart(c, &g, a, b);

		MR_CHECK_OK(k->gemm(c->kc, &(mr_gemm_args){.g = &rest, .a = a, .b = b, .c = sum}));
		for (int64_t i = 0; i < some; i++)
			memcpy((char *)rows + (size_t)i * bytes, (char *)sum + (size_t)row[i] * bytes, bytes);
		MR_CHECK_OK(k->step(c->kc, &(mr_step_args){.n = n, .s = &s, .g = sum}));
	} else {
		mr_gemm_rows r = {.n = some, .row = row, .out = rows, .room = room};

		MR_CHECK_OK(k->gemm_step_rows(
			c->kc, &(mr_gemm_step_rows_args){.g = &g, .a = a, .b = b, .c = sum, .s = &s, .r = &r}));
	}
	put_sums(c, &g);
	put_of(c->out, k->types.gradients, rows, some * g.n);
	put(c->out, k, w, n);
	put_of(c->out, k->types.state, m, n);
	put_of(c->out, k->types.state, v, n);
	free(w), free(m), free(v), free(a), free(b), free(sum), free(rows), free(room), free(row);
}

static void run_gemm_step_rows(const op_case *c)
{
	step_and_rows(c, false);
}

void run_gemm_rows_step(const op_case *c)
{
	step_and_rows(c, true);
}

/*
 * Tolerances, in units of the largest value: a sum of n terms in [-1, 1] is off by about eps sqrt(n) of its size, eps =
 * 6e-8; 2e-6 covers n = 1000 with room for products. Elementwise operations: a few eps. Norm divides by small variances
 * when a row has 3 columns; softmax and exp carry 3e-7.
 */
const op ops[] = {
	{"gemm",
	 run_gemm,
	 8,
	 4,
	 true,
	 2e-6,
	 {{1, 1, 1},
	  {3, 5, 7},
	  {17, 64, 33},
	  {100, 65, 64},
	  {130, 96, 100},
	  {300, 40, 24}}}, /* the last: by oneDNN with two threads */
	{"colsum", run_colsum, 1, 1, false, 2e-6, {{1, 1}, {3, 17}, {64, 100}, {300, 300}}},
	{"act_backward", run_act_backward, 6, 0, false, 1e-6, {{1, 1}, {3, 17}, {300, 101}}},
	{"act", run_act, 10, 0, false, 1e-6, {{1, 1}, {3, 17}, {300, 101}}},
	{"cell", run_cell, 8, 0, false, 1e-6, {{1, 1, 1}, {3, 2, 17}, {5, 1, 64}, {40, 3, 101}}},
	{"norm",
	 run_norm,
	 1,
	 1,
	 false,
	 5e-6,
	 {{1, 1}, {3, 17}, {5, 64}, {17, 100}, {301, 130}, {20, 1025}, {33, 1056}, {20, 1100}}},
	{"batch_norm", run_batch_norm, 6, 2, false, 5e-6,
	 {{4, 1}, {3, 17}, {17, 100}, {64, 131}, {301, 64}, {1000, 33}}},
	{"attn",
	 run_attn,
	 4,
	 0,
	 false,
	 3e-6,
	 {{1, 1, 1, 1}, {2, 3, 2, 3}, {1, 17, 3, 17}, {2, 64, 2, 16}, {3, 100, 2, 32}, {1, 131, 3, 64}}},
	{"rope",
	 run_rope,
	 2,
	 0,
	 false,
	 1e-6,
	 {{1, 1, 1, 1}, {2, 3, 2, 5}, {1, 17, 3, 17}, {3, 100, 2, 32}, {1, 300, 2, 8}}},
	{"gelu_erf", run_gelu_erf, 2, 0, false, 1e-6, {{1, 1}, {3, 17}, {300, 101}}},
	{"swiglu", run_swiglu, 2, 0, false, 1e-6, {{1, 1}, {3, 17}, {300, 101}}},
	{"embed",
	 run_embed,
	 2,
	 2,
	 false,
	 2e-6,
	 {{1, 1, 1, 1}, {2, 3, 5, 7}, {3, 17, 64, 65}, {8, 64, 130, 20}, {1, 4200, 2, 4099}}},
	{"margin", run_margin, 8, 8, false, 3e-6, {{1, 1, 1}, {3, 5, 7}, {40, 17, 2}, {600, 300, 30}}},
	{"pairs", run_pairs, 3, 3, false, 3e-6, {{1, 1, 1}, {3, 4, 5}, {5, 7, 17}, {100, 20, 70}}},
	{"bag", run_bag, 8, 8, false, 2e-6, {{1, 1, 1, 1}, {3, 4, 5, 6}, {17, 3, 70, 11}, {600, 5, 40, 50}}},
	{"attend", run_attend, 8, 8, false, 1e-5, {{1, 1, 1}, {3, 4, 5}, {5, 7, 17}, {20, 30, 70}}},
	{"row_product", run_row_product, 6, 0, false, 3e-6, {{1, 1}, {17, 3}, {128, 5}, {300, 700}, {4500, 9}}},
	{"attend_past", run_attend_past, 2, 0, false, 1e-5,
	 {{1, 1, 1, 1}, {2, 3, 2, 5}, {1, 17, 3, 17}, {3, 100, 2, 64}, {1, 300, 2, 130}}},
	{"conv", run_conv, 8, 8, true, 3e-6,
	 {{5, 4, 3, 2}, {4, 5, 1, 1}, {6, 7, 17, 19}, {5, 4, 32, 48}, {32, 32, 2, 4}}},
	{"pool", run_pool, 10, 10, false, 1e-6, {{3, 3, 1, 1}, {5, 4, 3, 1}, {6, 7, 19, 1}, {16, 17, 33, 1}}},
	{"lrn", run_lrn, 2, 2, false, 2e-6, {{1, 1}, {3, 17}, {4, 9}, {30, 300}}},
	{"sum", run_sum, 2, 0, false, 1e-7, {{1, 1}, {3, 17}, {300, 101}}},
	{"sum_relu", run_sum_relu, 2, 0, false, 1e-7, {{1, 1}, {3, 17}, {300, 101}}},
	{"dropout", run_dropout, 2, 0, false, 1e-7, {{1, 1}, {3, 17}, {3, 64}, {5, 300}, {4, 20001}}},
	{"xent", run_xent, 1, 0, false, 1e-6, {{1, 1}, {3, 17}, {64, 65}, {100, 10}, {1500, 100}, {4200, 5}}},
	{"mse", run_mse, 1, 0, false, 1e-6, {{1, 1}, {3, 17}, {64, 65}, {1500, 10}, {4200, 3}}},
	{"sumsq", run_sumsq, 1, 0, false, 1e-12, {{1, 1}, {3, 17}, {64, 65}, {300, 101}}},
	{"sum_gradients", run_sum_gradients, 2, 0, false, 1e-7, {{1, 1}, {3, 17}, {300, 101}}},
	{"ranges", run_ranges, 1, 0, false, 0, {{1, 1}, {3, 17}, {300, 101}}},
	{"mix", run_mix, 24, 0, false, 1e-6, {{1, 1}, {3, 17}, {300, 101}}},
	{"step", run_step, 2 * N_STEPS, 0, false, 1e-6, {{1, 1}, {3, 17}, {300, 101}}},
	/* Adam divides the gradient by the root of its own square, which may be small */
	{"gemm_sum",
	 run_gemm_sum,
	 2 * (N_STEPS + 1),
	 2 * (N_STEPS + 1),
	 true,
	 4e-5,
	 {{1, 1, 1}, {33, 17, 64}, {70, 40, 300}}},
	{"gemm_step_rows",
	 run_gemm_step_rows,
	 N_STEPS,
	 0,
	 true,
	 2e-5,
	 {{1, 1, 1},
	  {33, 17, 64},
	  {400, 65, 30},
	  {40, 70, 300},
	  {130, 128, 258}}}, /* the last two: by oneDNN, and of many rows */
	{"gemm_step",
	 run_gemm_step,
	 4 * N_STEPS,
	 4 * N_STEPS,
	 true,
	 2e-5,
	 {{1, 1, 1}, {3, 5, 7}, {17, 64, 33}, {65, 130, 100}}},
};
const int n_ops = (int)(sizeof(ops) / sizeof(ops[0]));
