/*
 * slow_random_graphs.c - random models, cut at random points: with a stage's planned memory and shared gradient buffers
 * the gradients are those of sequential, where every tensor has a buffer of its own, to the bit.
 *
 * A model is a row of segments. Inside one, layers read any value of the segment, unread ones first; at its end
 * everything that nobody has read is added up, so one value is live there and a stage may begin. Residuals thus join
 * branches of any age, one value has many readers, and sums stand in sums. One model in four ties two weights.
 */
#include <string.h>

#include "base/rng.h"
#include "base/size.h"
#include "check.h"
#include "host/group.h"
#include "run/sequential.h"
#include "run/stage.h"

#define MODELS 5000
#define WIDTH 4
#define ROWS 2
#define SAMPLES 2
#define MICROS 3
#define STAGES 8
#define SEED 11

static uint64_t model; /* number of the model in hand: the random numbers' first coordinate */
static uint64_t drawn;

static uint32_t below(uint32_t n)
{
	return mr_rng_u32(SEED, MR_RNG_TEST, model, 0, drawn++) % n;
}

static void *room(size_t bytes)
{
	size_t n = mr_align_up(bytes ? bytes : 1, MR_CACHE_LINE);
	void *p = aligned_alloc(MR_CACHE_LINE, n);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	memset(p, 0xff, n); /* NaN */
	return p;
}

/* --- data --- */

static void sample(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	(void)d;
	for (uint64_t e = 0; e < ROWS * WIDTH; e++) {
		((double *)input)[e] = 2 * mr_rng_uniform(SEED, MR_RNG_TEST, i, 1, e) - 1;
		((double *)target)[e] = 2 * mr_rng_uniform(SEED, MR_RNG_TEST, i, 2, e) - 1;
	}
}

static const mr_dataset_ops data_ops = {.name = "random", .train = sample, .valid = sample};
static const mr_shape shape = {.rows = ROWS, .cols = WIDTH};

/* --- models --- */

typedef struct builder {
	mr_graph *g;
	uint16_t value[32]; /* of the segment in hand */
	bool read[32];
	uint32_t n;
} builder;

static uint16_t add(builder *b, const char *layer, const mr_layer_cfg *cfg, const uint16_t *in)
{
	const mr_layer_ops *ops = mr_layer_find(layer);
	char name[32];
	uint16_t out;

	snprintf(name, sizeof(name), "n%u", b->g->n_nodes);
	MR_CHECK_OK(mr_graph_add(b->g, ops, name, cfg, in, ops->n_in, &out));
	return out;
}

/* A value of the segment, more often than not one that nobody has read yet. */
static uint16_t pick(builder *b)
{
	uint32_t i = below(b->n);

	for (uint32_t tries = below(4); b->read[i] && tries > 0; tries--)
		i = below(b->n);
	b->read[i] = true;
	return b->value[i];
}

static void put(builder *b, uint16_t v)
{
	b->read[b->n] = false;
	b->value[b->n++] = v;
}

static void random_layer(builder *b)
{
	static const char *const layers[] = {"linear", "linear", "residual", "residual", "residual", "layer_norm", "dropout"};
	const char *layer = layers[below(7)];
	mr_layer_cfg cfg = {.out = WIDTH, .rate = 0.25};
	uint16_t in[2] = {pick(b), 0};

	cfg.act = (mr_act[]){MR_ACT_NONE, MR_ACT_RELU, MR_ACT_GELU}[below(3)];
	if (!strcmp(layer, "residual"))
		in[1] = pick(b);
	put(b, add(b, layer, &cfg, in));
}

/* Add up what nobody has read, in random order, until one value is left. */
static void close_segment(builder *b)
{
	mr_layer_cfg none = {0};

	for (;;) {
		uint32_t at[32], n = 0, i, j;

		for (uint32_t k = 0; k < b->n; k++)
			if (!b->read[k])
				at[n++] = k;
		if (n == 1) {
			b->value[0] = b->value[at[0]];
			break;
		}
		i = below(n);
		j = (i + 1 + below(n - 1)) % n;
		b->read[at[i]] = b->read[at[j]] = true;
		put(b, add(b, "residual", &none, (uint16_t[]){b->value[at[i]], b->value[at[j]]}));
	}
	b->read[0] = false;
	b->n = 1;
}

static void tie(mr_graph *g)
{
	uint32_t owner = UINT32_MAX;

	for (uint32_t p = 0; p < g->n_params; p++) {
		if (g->params[p].rank != 2)
			continue;
		if (owner == UINT32_MAX) {
			owner = p;
		} else if (below(3) == 0) {
			MR_CHECK_OK(mr_graph_tie(g, p, owner));
			return;
		}
	}
}

