/*
 * test_decoder.c - a text token by token against the same text by whole windows: networks, precisions, backends,
 * threads and lengths around the window. Greedy and drawn tokens must be the same wherever the whole decides clearly.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "check.h"
#include "job/job_help.h"
#include "nn/element.h"
#include "session/decoder.h"

#define MOST 40 /* tokens */
#define BASE                                                                                                          \
	"model.name=%s model.layers=2 model.width=%d model.embed=24 model.heads=4 model.kv_heads=2 "                   \
	"model.context=%d data.name=text data.path=%s optimizer.name=sgd system.name=sequential train.steps=2 "       \
	"train.batch=2 train.microbatches=1 optimizer.lr=0.01 machine.workers=1 machine.threads=%d backend=%s "       \
	"precision=%s"

static char text_path[64];

static void write_text(void)
{
	FILE *f;
	int fd;

	strcpy(text_path, "/tmp/mr-decoder-XXXXXX");
	fd = mkstemp(text_path);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (int i = 0; i < 100; i++)
		fputs("the quick brown fox jumps over a lazy dog\n", f);
	CU_ASSERT_EQUAL_FATAL(fclose(f), 0);
}

/* --- a model with weights at random ------------------------------------------------------------------------------- */

typedef struct model {
	mr_session s;
	mr_job job;
	mr_graph *own; /* of the test; NULL: the session's */
	mr_graph *kept;
	mr_state_list weights;
} model;

static void make_weights(model *m, uint64_t seed)
{
	const mr_graph *g = m->s.graph;
	mr_dtype type = m->s.kernels->types.weights;

	m->weights = (mr_state_list){.at = calloc(g->n_params, sizeof(*m->weights.at))};
	for (uint32_t p = 0; p < g->n_params; p++) {
		const mr_param *from = &g->params[p];
		mr_saved_tensor *t = &m->weights.at[m->weights.n];
		double scale = from->rank > 1 ? 2 / sqrt((double)from->dim[0] + (double)from->dim[1]) : 0.3;
		double mean = from->init == MR_INIT_ONE ? 1 : 0;

		if (from->tied_to >= 0)
			continue;
		m->weights.n++;
		*t = (mr_saved_tensor){.name = from->name, .bytes = (uint64_t)from->n * mr_dtype_bytes(type)};
		t->data = malloc(t->bytes);
		if (strstr(from->name, "embed") || strstr(from->name, "wte") || strstr(from->name, "encoder"))
			scale = 1;
		for (int64_t i = 0; i < from->n; i++)
			mr_element_put(type, t->data, i,
				       mean + scale * mr_rng_normal(seed, MR_RNG_TEST, p, 0, (uint64_t)i));
	}
}

/* Two GRU layers, or of the layer called @name. */
static void replace_graph(model *m, const char *name)
{
	const mr_graph *g = m->s.graph;
	int64_t vocab = m->s.data->classes;
	mr_layer_cfg embed = {.out = 24, .vocab = vocab}, cell = {.out = 24}, head = {.out = vocab};
	uint16_t x = 0;

	MR_CHECK_OK(mr_graph_create(g->input, g->target, &m->own));
	MR_CHECK_OK(mr_graph_add(m->own, mr_layer_find("embedding"), "embed", &embed, &x, 1, &x));
	MR_CHECK_OK(mr_graph_add(m->own, mr_layer_find(name), "first", &cell, &x, 1, &x));
	MR_CHECK_OK(mr_graph_add(m->own, mr_layer_find(name), "second", &cell, &x, 1, &x));
	MR_CHECK_OK(mr_graph_add(m->own, mr_layer_find("linear"), "head", &head, &x, 1, &x));
	MR_CHECK_OK(mr_graph_add(m->own, mr_layer_find("softmax_xent"), "loss", &(mr_layer_cfg){0}, &x, 1, NULL));
	MR_CHECK_OK(mr_graph_finish(m->own));
	m->kept = m->s.graph;
	m->s.graph = m->own;
}

typedef struct network {
	const char *name, *sets, *layer; /* layer: see replace_graph */
} network;

static const network networks[] = {
	{"gpt", "", NULL},
	{"gpt", "model.tied=true model.dropout=0.1", NULL},
	{"llama", "", NULL},
	{"llama", "model.kv_heads=4 model.bias=attention model.tied=true", NULL},
	{"awd_lm", "model.tied=true model.weight_dropout=0.2", NULL},
	{"awd_lm", "model.tied=false data.order=columns model.alpha=1 model.beta=1", NULL},
	{"awd_lm", "", "gru"},
};

