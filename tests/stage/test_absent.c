/* test_absent.c - what a stage does not have is NULL, and what its kernels could not compute ends its pass. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "check.h"
#include "stage/stage.h"

#define SAMPLES 3
#define COLS 5

/* Kernels of the reference, of which two are watched. */
static const mr_kernels *real;
static mr_kernels watched;
static bool loses;         /* the two have no memory from now on */
static const void *seen_y; /* of batch_norm_backward */

static mr_status sum(mr_kctx *kc, const mr_sum_args *o)
{
	return loses ? mr_fail(MR_ERESOURCE, "no memory in a test") : real->sum(kc, o);
}

static mr_status batch_norm_backward(mr_kctx *kc, const mr_batch_norm_backward_args *o)
{
	seen_y = o->y;
	return loses ? mr_fail(MR_ERESOURCE, "no memory in a test") : real->batch_norm_backward(kc, o);
}

static void watch(void)
{
	real = mr_kernels_find("reference", MR_F64);
	watched = *real;
	watched.sum = sum;
	watched.batch_norm_backward = batch_norm_backward;
	loses = false;
	seen_y = &loses;
}

static uint16_t add(mr_graph *g, const char *layer, const char *name, uint16_t a, uint16_t b)
{
	const mr_layer_ops *ops = mr_layer_find(layer);
	mr_layer_cfg cfg = {.out = strcmp(layer, "linear") ? 0 : COLS};
	uint16_t in[2] = {a, b}, out;

	CU_ASSERT_PTR_NOT_NULL_FATAL(ops);
	MR_CHECK_OK(mr_graph_add(g, ops, name, &cfg, in, ops->n_in, &out));
	return out;
}

/* 0 --> fc.0 --> 1 --> bn --> 2 --> add(2, 1) --> 3 --> loss. A stage that ends behind bn hands on 1 and then 2. */
static mr_graph *normalised(void)
{
	const mr_shape row = {.rows = 1, .cols = COLS};
	mr_graph *g;
	uint16_t x, h;

	MR_CHECK_OK(mr_graph_create(row, row, &g));
	x = add(g, "linear", "fc.0", 0, 0);
	h = add(g, "batch_norm", "bn", x, 0);
	h = add(g, "residual", "add", h, x);
	add(g, "mse", "loss", h, 0);
	MR_CHECK_OK(mr_graph_finish(g));
	return g;
}

static void *room(size_t bytes)
{
	size_t n = mr_align_up(bytes ? bytes : 1, MR_CACHE_LINE);
	void *p = aligned_alloc(MR_CACHE_LINE, n);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	memset(p, 0, n);
	return p;
}

/* A stage with everything that F and B need. */
typedef struct made {
	mr_graph *graph;
	mr_stage *stage;
	mr_stage_io io;
	double loss;
	void *memory[9];
} made;

static void make(made *m, uint32_t first, uint32_t end)
{
	const mr_stage_sizes *z;

	*m = (made){.graph = normalised()};
	MR_CHECK_OK(mr_stage_create(m->graph, first, end, SAMPLES, &watched, false, NULL, &m->stage));
	z = mr_stage_size(m->stage);
	m->io = (mr_stage_io){.in = m->memory[0] = room(z->in_bytes), .out = m->memory[1] = room(z->out_bytes),
			      .grad_out = m->memory[2] = room(z->grad_out_bytes),
			      .grad_in = m->memory[3] = room(z->grad_in_bytes),
			      .slot = m->memory[4] = room(z->slot_bytes),
			      .scratch = m->memory[5] = room(z->scratch_bytes),
			      .weights = m->memory[6] = room(z->weight_bytes),
			      .grads = m->memory[7] = room(z->grad_bytes),
			      .target = m->memory[8] = room(z->target_bytes), .loss = &m->loss, .samples = SAMPLES,
			      .train = true};
	mr_stage_init_weights(m->stage, 1, m->memory[6], NULL);
	for (size_t i = 0; i < SAMPLES * COLS; i++)
		((double *)m->memory[0])[i] = (double)(i * i % 7);
	MR_CHECK_OK(watched.ctx_create(&watched, 1, &m->io.kc));
}

static void unmake(made *m)
{
	watched.ctx_destroy(m->io.kc);
	mr_stage_destroy(m->stage);
	mr_graph_destroy(m->graph);
	for (int i = 0; i < 9; i++)
		free(m->memory[i]);
}

/* Backward has no `out`, and batch_norm without ReLU asks for no y. */
static void what_is_not_there_is_null(void)
{
	made m;

	watch();
	make(&m, 0, 2);
	MR_CHECK_OK(mr_stage_forward(m.stage, &m.io));
	m.io.out = NULL;
	MR_CHECK_OK(mr_stage_backward(m.stage, &m.io));
	CU_ASSERT_PTR_NULL(seen_y);
	unmake(&m);
}

/* A kernel that computes nothing: the pass fails, and not a later one. */
static void a_failure_ends_its_pass(void)
{
	made m;

	watch();
	make(&m, 0, 4);
	MR_CHECK_OK(mr_stage_forward(m.stage, &m.io));
	MR_CHECK_OK(mr_stage_backward(m.stage, &m.io));
	loses = true;
	MR_CHECK_FAIL(mr_stage_forward(m.stage, &m.io), MR_ERESOURCE, "no memory in a test");
	MR_CHECK_FAIL(mr_stage_backward(m.stage, &m.io), MR_ERESOURCE, "no memory in a test");
	unmake(&m);
}

void mr_suite_absent(void);

void mr_suite_absent(void)
{
	MR_SUITE("absent");
	MR_TEST(what_is_not_there_is_null);
	MR_TEST(a_failure_ends_its_pass);
}
