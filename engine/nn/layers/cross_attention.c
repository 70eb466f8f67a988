/*
 * cross_attention.c - attention of one sequence to another, which is padded.
 *
 *	queries [n, T, H]   keys [n, S, H]   values [n, S, C]   tokens [n, S, 1] of the keys -> y [n, T, C]
 *	a(t, s) = softmax over s of score(t, s), where s is in front of the padding; 0 for the others
 *	y_t = sum over s of a(t, s) values_s
 *
 *	dot         score = queries_t . keys_s (Luong, Pham, Manning, 2015; the "general" form has a linear layer in
 *	            front of the keys)
 *	additive    score = g v / |v| . tanh(queries_t + keys_s + b): the normalised attention of Bahdanau, Cho, Bengio,
 *	            2015, with linear layers in front of queries and keys
 *
 * Parameters of the additive form: linear_att = v [H], normalize_bias = b [H], normalize_scalar = g [1]; the names are
 * those of the published GNMT v2 code, and so are the initial values: v uniform in +-1/sqrt(H), b 0, g 1/sqrt(H).
 * A sequence that is padding alone gives 0. F keeps the weights a, in the compute type; tanh is computed again by I, a
 * sample at a time, so its T S H numbers are never kept. Reads of the configuration: additive.
 */
#include "nn/layers/shared.h"

#include <math.h>

enum { QUERIES, KEYS, VALUES, TOKENS };

/* Sizes, and the parts of scratch and kept. */
typedef struct places {
	int64_t t, s, h, c;
	size_t tanh, share, dshare; /* bytes of activations: [T, S, H], [T, S], [T, S] */
	size_t dscore, dq, dk, unit; /* bytes of the compute type: [T, S], [T, H], [S, H], [H] */
	size_t vector;              /* of a vector of H in kept */
} places;

static places places_of(const mr_shape *in, const mr_kernels *k)
{
	places p = {.t = in[QUERIES].rows, .s = in[KEYS].rows, .h = in[QUERIES].cols, .c = in[VALUES].cols};

	p.tanh = mr_layer_align(mr_layer_bytes(k, p.t * p.s * p.h));
	p.share = p.dshare = mr_layer_align(mr_layer_bytes(k, p.t * p.s));
	p.dscore = mr_layer_align(mr_layer_compute_bytes(k, p.t * p.s));
	p.dq = mr_layer_align(mr_layer_compute_bytes(k, p.t * p.h));
	p.dk = mr_layer_align(mr_layer_compute_bytes(k, p.s * p.h));
	p.unit = p.vector = mr_layer_align(mr_layer_compute_bytes(k, p.h));
	return p;
}

/* One sample of a call. */
typedef struct sample {
	const mr_layer_call *c;
	const places *p;
	mr_attend attend;
	int64_t number;
	const void *q, *k;       /* its queries and keys */
	void *a;                 /* its attention weights, of the compute type */
	void *tanh;              /* [T, length, H]; NULL: not additive */
	void *share;             /* the attention weights as activations */
	void *dshare;            /* their gradient, as activations */
	void *dscore, *dq, *dk;  /* of the compute type */
	void *unit;              /* g v / |v| */
	void *dunit, *db;        /* sums over samples */
} sample;

static mr_status cross_attention_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	for (int i = 0; i < TOKENS; i++)
		MR_TRY(mr_layer_check_numbers("cross_attention", in[i]));
	if (in[QUERIES].cols != in[KEYS].cols)
		return mr_fail(MR_ECONFIG, "cross_attention cannot compare queries of %lld columns with keys of %lld",
			       (long long)in[QUERIES].cols, (long long)in[KEYS].cols);
	if (in[KEYS].rows != in[VALUES].rows)
		return mr_fail(MR_ECONFIG, "cross_attention needs a value for each key, got %lld keys and %lld values",
			       (long long)in[KEYS].rows, (long long)in[VALUES].rows);
	MR_TRY(mr_layer_check_tokens("cross_attention", in[TOKENS], in[KEYS].rows));
	*out = (mr_shape){.rows = in[QUERIES].rows, .cols = in[VALUES].cols};
	return MR_OK;
}