enum { NETWORKS = sizeof(networks) / sizeof(networks[0]) };

static void open_model(model *m, const network *n, int width, int context, int threads, const char *backend,
		       const char *precision, uint64_t seed)
{
	char text[800];

	*m = (model){0};
	snprintf(text, sizeof(text), BASE, n->name, width, context, text_path, threads, backend, precision);
	mr_test_job_of(&m->job, text, n->sets);
	MR_CHECK_OK(mr_session_survey(&m->job, &m->s));
	if (n->layer)
		replace_graph(m, n->layer);
	make_weights(m, seed);
}

static void close_model(model *m)
{
	for (size_t i = 0; i < m->weights.n; i++)
		free(m->weights.at[i].data);
	free(m->weights.at);
	if (m->own) {
		m->s.graph = m->kept;
		mr_graph_destroy(m->own);
	}
	mr_session_close(&m->s);
	mr_job_fini(&m->job);
}

/* --- comparisons -------------------------------------------------------------------------------------------------- */

/* The token that is drawn with the random number @u, and how far it is from being another one. */
static int32_t drawn(const double *p, int64_t n, double u, double *clear)
{
	double sum = 0, at = 0;

	for (int64_t i = 0; i < n; i++)
		sum += exp(p[i] - p[0]);
	for (int64_t i = 0; i < n; i++) {
		double next = at + exp(p[i] - p[0]) / sum;

		*clear = fmin(u - at, next - u);
		if (u < next || i + 1 == n)
			return (int32_t)i;
		at = next;
	}
	return 0;
}

static int32_t greedy(const double *p, int64_t n, double *clear)
{
	int32_t best = 0;

	for (int32_t i = 1; i < n; i++)
		if (p[i] > p[best])
			best = i;
	*clear = INFINITY;
	for (int32_t i = 0; i < n; i++)
		if (i != best)
			*clear = fmin(*clear, p[best] - p[i]);
	return best;
}

static void wide(const model *m, const void *logits, double *p)
{
	for (int64_t i = 0; i < m->s.data->classes; i++)
		p[i] = mr_element(m->s.kernels->types.activations, logits, i);
}

/* Largest difference by the largest logit. */
static double apart(const double *a, const double *b, int64_t n)
{
	double worst = 0, top = 0;

	for (int64_t i = 0; i < n; i++) {
		worst = isfinite(a[i]) ? fmax(worst, fabs(a[i] - b[i])) : INFINITY;
		top = fmax(top, fabs(b[i]));
	}
	return worst / top;
}

/* Writes @n tokens behind a prompt of @prompt by both, and compares each, also beyond the window. */
static void compare(model *m, int64_t prompt, int64_t n, double tolerance, uint64_t seed)
{
	int64_t vocab = m->s.data->classes, context = m->s.graph->input.rows;
	double p[64], q[64], clear, top;
	int32_t text[MOST];
	mr_decoder *one, *all;
	const void *logits;

	CU_ASSERT_FATAL(vocab <= 64 && n <= MOST);
	MR_CHECK_OK(mr_decoder_create(&m->s, &m->weights, false, &one));
	MR_CHECK_OK(mr_decoder_create(&m->s, &m->weights, true, &all));
	for (int64_t i = 0; i < prompt; i++)
		text[i] = (int32_t)(mr_rng_u32(seed, MR_RNG_TEST, 99, 0, (uint64_t)i) % (uint64_t)vocab);
	for (int64_t i = prompt; i < n; i++) {
		double u = mr_rng_uniform(seed, MR_RNG_TEST, 98, 0, (uint64_t)i);
		int32_t next;

		MR_CHECK_OK(mr_decoder_next(all, text, i, &logits));
		wide(m, logits, q);
		MR_CHECK_OK(mr_decoder_next(one, text, i, &logits));
		wide(m, logits, p);
		top = fmax(fabs(q[0]), fabs(q[greedy(q, vocab, &clear)]));
		if (apart(p, q, vocab) > tolerance)
			fprintf(stderr, "\n%s: %lld of %lld behind %lld: %g apart\n", m->job.model.name, (long long)i,
				(long long)context, (long long)prompt, apart(p, q, vocab));
		CU_ASSERT(apart(p, q, vocab) <= tolerance);
		next = greedy(q, vocab, &clear);
		if (clear > 2 * tolerance * top)
			CU_ASSERT_EQUAL(greedy(p, vocab, &clear), next);
		next = drawn(q, vocab, u, &clear);
		if (clear > 4 * tolerance * top)
			CU_ASSERT_EQUAL(drawn(p, vocab, u, &clear), next);
		text[i] = next;
	}
	mr_decoder_destroy(one);
	mr_decoder_destroy(all);
}

