/*
 * test_fused_backward.c - layers whose backward also computes the dz of the activation before them (fuse_act_backward,
 * planner/graph.h): training with and without this gives the same bits, and takes no more memory.
 */
#include "check.h"
#include "rig.h"

/* Fuse no act_backward; returns how many were fused. */
static uint32_t take_apart(const mr_graph *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_nodes; i++) {
		n += g->nodes[i].fuse_act_backward;
		g->nodes[i].fuse_act_backward = false;
	}
	return n;
}

static void open_rig(const char *sets, rig *r)
{
	rig_init(r);
	rig_sets(r, sets);
	rig_open(r);
}

static void train(const char *sets, uint32_t apart, rig_result *out)
{
	rig r;

	open_rig(sets, &r);
	if (apart)
		CU_ASSERT_EQUAL(take_apart(r.s.graph), apart);
	rig_train(&r, 5, true, out);
	rig_fini(&r);
}

/* The stages of more than one worker begin between two linear layers here and there: those are apart in any case. */
static void the_bits_are_those_of_activations_apart(void)
{
	static const char *const systems[] = {"system.name=sequential", "system.name=1f1b machine.workers=3",
					      "system.name=gpipe machine.workers=2 system.recompute=always",
					      "system.name=pipedream train.microbatches=1 machine.workers=2",
					      "system.name=zb_h1 machine.workers=2"};
	static const char *const backends[] = {"backend=auto precision=f32", "backend=reference precision=f32",
					       "backend=reference precision=f64"};
	char sets[200];

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		for (size_t j = 0; j < 6; j++) {
			rig_result together = {0}, apart = {0};

			if (j % 3 == 0 && !mr_kernels_find("auto", MR_F32))
				continue;
			snprintf(sets, sizeof(sets), "model.depth=5 model.activation=%s %s %s", j < 3 ? "relu" : "gelu",
				 systems[i], backends[j % 3]);
			train(sets, 0, &together);
			train(sets, 5, &apart);
			CU_ASSERT(rig_equal(&together, &apart, true, sets));
			rig_result_fini(&together);
			rig_result_fini(&apart);
		}
}

static void memory_does_not_grow(void)
{
	for (int split = 0; split < 2; split++) {
		uint64_t together[2], apart[2];
		rig r;

		open_rig("model.depth=5 model.activation=gelu system.name=sequential", &r);
		rig_memory(&r, split, together);
		CU_ASSERT_EQUAL(take_apart(r.s.graph), 5);
		rig_memory(&r, split, apart);
		for (int i = 0; i < 2; i++)
			CU_ASSERT(together[i] <= apart[i]);
		rig_fini(&r);
	}
}

void mr_suite_fused_backward(void);

void mr_suite_fused_backward(void)
{
	MR_SUITE("fused_backward");
	MR_TEST(the_bits_are_those_of_activations_apart);
	MR_TEST(memory_does_not_grow);
}
