/*
 * muon.c - momentum, orthogonalised by Newton-Schulz: hidden matrices step along the nearest matrix with singular
 * values 1.
 *
 *	m = mu m + (1 - mu) g        u = (1 - mu) g + mu m   (Nesterov; else u = m)
 *	X = u / |u|                  5 times: A = X X^T,  X = a X + (b A + c A A) X,
 *	                             (a, b, c) = (3.4445, -4.7750, 2.0315)
 *	w = w (1 - lr wd) - lr sqrt(max(1, outputs / inputs)) X
 *
 * The polynomial drives every singular value of X to somewhere near 1 without computing any. Tall matrices go through
 * their transpose (A = X^T X, X = a X + X (b A + c A A)), which is the same and needs the smaller A.
 *
 * Which tensors: weights of layers that are neither the embedding nor the last one before the loss; everything else
 * (biases, gains, embeddings, the head) gets AdamW, at its own rate.
 *
 * Source: Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024
 * (kellerjordan.github.io/posts/muon), and the repository KellerJordan/Muon, whose defaults these are.
 * NOTE 1: in the type of the run's states; the source iterates in bf16, as precision = "bf16_pure" does.
 * NOTE 2: a joint projection of queries, keys and values is one matrix here; the source advises three.
 */
#if defined(MR_OPTIM_LIST)
MR_OPTIM(muon)
#elif !defined(MR_OPTIM_RULES)
#include "nn/optim/part.h"

#include <math.h>
#include <string.h>

#include "nn/optim/matrix.h"

#define NS_A 3.4445
#define NS_B (-4.7750)
#define NS_C 2.0315
#define NS_EPS 1e-7

static const mr_option options[] = {
	MR_OPTIM_LR,
	{"mu", MR_OPT_FLOAT, "0.95", 0, 0.999999, NULL, NULL, "memory of the mean of gradients of hidden matrices"},
	{"nesterov", MR_OPT_BOOL, "true", 0, 0, NULL, NULL, "look one step of that mean ahead"},
	{"ns_steps", MR_OPT_INT, "5", 1, 20, NULL, NULL, "rounds of Newton-Schulz"},
	{"adamw_rate", MR_OPT_FLOAT, "0.015", 0, 1000, NULL, NULL,
	 "learning rate of everything that is no hidden matrix, as a multiple of optimizer.lr"},
	{"beta1", MR_OPT_FLOAT, "0.9", 0, 0.999999, NULL, NULL,
	 "of AdamW for the rest: memory of the mean of gradients"},
	{"beta2", MR_OPT_FLOAT, "0.95", 0, 0.99999999, NULL, NULL,
	 "of AdamW for the rest: memory of the mean of squares"},
	{"eps", MR_OPT_FLOAT, "1e-10", 1e-30, 1, NULL, NULL,
	 "of AdamW for the rest: added to the root of the mean of squares"},
	MR_OPTIM_DECAY("0"),
	{NULL},
};

static void init(mr_optim *o, const mr_values *values)
{
	mr_optim_adam_init(o, values);
	o->mu = mr_values_float(values, "mu");
	o->nesterov = mr_values_bool(values, "nesterov");
	o->rounds = (uint32_t)mr_values_int(values, "ns_steps");
	o->rest_rate = mr_values_float(values, "adamw_rate");
}

/* What has no matrix. */
static void fill(const mr_optim *o, const mr_optim_call *c, mr_step *out)
{
	mr_optim_call rest = *c;

	rest.lr *= o->rest_rate;
	mr_optim_adam_fill(o, &rest, out);
}

typedef struct work {
	void *x, *next; /* [rows, cols] */
	void *a, *p;    /* [small, small] */
} work;

static size_t whole_bytes(const mr_optim_matrix *m, mr_dtype t)
{
	return mr_matrix_bytes(m->rows, m->cols, t);
}

static size_t square_bytes(const mr_optim_matrix *m, mr_dtype t)
{
	int64_t small = m->rows < m->cols ? m->rows : m->cols;

	return mr_matrix_bytes(small, small, t);
}

static size_t work_bytes(const mr_optim_matrix *m, mr_dtype t)
{
	return 2 * (whole_bytes(m, t) + square_bytes(m, t));
}