static uint32_t cross_attention_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	int64_t h = in[QUERIES].cols;
	double bound = 1 / sqrt((double)h);

	if (!cfg->additive)
		return 0;
	spec[0] = (mr_param_spec){
		.suffix = "linear_att", .rank = 1, .dim = {h, 1}, .init = MR_INIT_UNIFORM, .std = bound};
	spec[1] = (mr_param_spec){.suffix = "normalize_bias", .rank = 1, .dim = {h, 1}, .init = MR_INIT_ZERO};
	spec[2] = (mr_param_spec){
		.suffix = "normalize_scalar", .rank = 1, .dim = {1, 1}, .init = MR_INIT_VALUE, .std = bound};
	return 3;
}

static void cross_attention_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
				  mr_layer_needs *out)
{
	places p = places_of(in, k);
	double flops = 2.0 * (double)(samples * p.t * p.s) * (double)(p.h + p.c);

	*out = (mr_layer_needs){.x_i = true, .flops_f = flops, .flops_i = 2 * flops};
	mr_saved_add(&out->aux_i, "attention weights", mr_layer_compute_bytes(k, samples * p.t * p.s));
	out->scratch = p.share + p.dshare + p.dscore + p.dq + p.dk;
	if (!cfg->additive)
		return;
	mr_saved_add(&out->kept, "gradients of the score's parameters",
		     2 * p.vector + mr_layer_compute_bytes(k, 1));
	out->scratch += p.tanh + p.unit;
}

static const void *of_sample(const mr_layer_call *c, int which, int64_t number)
{
	return (const char *)c->x[which] + (size_t)number * mr_layer_bytes(c->k, mr_shape_count(c->in[which]));
}

static sample sample_of(const mr_layer_call *c, const places *p, int64_t number)
{
	const int32_t *tokens = (const int32_t *)c->x[TOKENS] + number * p->s;
	char *at = c->scratch;
	sample s = {
		.c = c,
		.p = p,
		.attend = {.t = p->t, .s = p->s, .h = p->h, .additive = c->cfg->additive},
		.number = number,
		.q = of_sample(c, QUERIES, number),
		.k = of_sample(c, KEYS, number),
		.a = (char *)c->aux_i + mr_layer_compute_bytes(c->k, number * p->t * p->s),
	};

	s.attend.length = c->k->recorded ? p->s : mr_layer_length(tokens, p->s);
	s.share = at;
	s.dshare = at += p->share;
	s.dscore = at += p->dshare;
	s.dq = at += p->dscore;
	s.dk = at += p->dq;
	at += p->dk;
	if (c->cfg->additive) {
		s.tanh = at;
		s.unit = at + p->tanh;
		s.dunit = c->kept;
		s.db = c->kept ? (char *)c->kept + p->vector : NULL;
	}
	return s;
}

/* tanh(queries_t + keys_s + b), in front of the padding. */
static mr_status make_tanh(const sample *s)
{
	const mr_layer_call *c = s->c;

	if (!c->cfg->additive)
		return MR_OK;
	MR_TRY(c->k->attend_sum(c->kc, &(mr_attend_sum_args){.p = &s->attend, .q = s->q, .k = s->k, .b = c->w[1],
							     .z = s->tanh}));
	return c->k->act(c->kc, &(mr_act_args){.act = MR_ACT_TANH, .n = s->p->t * s->attend.length * s->p->h,
					       .x = s->tanh, .y = s->tanh});
}

static mr_status make_unit(const sample *s)
{
	const mr_layer_call *c = s->c;

	return c->cfg->additive ? c->k->attend_unit(c->kc, &(mr_attend_unit_args){.h = s->p->h, .v = c->w[0],
										  .g = c->w[2], .unit = s->unit})
				: MR_OK;
}

static mr_status cross_attention_forward(const mr_layer_call *c)
{
	places p = places_of(c->in, c->k);
	mr_gemm mix = {.m = p.t, .n = p.c, .k = p.s};
	sample s = sample_of(c, &p, 0);

	MR_TRY(make_unit(&s));
	for (int64_t i = 0; i < c->samples; i++) {
		s = sample_of(c, &p, i);
		MR_TRY(make_tanh(&s));
		MR_TRY(c->k->attend(c->kc, &(mr_attend_args){.p = &s.attend, .q = s.q, .k = s.k, .z = s.tanh,
							     .unit = s.unit, .a = s.a, .share = s.share}));
		MR_TRY(c->k->gemm(c->kc, &(mr_gemm_args){.g = &mix, .a = s.share, .b = of_sample(c, VALUES, i),
							 .c = (char *)c->y[0] + mr_layer_bytes(c->k, i * p.t * p.c)}));
	}
	return MR_OK;
}