static mr_graph *random_model(void)
{
	builder b = {.n = 1};
	uint32_t segments = 1 + below(4);

	MR_CHECK_OK(mr_graph_create(shape, shape, &b.g));
	for (uint32_t s = 0; s < segments; s++) {
		for (uint32_t left = 1 + below(7); left > 0; left--)
			random_layer(&b);
		close_segment(&b);
	}
	b.value[0] = add(&b, "linear", &(mr_layer_cfg){.out = WIDTH}, b.value);
	add(&b, "mse", &(mr_layer_cfg){0}, b.value);
	if (below(4) == 0)
		tie(b.g);
	MR_CHECK_OK(mr_graph_finish(b.g));
	return b.g;
}

/* --- stages --- */

typedef struct chain {
	const mr_graph *g;
	const mr_kernels *k;
	uint32_t n;                 /* stages */
	uint32_t first[STAGES + 1]; /* nodes */
	bool split;
	mr_stage *stage[STAGES];
	void *weights[STAGES], *grads[STAGES], *scratch[STAGES];
	void *in[MICROS][STAGES + 1], *grad[MICROS][STAGES + 1], *slot[MICROS][STAGES], *target[MICROS];
	double loss[MICROS];
	mr_status status;
	char text[256];
} chain;

static void cut(chain *c)
{
	c->n = 1;
	for (uint32_t i = 1; i < c->g->n_nodes && c->n < STAGES; i++)
		if (mr_graph_cut_ok(c->g, i) && below(2))
			c->first[c->n++] = i;
	c->first[c->n] = c->g->n_nodes;
}

/* The stage that stores what stage @s shares: itself, unless it ties a weight to an earlier one. */
static uint32_t owner_of(const chain *c, uint32_t s)
{
	for (uint32_t p = 0; p < c->g->n_params; p++) {
		uint32_t user = c->g->params[p].node, owner, o = 0;

		if (c->g->params[p].tied_to < 0 || user < c->first[s] || user >= c->first[s + 1])
			continue;
		owner = c->g->params[c->g->params[p].tied_to].node;
		while (owner >= c->first[o + 1])
			o++;
		return o;
	}
	return s;
}

static void make_chain(chain *c)
{
	for (uint32_t s = 0; s < c->n; s++) {
		uint32_t o = owner_of(c, s);
		const mr_stage_sizes *z;

		MR_CHECK_OK(mr_stage_create(c->g, c->first[s], c->first[s + 1], SAMPLES, c->k, c->split,
					    o < s ? c->stage[o] : NULL, &c->stage[s]));
		z = mr_stage_size(c->stage[s]);
		c->weights[s] = room(z->weight_bytes);
		c->grads[s] = room(z->grad_bytes);
		c->scratch[s] = room(z->scratch_bytes);
		mr_stage_init_weights(c->stage[s], SEED, c->weights[s]);
		for (uint32_t m = 0; m < MICROS; m++) {
			c->in[m][s] = room(z->in_bytes);
			c->grad[m][s] = room(z->grad_in_bytes);
			c->slot[m][s] = room(z->slot_bytes);
		}
	}
	for (uint64_t m = 0; m < MICROS; m++) {
		c->target[m] = room(SAMPLES * mr_shape_bytes(shape, c->k->dtype));
		for (uint64_t i = 0; i < SAMPLES; i++)
			sample(NULL, m * SAMPLES + i, (double *)c->in[m][0] + i * ROWS * WIDTH,
			       (double *)c->target[m] + i * ROWS * WIDTH);
	}
}

static void free_chain(chain *c)
{
	for (uint32_t s = 0; s < c->n; s++) {
		mr_stage_destroy(c->stage[s]);
		free(c->weights[s]);
		free(c->grads[s]);
		free(c->scratch[s]);
		for (uint32_t m = 0; m < MICROS; m++) {
			free(c->in[m][s]);
			free(c->grad[m][s]);
			free(c->slot[m][s]);
		}
	}
	for (uint32_t m = 0; m < MICROS; m++)
		free(c->target[m]);
}

typedef mr_status pass(const mr_stage *s, const mr_stage_io *io);

static mr_status one(chain *c, mr_kctx *kc, pass *fn, uint32_t m, uint32_t s)
{
	bool last = s + 1 == c->n;
	mr_stage_io io = {
		.kc = kc,
		.in = c->in[m][s],
		.out = last ? NULL : c->in[m][s + 1],
		.grad_out = last ? NULL : c->grad[m][s + 1],
		.grad_in = s ? c->grad[m][s] : NULL,
		.slot = c->slot[m][s],
		.scratch = c->scratch[s],
		.weights = c->weights[s],
		.tied_weights = c->weights[owner_of(c, s)],
		.grads = c->grads[s],
		.add_grads = m > 0,
		.target = last ? c->target[m] : NULL,
		.loss = &c->loss[m],
		.samples = SAMPLES,
		.train = true,
		.seed = SEED,
		.first_sample = (uint64_t)m * SAMPLES,
	};

	memset(c->scratch[s], 0xff, mr_stage_size(c->stage[s])->scratch_bytes);
	return fn(c->stage[s], &io);
}

static mr_status each(chain *c, mr_kctx *kc, pass *fn, bool backwards)
{
	for (uint32_t m = 0; m < MICROS; m++)
		for (uint32_t i = 0; i < c->n; i++)
			MR_TRY(one(c, kc, fn, m, backwards ? c->n - 1 - i : i));
	return MR_OK;
}