static const struct {
	const char *precision, *backend;
	double tolerance;
} kinds[] = {
	{"f64", "reference", 1e-13}, {"f32", "reference", 1e-5}, {"f32", "auto", 1e-5}, {"f32", "fused", 1e-5},
	{"f32", "onednn", 1e-5},     {"bf16", "auto", 0.05},     {"bf16", "fused", 0.05}, {"bf16_pure", "auto", 0.05},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void every_network(void)
{
	for (int n = 0; n < NETWORKS; n++)
		for (int k = 0; k < KINDS; k++) {
			model m;

			open_model(&m, &networks[n], 24, 12, 1 + k % 2, kinds[k].backend, kinds[k].precision, 5);
			compare(&m, 3, 16, kinds[k].tolerance, 7);
			compare(&m, 1, 3, kinds[k].tolerance, 8);
			compare(&m, 12, 14, kinds[k].tolerance, 9); /* the window is full at once */
			close_model(&m);
		}
}

/* By a seed: network, precision, width, window, threads, prompt. MR_DECODER_PAIRS: how many. */
static void random_pairs(void)
{
	const char *more = getenv("MR_DECODER_PAIRS"), *from = getenv("MR_DECODER_SEED");
	uint64_t seed = from ? strtoull(from, NULL, 10) : 1;
	int pairs = more ? atoi(more) : MR_SANITIZED ? 10 : 40;

	for (int i = 0; i < pairs; i++) {
		uint32_t x[6];
		model m;
		int context, k;

		for (uint32_t j = 0; j < 6; j++)
			x[j] = mr_rng_u32(seed, MR_RNG_TEST, 97, j, (uint64_t)i);
		k = (int)(x[1] % KINDS);
		context = 2 + (int)(x[2] % 30);
		open_model(&m, &networks[x[0] % NETWORKS], 8 * (1 + (int)(x[3] % 9)), context, 1 + (int)(x[4] % 2),
			   kinds[k].backend, kinds[k].precision, x[5]);
		compare(&m, 1 + x[5] % (uint32_t)(context + 2), context + 4, kinds[k].tolerance, x[5]);
		close_model(&m);
	}
}

/* A text that is not the one before and a token more begins again. */
static void other_texts(void)
{
	static const int32_t first[] = {1, 2, 3, 4, 5}, other[] = {7, 3, 1, 1, 9, 2};
	static const int64_t before[] = {5, 2, 3, 1};
	const void *logits;
	double want[64], got[64];
	mr_decoder *d;
	model m;

	open_model(&m, &networks[2], 24, 12, 1, "auto", "f32", 5);
	MR_CHECK_OK(mr_decoder_create(&m.s, &m.weights, false, &d));
	MR_CHECK_OK(mr_decoder_next(d, other, 3, &logits));
	wide(&m, logits, want);
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		MR_CHECK_OK(mr_decoder_next(d, first, before[i], &logits));
		MR_CHECK_OK(mr_decoder_next(d, other, 3, &logits));
		wide(&m, logits, got);
		CU_ASSERT_EQUAL(memcmp(want, got, (size_t)m.s.data->classes * sizeof(*got)), 0);
	}
	mr_decoder_destroy(d);
	close_model(&m);
}

/* The weights of another model are refused. */
static void other_weights(void)
{
	mr_decoder *d = NULL;
	model m;

	open_model(&m, &networks[0], 24, 12, 1, "auto", "f32", 5);
	m.weights.at[2].bytes--;
	MR_CHECK_FAIL(mr_decoder_create(&m.s, &m.weights, false, &d), MR_EINVAL, "not those of this model");
	close_model(&m);
}

static void remove_text(void)
{
	CU_ASSERT_EQUAL(unlink(text_path), 0);
}

void mr_suite_decoder(void);

void mr_suite_decoder(void)
{
	MR_SUITE("decoder");
	MR_TEST(write_text);
	MR_TEST(every_network);
	MR_TEST(random_pairs);
	MR_TEST(other_texts);
	MR_TEST(other_weights);
	MR_TEST(remove_text);
}