/* Where the gradient of input @which of the sample begins; NULL: it is not wanted. */
static void *gradient_of(const sample *s, int which)
{
	const mr_layer_call *c = s->c;

	return c->dx[which] ? (char *)c->dx[which] +
				      (size_t)s->number * mr_layer_bytes(c->k, mr_shape_count(c->in[which]))
			    : NULL;
}

static mr_status backward_sample(const sample *s)
{
	const mr_layer_call *c = s->c;
	const places *p = s->p;
	const char *dy = (const char *)c->dy[0] + mr_layer_bytes(c->k, s->number * p->t * p->c);
	mr_gemm to_share = {.m = p->t, .n = p->s, .k = p->c, .tb = true};
	mr_gemm to_values = {.m = p->s, .n = p->c, .k = p->t, .ta = true, .add = c->dx_add[VALUES]};
	mr_attend_backward_args o = {.p = &s->attend, .q = s->q, .k = s->k, .z = s->tanh, .unit = s->unit,
				     .dscore = s->dscore, .sum_q = s->dq, .sum_k = s->dk, .dunit = s->dunit,
				     .db = s->db, .dq = gradient_of(s, QUERIES), .dk = gradient_of(s, KEYS),
				     .add_q = c->dx_add[QUERIES], .add_k = c->dx_add[KEYS]};

	MR_TRY(c->k->gemm(c->kc, &(mr_gemm_args){.g = &to_share, .a = dy, .b = of_sample(c, VALUES, s->number),
						 .c = s->dshare}));
	MR_TRY(c->k->attend_softmax_backward(
		c->kc, &(mr_attend_softmax_backward_args){.p = &s->attend, .a = s->a, .dshare = s->dshare,
							  .dscore = s->dscore,
							  .share = c->dx[VALUES] ? s->share : NULL}));
	if (c->dx[VALUES])
		MR_TRY(c->k->gemm(c->kc, &(mr_gemm_args){.g = &to_values, .a = s->share, .b = dy,
							 .c = gradient_of(s, VALUES)}));
	MR_TRY(make_tanh(s));
	return c->k->attend_backward(c->kc, &o);
}

static mr_status cross_attention_backward_input(const mr_layer_call *c)
{
	places p = places_of(c->in, c->k);
	sample s = sample_of(c, &p, 0);

	MR_TRY(make_unit(&s));
	if (c->cfg->additive)
		mr_layer_clear(c, c->kept, 2 * p.vector + mr_layer_compute_bytes(c->k, 1));
	for (int64_t i = 0; i < c->samples; i++) {
		s = sample_of(c, &p, i);
		MR_TRY(backward_sample(&s));
	}
	if (!c->cfg->additive)
		return MR_OK;
	return c->k->attend_unit_backward(
		c->kc, &(mr_attend_unit_backward_args){.h = p.h, .v = c->w[0], .g = c->w[2], .dunit = c->kept,
						       .dg = (char *)c->kept + 2 * p.vector});
}

static mr_status cross_attention_backward_weight(const mr_layer_call *c)
{
	places p = places_of(c->in, c->k);
	int64_t n[] = {p.h, p.h, 1};

	for (size_t i = 0; c->cfg->additive && i < 3; i++)
		MR_TRY(c->k->gradients(c->kc, &(mr_gradients_args){.n = n[i], .d = (char *)c->kept + i * p.vector,
								   .dw = c->dw[i], .add = c->dw_add}));
	return MR_OK;
}

const mr_layer_ops mr_layer_cross_attention = {
	.name = "cross_attention",
	.summary = "attention of one sequence to another, which is padded",
	.n_in = 4,
	.shape = cross_attention_shape,
	.params = cross_attention_params,
	.needs = cross_attention_needs,
	.forward = cross_attention_forward,
	.backward_input = cross_attention_backward_input,
	.backward_weight = cross_attention_backward_weight,
};