static mr_status all(chain *c, mr_kctx *kc)
{
	MR_TRY(each(c, kc, mr_stage_forward, false));
	MR_TRY(each(c, kc, c->split ? mr_stage_backward_input : mr_stage_backward, true));
	if (c->split)
		MR_TRY(each(c, kc, mr_stage_backward_weight, true));
	for (uint32_t s = 0; s < c->n; s++) {
		uint32_t o = owner_of(c, s);

		mr_stage_sum_tied_from(c->stage[o], kc, c->grads[o], c->stage[s], c->grads[s]);
	}
	return MR_OK;
}

static void thread(void *arg)
{
	chain *c = arg;
	mr_kctx *kc = NULL;

	c->status = c->k->ctx_create(1, &kc);
	if (c->status == MR_OK)
		c->status = all(c, kc);
	if (c->status != MR_OK)
		snprintf(c->text, sizeof(c->text), "%s", mr_error_text());
	c->k->ctx_destroy(kc);
}

/* --- comparing --- */

static void print_model(const chain *c)
{
	fprintf(stderr, "\nmodel %llu%s:\n", (unsigned long long)model, c->split ? ", halves apart" : "");
	for (uint32_t i = 0, s = 0; i < c->g->n_nodes; i++) {
		const mr_node *nd = &c->g->nodes[i];

		if (s + 1 < c->n && c->first[s + 1] == i)
			fprintf(stderr, "  stage %u\n", ++s);
		fprintf(stderr, "  %s %s(%u", nd->name, nd->ops->name, nd->in[0]);
		fprintf(stderr, nd->n_in > 1 ? ", %u)" : ")", nd->in[1]);
		fprintf(stderr, " -> %u\n", nd->out);
	}
}

static bool equals(const chain *c, mr_sequential *q)
{
	const double *loss = mr_sequential_losses(q);

	for (uint32_t m = 0; m < MICROS; m++)
		if (c->loss[m] != loss[m]) {
			print_model(c);
			fprintf(stderr, "loss %.17g of micro-batch %u, sequential has %.17g\n", c->loss[m], m, loss[m]);
			return false;
		}
	for (uint32_t p = 0, s = 0; p < c->g->n_params; p++) {
		const mr_param *param = &c->g->params[p];
		const char *mine;

		while (param->node >= c->first[s + 1])
			s++;
		mine = (const char *)c->grads[s] + mr_stage_grad_at(c->stage[s], p);
		if (memcmp(mine, mr_sequential_grads(q, p), (size_t)param->n * mr_dtype_bytes(c->k->dtype))) {
			print_model(c);
			fprintf(stderr, "the gradient of %s differs\n", param->name);
			return false;
		}
	}
	return true;
}

static void check(const mr_sequential_config *sc, bool split, mr_sequential *q, const chain *where)
{
	chain c = *where;
	mr_group *group;

	c.split = split;
	make_chain(&c);
	MR_CHECK_OK(mr_group_start(sc->place, "mr-graph", thread, &c, &group));
	mr_group_join(group);
	if (c.status != MR_OK)
		fprintf(stderr, "\n%s\n", c.text);
	CU_ASSERT_EQUAL_FATAL(c.status, MR_OK);
	CU_ASSERT_FATAL(equals(&c, q));
	free_chain(&c);
}

static void random_graphs(void)
{
	mr_dataset data = {.ops = &data_ops, .input = shape, .target = shape, .n_train = 100};
	mr_place_worker place = {.n_threads = 1, .cpu = (uint32_t[]){0}};
	mr_lr lr = {.kind = MR_LR_CONSTANT, .base = 0};
	mr_optim optim = {.ops = mr_optim_find("sgd")};
	uint32_t most_stages = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(optim.ops);
	for (model = 0; model < MODELS; model++) {
		mr_sequential_config sc = {
			.kernels = mr_kernels_find("reference", MR_F64),
			.data = &data,
			.optim = &optim,
			.lr = &lr,
			.place = &place,
			.seed = SEED,
			.samples = SAMPLES,
			.n_micro = MICROS,
			.clip = 1e300, /* nothing is that large, but the whole gradient must be there for its norm */
		};
		chain c = {.k = sc.kernels};
		mr_sequential *q;
		mr_graph *g;
		uint64_t reached;

		drawn = 0;
		sc.graph = c.g = g = random_model();
		cut(&c);
		most_stages = c.n > most_stages ? c.n : most_stages;
		MR_CHECK_OK(mr_sequential_create(&sc, &q));
		MR_CHECK_OK(mr_sequential_run(q, 1, NULL, NULL, &reached));
		check(&sc, false, q, &c);
		check(&sc, true, q, &c);
		mr_sequential_destroy(q);
		mr_graph_destroy(g);
	}
	CU_ASSERT(most_stages > 4);
}

void mr_suite_random_graphs(void)
{
	MR_SUITE("random_graphs");
	MR_TEST(random_graphs);
}
