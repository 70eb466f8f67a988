/* test_boundary.c - what crosses from one stage to the next: which values, at which offsets, with which gradients. */
#include "stage/boundary.h"

#include "base/size.h"
#include "check.h"
#include "stage/stage.h"

static uint16_t add(mr_graph *g, const char *layer, const char *name, mr_layer_cfg cfg, uint16_t a, uint16_t b)
{
	const mr_layer_ops *ops = mr_layer_find(layer);
	uint16_t in[2] = {a, b}, out;

	CU_ASSERT_PTR_NOT_NULL_FATAL(ops);
	MR_CHECK_OK(mr_graph_add(g, ops, name, &cfg, in, ops->n_in, &out));
	return out;
}

/*
 * The model's input is read again at the end, so it crosses every boundary, without a gradient:
 *	0 --> fc.0 --> 1 --> fc.1 --> 2 --> add(2, 1) --> 3 --> add(3, 0) --> 4 --> loss
 */
static mr_graph *branched(void)
{
	const mr_shape row = {.rows = 1, .cols = 5};
	mr_graph *g;
	uint16_t x, h;

	MR_CHECK_OK(mr_graph_create(row, row, &g));
	x = add(g, "linear", "fc.0", (mr_layer_cfg){.out = 5}, 0, 0);
	h = add(g, "linear", "fc.1", (mr_layer_cfg){.out = 5}, x, 0);
	h = add(g, "residual", "add.0", (mr_layer_cfg){0}, h, x);
	h = add(g, "residual", "add.1", (mr_layer_cfg){0}, h, 0);
	add(g, "mse", "loss", (mr_layer_cfg){0}, h, 0);
	MR_CHECK_OK(mr_graph_finish(g));
	return g;
}

static void values_that_cross_lie_in_ascending_order(void)
{
	static const struct {
		uint32_t node, n;
		uint16_t value[3];
	} cases[] = {{0, 1, {0}}, {1, 2, {0, 1}}, {2, 3, {0, 1, 2}}, {3, 2, {0, 3}}, {5, 0, {0}}};
	const size_t each = mr_align_up(2 * 5 * sizeof(double), MR_CACHE_LINE);
	mr_graph *g = branched();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t grads = 0;
		mr_boundary b;

		MR_CHECK_OK(mr_boundary_make(g, cases[i].node, 2, MR_F64, &b));
		CU_ASSERT_EQUAL_FATAL(b.n, cases[i].n);
		for (uint32_t k = 0; k < b.n; k++) {
			CU_ASSERT_EQUAL(b.part[k].value, cases[i].value[k]);
			CU_ASSERT_EQUAL(b.part[k].at, k * each);
			CU_ASSERT_EQUAL(b.part[k].grad_at, b.part[k].value ? grads++ * each : MR_NO_GRAD);
			CU_ASSERT_PTR_EQUAL(mr_boundary_find(&b, b.part[k].value), &b.part[k]);
		}
		/* The last tensor ends where its bytes end: with one value the boundary is that tensor alone. */
		CU_ASSERT_EQUAL(b.bytes, b.n ? (b.n - 1) * each + 2 * 5 * sizeof(double) : 0);
		CU_ASSERT_EQUAL(b.grad_bytes, grads ? (grads - 1) * each + 2 * 5 * sizeof(double) : 0);
		CU_ASSERT_PTR_NULL(mr_boundary_find(&b, 4));
		mr_boundary_fini(&b);
		CU_ASSERT_TRUE(b.n == 0 && b.part == NULL);
	}
	mr_graph_destroy(g);
}

/* Two stages see the same boundary, and so do their sizes. */
static void neighbours_agree(void)
{
	const mr_kernels *k = mr_kernels_find("reference", MR_F32);
	mr_graph *g = branched();

	for (uint32_t cut = 1; cut < 5; cut++) {
		mr_stage *front, *back;
		mr_boundary b;

		if (!mr_graph_cut_ok(g, cut))
			continue;
		MR_CHECK_OK(mr_boundary_make(g, cut, 3, MR_F32, &b));
		MR_CHECK_OK(mr_stage_create(g, 0, cut, 3, k, false, NULL, &front));
		MR_CHECK_OK(mr_stage_create(g, cut, g->n_nodes, 3, k, false, NULL, &back));
		CU_ASSERT_EQUAL(mr_stage_size(front)->out_bytes, b.bytes);
		CU_ASSERT_EQUAL(mr_stage_size(back)->in_bytes, b.bytes);
		CU_ASSERT_EQUAL(mr_stage_size(front)->grad_out_bytes, b.grad_bytes);
		CU_ASSERT_EQUAL(mr_stage_size(back)->grad_in_bytes, b.grad_bytes);
		CU_ASSERT_EQUAL(mr_stage_size(front)->grad_in_bytes, 0); /* the model's input */
		CU_ASSERT_EQUAL(mr_stage_size(back)->out_bytes, 0);
		mr_stage_destroy(front);
		mr_stage_destroy(back);
		mr_boundary_fini(&b);
	}
	mr_graph_destroy(g);
}

void mr_suite_boundary(void)
{
	MR_SUITE("boundary");
	MR_TEST(values_that_cross_lie_in_ascending_order);
	MR_TEST(neighbours_agree);
}