enum { SQUARE, POWER, STEP };

/* Of a round: x x^T or x^T x, whichever is smaller; its square; and their polynomial times x. */
static void products(const mr_optim_matrix *m, mr_gemm out[MR_OPTIM_PRODUCTS])
{
	bool wide = m->rows <= m->cols;
	int64_t small = wide ? m->rows : m->cols, large = wide ? m->cols : m->rows;

	out[SQUARE] = (mr_gemm){.of = MR_GEMM_STATE, .m = small, .n = small, .k = large, .ta = !wide, .tb = wide};
	out[POWER] = (mr_gemm){.of = MR_GEMM_STATE, .m = small, .n = small, .k = small};
	out[STEP] = (mr_gemm){.of = MR_GEMM_STATE, .m = m->rows, .n = m->cols, .k = small, .add = true};
}

/* next = (polynomial of w->x) */
static mr_status round_of(const mr_kernels *k, mr_kctx *kc, const mr_optim_matrix *m, work *w)
{
	bool wide = m->rows <= m->cols;
	int64_t small = wide ? m->rows : m->cols;
	mr_gemm g[MR_OPTIM_PRODUCTS];
	void *x = w->x;

	products(m, g);
	MR_TRY(k->gemm(kc, &(mr_gemm_args){.g = &g[SQUARE], .a = x, .b = x, .c = w->a}));
	MR_TRY(k->gemm(kc, &(mr_gemm_args){.g = &g[POWER], .a = w->a, .b = w->a, .c = w->p}));
	mr_matrix_mix(k->types.state, small * small, NS_B, w->a, NS_C, w->p, w->p);
	mr_matrix_mix(k->types.state, m->rows * m->cols, NS_A, x, 0, NULL, w->next);
	MR_TRY(k->gemm(kc, &(mr_gemm_args){.g = &g[STEP], .a = wide ? w->p : x, .b = wide ? x : w->p, .c = w->next}));
	w->x = w->next;
	w->next = x;
	return MR_OK;
}

static mr_status step_matrix(const mr_optim *o, const mr_optim_call *c, const mr_kernels *k, mr_kctx *kc, const void *g)
{
	const mr_optim_matrix *m = &c->matrix;
	int64_t n = m->rows * m->cols, outputs = m->out_first ? m->rows : m->cols, inputs = n / outputs;
	double scale = outputs > inputs ? sqrt((double)outputs / (double)inputs) : 1;
	void *mean = c->state[0];
	char *at = c->work;
	size_t whole = whole_bytes(m, k->types.state), square = square_bytes(m, k->types.state);
	work w = {at, at + whole, at + 2 * whole, at + 2 * whole + square};
	double squares;

	mr_matrix_mix(k->types.state, n, o->mu, mean, (1 - o->mu) * c->gscale, g, mean);
	if (o->nesterov)
		mr_matrix_mix(k->types.state, n, o->mu, mean, (1 - o->mu) * c->gscale, g, w.x);
	else
		memcpy(w.x, mean, (size_t)n * mr_dtype_bytes(k->types.state));
	MR_TRY(k->sumsq(kc, &(mr_sumsq_args){.n = n, .x = w.x, .sum = &squares}));
	mr_matrix_mix(k->types.state, n, 1 / (sqrt(squares) + NS_EPS), w.x, 0, NULL, w.x);
	for (uint32_t i = 0; i < o->rounds; i++)
		MR_TRY(round_of(k, kc, m, &w));
	mr_matrix_step(&k->types, n, 1 - c->lr * mr_optim_decay_of(o, c), -c->lr * scale, w.x, c);
	return MR_OK;
}

extern const mr_optim_ops mr_optim_muon;
const mr_optim_ops mr_optim_muon = {
	.name = "muon",
	.summary = "orthogonalised momentum for hidden matrices, adamw for the rest",
	.options = options,
	.n_states = 2,
	.state_names = mr_optim_adam_states,
	.init = init,
	.fill = fill,
	.work_bytes = work_bytes,
	.step_matrix = step_matrix,
	.products = products,
};
#endif
