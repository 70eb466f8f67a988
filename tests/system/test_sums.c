/*
 * test_sums.c - sums that the layer in front computes (planner/graph.h): training with them and without gives the same
 * bits, and takes no more memory.
 */
#include "check.h"
#include "rig.h"

/* Every sum for itself; returns how many there were that another layer would have computed. */
static uint32_t take_apart(const mr_graph *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_nodes; i++) {
		n += g->nodes[i].added;
		g->nodes[i].addend = MR_GRAPH_NO_VALUE;
		g->nodes[i].added = false;
	}
	return n;
}

static void open_gpt(const char *sets, rig *r)
{
	rig_init(r);
	rig_gpt(r);
	rig_sets(r, "model.layers=3");
	rig_sets(r, sets);
	rig_open(r);
}

static void train(const char *sets, uint32_t apart, rig_result *out)
{
	rig r;

	open_gpt(sets, &r);
	if (apart)
		CU_ASSERT_EQUAL(take_apart(r.s.graph), apart);
	rig_train(&r, 5, true, out);
	rig_fini(&r);
}

/* @sums: of a branch that ends in a linear layer. */
static void compare(const char *sets, uint32_t sums)
{
	rig_result together = {0}, apart = {0};

	train(sets, 0, &together);
	train(sets, sums, &apart);
	CU_ASSERT(rig_equal(&together, &apart, true, sets));
	rig_result_fini(&together);
	rig_result_fini(&apart);
}

static void the_bits_are_those_of_sums_apart(void)
{
	static const char *const systems[] = {
		"system.name=sequential", "system.name=sequential train.microbatches=1 model.tied=true",
		"system.name=1f1b machine.workers=3", "system.name=gpipe machine.workers=2",
		"system.name=pipedream train.microbatches=1 machine.workers=2", "system.name=zb_h1 machine.workers=2"};
	static const char *const backends[] = {"backend=auto precision=f32", "backend=reference precision=f32",
					       "backend=reference precision=f64"};
	char sets[200];

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		for (size_t j = mr_kernels_find("auto", MR_F32) ? 0 : 1; j < 3; j++) {
			snprintf(sets, sizeof(sets), "%s %s", systems[i], backends[j]);
			compare(sets, 6);
		}
	compare("system.name=gpipe machine.workers=2 system.recompute=always", 6);
}

/* Dropout stands between a branch and its sum. */
static void nothing_is_added_through_dropout(void)
{
	rig r;

	open_gpt("system.name=sequential model.dropout=0.1", &r);
	CU_ASSERT_EQUAL(take_apart(r.s.graph), 0);
	rig_fini(&r);
}

/* The output of the layer in front is nowhere, and the sum, which is there a layer sooner, costs nothing beyond that.
 */
static void memory_does_not_grow(void)
{
	uint64_t together[2], apart[2];
	rig r;

	open_gpt("system.name=sequential", &r);
	rig_memory(&r, false, together);
	CU_ASSERT_EQUAL(take_apart(r.s.graph), 6);
	rig_memory(&r, false, apart);
	for (int i = 0; i < 2; i++)
		CU_ASSERT(together[i] <= apart[i]);
	rig_fini(&r);
}

void mr_suite_sums(void);

void mr_suite_sums(void)
{
	MR_SUITE("sums");
	MR_TEST(the_bits_are_those_of_sums_apart);
	MR_TEST(nothing_is_added_through_dropout);
	MR_TEST(memory_does_not_grow);
}
