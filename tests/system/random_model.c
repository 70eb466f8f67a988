#include "random_model.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "blend.h"
#include "check.h"

#define SEED 11

static uint64_t model; /* the random numbers' first coordinate, and how many have been drawn */
static uint64_t drawn;

uint32_t random_below(uint32_t n)
{
	return mr_rng_u32(SEED, MR_RNG_TEST, model, 0, drawn++) % n;
}

#define VALUES 128 /* of a segment, at most: 14 layers of up to 4 outputs, a linear layer and a sum for each */

typedef struct builder {
	mr_graph *g;
	uint16_t value[VALUES]; /* of the segment in hand */
	bool read[VALUES];
	uint32_t n;
} builder;

static uint16_t add(builder *b, const char *layer, const mr_layer_cfg *cfg, const uint16_t *in)
{
	const mr_layer_ops *ops = strcmp(layer, blend.name) ? mr_layer_find(layer) : &blend;
	char name[32];
	uint16_t out;

	snprintf(name, sizeof(name), "n%u", b->g->n_nodes);
	MR_CHECK_OK(mr_graph_add(b->g, ops, name, cfg, in, ops->n_in, &out));
	return out;
}

static int64_t cols_of(const builder *b, uint16_t v)
{
	return b->g->values[v].shape.cols;
}

/* A value of the segment, more often than not one that no layer has read yet; of @cols columns, of which there is one,
 * or of any number where that is 0. */
static uint16_t pick(builder *b, int64_t cols)
{
	uint32_t i = random_below(b->n);

	for (uint32_t tries = random_below(4); b->read[i] && tries > 0; tries--)
		i = random_below(b->n);
	while (cols && cols_of(b, b->value[i]) != cols)
		i = (i + 1) % b->n;
	b->read[i] = true;
	return b->value[i];
}

/* The outputs of the node that was added last. */
static void put(builder *b)
{
	const mr_node *node = &b->g->nodes[b->g->n_nodes - 1];

	CU_ASSERT_FATAL(b->n + node->n_out <= VALUES);
	for (uint32_t i = 0; i < node->n_out; i++) {
		b->read[b->n] = false;
		b->value[b->n++] = (uint16_t)(node->out + i);
	}
}

static void random_layer(builder *b)
{
	static const char *const layers[] = {"linear",     "linear",   "residual", "residual", "residual", "split",
					     "layer_norm", "rms_norm", "dropout",  "blend",    "batch_norm"};
	const char *layer = layers[random_below(sizeof(layers) / sizeof(layers[0]))];
	mr_layer_cfg cfg = {.out = RANDOM_WIDTH, .rate = 0.25, .parts = 2};
	uint16_t in[3] = {pick(b, 0)};
	int64_t cols = cols_of(b, in[0]);

	cfg.act = (mr_act[]){MR_ACT_NONE, MR_ACT_RELU, MR_ACT_GELU}[random_below(3)];
	if (!strcmp(layer, "batch_norm") && cfg.act == MR_ACT_GELU)
		cfg.act = MR_ACT_NONE;
	if (!strcmp(layer, "split")) {
		cfg.parts = cols == RANDOM_WIDTH && random_below(3) == 0 ? RANDOM_WIDTH : 2;
		layer = cols == 1 ? "linear" : layer;
	}
	if (!strcmp(layer, "residual") || !strcmp(layer, blend.name))
		in[1] = pick(b, cols);
	if (!strcmp(layer, blend.name))
		in[2] = pick(b, cols);
	add(b, layer, &cfg, in);
	put(b);
}

/* Add a linear layer after each narrow value that no layer has read. */
static void widen(builder *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		if (b->read[i] || cols_of(b, b->value[i]) == RANDOM_WIDTH)
			continue;
		b->read[i] = true;
		add(b, "linear", &(mr_layer_cfg){.out = RANDOM_WIDTH}, &b->value[i]);
		put(b);
	}
}

/* Add up the values that no layer has read, in random order, until one value is left. */
static void close_segment(builder *b)
{
	mr_layer_cfg none = {0};

	widen(b);
	for (;;) {
		uint32_t at[VALUES], n = 0, i, j;

		for (uint32_t k = 0; k < b->n; k++)
			if (!b->read[k])
				at[n++] = k;
		if (n == 1) {
			b->value[0] = b->value[at[0]];
			break;
		}
		i = random_below(n);
		j = (i + 1 + random_below(n - 1)) % n;
		b->read[at[i]] = b->read[at[j]] = true;
		add(b, "residual", &none, (uint16_t[]){b->value[at[i]], b->value[at[j]]});
		put(b);
	}
	b->read[0] = false;
	b->n = 1;
}

static void tie(mr_graph *g)
{
	uint32_t owner = UINT32_MAX;

	for (uint32_t p = 0; p < g->n_params; p++) {
		if (g->params[p].rank != 2 || g->params[p].n != RANDOM_WIDTH * RANDOM_WIDTH)
			continue;
		if (owner == UINT32_MAX) {
			owner = p;
		} else if (random_below(3) == 0) {
			MR_CHECK_OK(mr_graph_tie(g, p, owner));
			return;
		}
	}
}

mr_graph *random_model(uint64_t number, mr_shape shape)
{
	builder b = {.n = 1};
	uint32_t segments;

	model = number;
	drawn = 0;
	segments = 1 + random_below(4);
	MR_CHECK_OK(mr_graph_create(shape, shape, &b.g));
	for (uint32_t s = 0; s < segments; s++) {
		for (uint32_t left = 1 + random_below(segments == 1 ? 13 : 7); left > 0; left--)
			random_layer(&b);
		close_segment(&b);
	}
	b.value[0] = add(&b, "linear", &(mr_layer_cfg){.out = RANDOM_WIDTH}, b.value);
	add(&b, "mse", &(mr_layer_cfg){0}, b.value);
	if (random_below(4) == 0)
		tie(b.g);
	MR_CHECK_OK(mr_graph_finish(b.g));
	return b.g;
}
