/* test_equal_sync.c - a few synchronous runs against sequential training; slow_equal_sync_all.c has the grid,
 * slow_equal_networks.c more networks. */
#include <string.h>

#include "check.h"
#include "oracle.h"
#include "rig.h"
#include "sync_cases.h"
#include "sync_networks.h"

/* Deep enough for several stages on each of four workers, and as many micro-batches as any system asks for. */
#define MLP "model.depth=16 model.width=8 train.batch=8 train.microbatches=8 "
#define GPT "model.layers=12 model.width=8 model.heads=1 model.context=4 train.batch=8 train.microbatches=8 "

static void mlp(void)
{
	sync_case_check(&(sync_case){"backend=reference precision=f64", false, MLP "optimizer.name=momentum", 4,
				     1 << 2 | 1 << 3, false});
}

/* An optimizer of whole matrices, which never steps inside a backward pass. */
static void mlp_muon(void)
{
	sync_case_check(&(sync_case){"backend=reference precision=f64", false,
				     MLP "optimizer.name=muon optimizer.weight_decay=0.1", 2, 1 << 2, false});
}

/* Running statistics are compared as well, and read by the evaluation. */
static void mlp_batch_norm(void)
{
	sync_case_check(&(sync_case){"backend=reference precision=f64", false,
				     "model.depth=16 model.width=8 model.norm=batch train.batch=24 "
				     "train.microbatches=8 optimizer.name=momentum",
				     3, 1 << 2 | 1 << 4, false});
}

static void mlp_clipped(void)
{
	sync_case_check(&(sync_case){"backend=reference precision=f32", false, MLP "train.clip=0.1", 4, 1 << 4, false});
}

static void gpt_tied(void)
{
	sync_case_check(&(sync_case){"backend=reference precision=f32", true,
				     GPT "model.tied=true model.dropout=0.2 train.clip=0.5", 2,
				     1 << 1 | 1 << 2 | 1 << 3, false});
}

/* Each network over tokens, f64 and as users run it. */
static void networks(void)
{
	const char *network;
	char sets[500];

	for (size_t i = 0; (network = rig_network(i)); i++) {
		snprintf(sets, sizeof(sets), "%s train.batch=8 train.microbatches=8 train.clip=0.5", network);
		sync_case_check(&(sync_case){"backend=reference precision=f64", true, sets, 2, 1 << 2 | 1 << 3, false});
		snprintf(sets, sizeof(sets), "%s train.batch=8 train.microbatches=4", network);
		if (sync_dnnl())
			sync_case_system(&(sync_case){sync_dnnl(), true, sets, 3, 0, false}, "system.name=1f1b", 2);
	}
}

/* Versions in bf16, masters in f32: the state that is compared has what the masters are beyond the versions. */
static void mlp_bf16(void)
{
	sync_case_check(&(sync_case){"backend=reference precision=bf16", false,
				     MLP "optimizer.name=adamw optimizer.weight_decay=0.1", 4, 1 << 2 | 1 << 3, false});
}

static void gpt_tied_bf16(void)
{
	sync_case_check(&(sync_case){"backend=reference precision=bf16", true,
				     GPT "model.tied=true model.dropout=0.2 train.clip=0.5", 2, 1 << 2, false});
}

static void gpt_fused_bf16(void)
{
	if (mr_kernels_find("fused", MR_BF16))
		sync_case_check(&(sync_case){"backend=fused precision=bf16", true,
					     GPT "model.tied=true model.dropout=0.1", 2, 1 << 2, false});
}

static void gpt_onednn_bf16(void)
{
	if (!mr_kernels_find("onednn", MR_BF16))
		return;
	sync_case_check(&(sync_case){"backend=onednn precision=bf16", true, GPT "model.dropout=0.1", 2,
				     1 << 2, false});
	sync_case_check(&(sync_case){"backend=onednn precision=bf16_pure", true,
				     GPT "model.tied=true model.dropout=0.1", 2, 1 << 2, false});
}

/* States in other forms, on each precision, with the systems' threads, ranges and clips. */
static void stored_states(void)
{
	static const char *const types[] = {"backend=reference precision=f32", "backend=reference precision=bf16",
					    "backend=reference precision=bf16_pure"};
	static const char *const mlps[] = {MLP "optimizer.name=adamw optimizer.weight_decay=0.1 optimizer.state=int8",
					   MLP "optimizer.name=momentum optimizer.state=bf16 train.clip=0.5"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		for (size_t j = 0; j < sizeof(mlps) / sizeof(mlps[0]); j++)
			sync_case_check(&(sync_case){types[i], false, mlps[j], 3, 1 << (2 + (i + j) % 2), true});
	sync_case_check(&(sync_case){types[0], true,
				     GPT "model.tied=true model.dropout=0.1 train.clip=0.5 optimizer.name=adam "
				     "optimizer.state=int8",
				     3, 1 << 2, false});
	if (sync_dnnl())
		sync_case_check(&(sync_case){sync_dnnl(), true,
					     GPT "model.width=24 optimizer.name=adam optimizer.state=int8", 3, 1 << 2,
					     false});
}

/* The plan that search chooses without options; sync_system gives it few tries. */
static void searched(void)
{
	sync_case_system(&(sync_case){"backend=reference precision=f64", false, MLP "train.clip=0.5", 2, 0, false},
			 "system.name=search", 2);
}

/* No masters: what a step rounds at random must follow from the parameter, the element and the step alone. */
static void mlp_bf16_pure(void)
{
	sync_case_check(&(sync_case){"backend=reference precision=bf16_pure", false,
				     MLP "optimizer.name=adamw optimizer.weight_decay=0.1", 4, 1 << 2 | 1 << 3, false});
}

static void gpt_bf16_pure(void)
{
	if (!mr_kernels_of("auto", MR_AS_bf16_pure))
		return;
	sync_case_check(&(sync_case){"backend=auto precision=bf16_pure", true,
				     GPT "model.tied=true model.dropout=0.1", 2, 1 << 2, false});
}

/* Gradients over all replicas at once are one sum in ascending order, whatever the number of workers. */
static void joint_gradients(void)
{
	static const char *const mlps[] = {"backend=reference precision=f64", "backend=auto precision=f32",
					   "backend=reference precision=bf16",
					   "backend=auto precision=bf16",
					   "backend=reference precision=bf16_pure"};
	const char *joint = "system.name=data_parallel system.gradients=joint";

	for (size_t i = 0; i < sizeof(mlps) / sizeof(mlps[0]); i++)
		for (unsigned workers = RIG_SANITIZED ? 3 : 2;
		     workers <= 5 && (!strstr(mlps[i], "auto") || sync_dnnl());
		     workers += RIG_SANITIZED ? 2 : 1)
			sync_case_system(&(sync_case){mlps[i], false,
						      "model.depth=4 model.width=8 model.norm=batch train.batch=24 "
						      "train.microbatches=6 optimizer.name=adamw",
						      4, 0, false},
					 joint, workers);
	sync_case_system(&(sync_case){"backend=reference precision=f32", true, GPT "model.dropout=0.2", 3, 0,
		false}, joint,
			 3);
	if (sync_dnnl()) {
		sync_case_system(&(sync_case){sync_dnnl(), true, GPT "model.dropout=0.2", 3, 0, false}, joint, 2);
		sync_case_system(&(sync_case){sync_dnnl(), true, LLAMA, 3, 0, false}, joint, 2);
	}
}

/* Sums that are released stage by stage are those of replicas that keep them. */
static void released_gradients(void)
{
	static const char *const systems[] = {
		"system.name=data_parallel system.gradients=released system.chunks=3",
		"system.name=data_parallel system.gradients=released system.chunks=4 system.weights=private",
		"system.name=data_parallel system.parameters=sharded system.chunks=4",
	};
	static const char *const mlps[] = {"backend=reference precision=f64", "backend=auto precision=bf16",
					   "backend=reference precision=bf16_pure"};

	for (size_t k = 0; k < sizeof(systems) / sizeof(systems[0]); k++) {
		for (size_t i = 0; i < sizeof(mlps) / sizeof(mlps[0]); i++)
			for (unsigned workers = 2; workers <= 5 && (!strstr(mlps[i], "auto") || sync_dnnl());
			     workers += RIG_SANITIZED ? 2 : 1)
				sync_case_system(&(sync_case){mlps[i], false,
							      "model.depth=5 model.width=8 model.norm=batch "
							      "train.batch=24 train.microbatches=6 "
							      "optimizer.name=adamw",
							      4, 0, false},
						 systems[k], workers);
		sync_case_system(&(sync_case){"backend=reference precision=f32", true, GPT "model.dropout=0.2", 3, 0,
					      false},
				 systems[k], 2);
	}
}

static void gpt_dnnl(void)
{
	if (sync_dnnl())
		sync_case_check(&(sync_case){sync_dnnl(), true, GPT "model.dropout=0.1", 2, 1 << 2, false});
}

/* Tables whose gradients are rows, each stepped by the worker whose range has the table. */
static void dlrm_joint_gradients(void)
{
	const char *joint = "system.name=data_parallel system.gradients=joint";

	sync_case_system(&(sync_case){"backend=reference precision=f32", false, DLRM "optimizer.name=momentum", 3, 0,
				      false},
			 joint, 3);
	if (sync_dnnl())
		sync_case_system(&(sync_case){sync_dnnl(), false, DLRM "optimizer.name=adam", 3, 0, false}, joint, 2);
}

/*
 * Cut inside blocks: between attention and its residual, in front of a sum (which the layer before it otherwise makes),
 * and inside the branch of a feed-forward network, so that two values cross each boundary.
 */
static void gpt_cut_inside_blocks(void)
{
	static const char *const systems[] = {
		"system.name=gpipe", "system.name=gpipe system.recompute=always", "system.name=1f1b",
		"system.name=zb_h1", "system.name=1f1b system.merge_w=2",         "system.name=zb_h2 system.steal=true",
	};
	const sync_case c = {"backend=reference precision=f32", true,
			     "model.layers=3 model.width=8 model.heads=1 model.context=4 model.tied=true "
			     "train.batch=8 train.microbatches=8 train.clip=0.5 ", 2, 0, false};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		char system[200];

		snprintf(system, sizeof(system), "%s partition=h.0.attn.c_proj,h.1.attn.add,h.2.mlp.c_proj",
			 systems[i]);
		sync_case_system(&c, system, 4);
	}
}

/* More stages than places with a single live value: the automatic cut takes others. Stages that keep nothing beside. */
static void gpt_cut_into_many(void)
{
	if (sync_dnnl())
		sync_case_check(
			&(sync_case){sync_dnnl(), true,
				     "model.layers=1 model.width=16 model.heads=1 model.context=4 train.batch=8 "
				     "train.microbatches=8 ",
				     2, 1 << 4, true});
}

/* The oracle for @steps with @lists. */
static void train(const oracle_lists *lists, uint64_t steps, rig_result *out)
{
	rig r;

	*out = (rig_result){0};
	rig_init(&r);
	rig_sets(&r, "precision=f32 system.name=sequential optimizer.name=sgd");
	rig_open(&r);
	oracle_train(&r.s, lists, steps, true, out);
	rig_fini(&r);
}

static const uint32_t up_down[] = {0, 1, 2, 3, 3, 2, 1, 0};
static const uint32_t whole[] = {0, 6}; /* nodes of the model: five linear layers and the loss */
static const uint32_t in_one[] = {0, 4}, in_two[] = {0, 2, 4}, last_apart[] = {0, 0, 4};

/* The comparison itself must be able to fail: another order or grouping of sums is another number. */
static void order_counts(void)
{
	const oracle_lists ways[] = {
		{1, 1, whole, in_one, up_down},
		{1, 1, whole, in_one, up_down + 4},
		{1, 2, whole, in_two, up_down},
	};
	const oracle_lists empty_pipe = {1, 2, whole, last_apart, up_down};
	rig_result got[3], same;

	for (int i = 0; i < 3; i++)
		train(&ways[i], 3, &got[i]);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_FALSE(rig_equal(&got[i], &got[(i + 1) % 3], false, "expected: two ways of summation"));
	CU_ASSERT(rig_equal(&got[0], &got[0], true, "itself"));
	train(&empty_pipe, 3, &same);
	CU_ASSERT(rig_equal(&got[0], &same, true, "a pipe without micro-batches"));
	rig_result_fini(&same);
	train(NULL, 3, &same);
	CU_ASSERT(rig_equal(&got[0], &same, true, "no lists"));
	rig_result_fini(&same);
	for (int i = 0; i < 3; i++)
		rig_result_fini(&got[i]);
}

/* Parts of the model may sum in orders of their own: after one step each part is as if all had summed so. */
static void parts_may_differ(void)
{
	static const uint32_t first[] = {0, 2, 6}, begin[] = {0, 4, 8};
	const oracle_lists up = {1, 1, whole, in_one, up_down}, down = {1, 1, whole, in_one, up_down + 4};
	const oracle_lists mixed = {2, 1, first, begin, up_down};
	rig_result a, b, m;
	bool differ = false;

	train(&up, 1, &a);
	train(&down, 1, &b);
	train(&mixed, 1, &m);
	CU_ASSERT_EQUAL_FATAL(a.model.n, 10); /* weight and bias of five layers; the first two are part 0 */
	for (size_t i = 0; i < a.model.n; i++) {
		const mr_saved_tensor *want = i < 4 ? &a.model.at[i] : &b.model.at[i];

		CU_ASSERT_FALSE(memcmp(m.model.at[i].data, want->data, want->bytes));
		differ |= memcmp(a.model.at[i].data, b.model.at[i].data, want->bytes) != 0;
	}
	CU_ASSERT_TRUE(differ);
	rig_result_fini(&a);
	rig_result_fini(&b);
	rig_result_fini(&m);
}

/* The loss of one step with the weights of the beginning. */
static double first_loss(const char *system, uint32_t n_micro)
{
	rig_result got = {0};
	double loss;
	rig r;

	rig_init(&r);
	rig_sets(&r, "precision=f64 optimizer.name=sgd train.batch=24");
	rig_set(&r, "train.microbatches=%u", n_micro);
	rig_sets(&r, system);
	rig_open(&r);
	rig_train(&r, 1, false, &got);
	CU_ASSERT_EQUAL_FATAL(got.n_steps, 1);
	loss = got.step[0].loss;
	rig_result_fini(&got);
	rig_fini(&r);
	return loss;
}

/* The mean over the batch does not depend on how many micro-batches it is cut into, but for rounding. */
static void loss_of_many_micro_batches(void)
{
	static const char *const systems[] = {"system.name=sequential", "system.name=gpipe", "system.name=1f1b",
					      "system.name=chimera", "system.name=data_parallel"};
	static const uint32_t n_micro[] = {8, 12, 24};
	double want = first_loss("system.name=sequential", 1);

	CU_ASSERT(want > 0);
	for (size_t s = 0; s < sizeof(systems) / sizeof(systems[0]); s++)
		for (size_t i = 0; i < sizeof(n_micro) / sizeof(n_micro[0]); i++)
			CU_ASSERT_DOUBLE_EQUAL(first_loss(systems[s], n_micro[i]) / want, 1, 1e-12);
}

void mr_suite_equal_sync(void)
{
	MR_SUITE("equal_sync");
	MR_TEST(stored_states);
	MR_TEST(loss_of_many_micro_batches);
	MR_TEST(mlp);
	MR_TEST(mlp_muon);
	MR_TEST(mlp_batch_norm);
	MR_TEST(mlp_clipped);
	MR_TEST(gpt_tied);
	MR_TEST(networks);
	MR_TEST(mlp_bf16);
	MR_TEST(gpt_tied_bf16);
	MR_TEST(gpt_fused_bf16);
	MR_TEST(gpt_onednn_bf16);
	MR_TEST(mlp_bf16_pure);
	MR_TEST(gpt_bf16_pure);
	MR_TEST(joint_gradients);
	MR_TEST(released_gradients);
	MR_TEST(gpt_dnnl);
	MR_TEST(searched);
	MR_TEST(dlrm_joint_gradients);
	MR_TEST(gpt_cut_inside_blocks);
	MR_TEST(gpt_cut_into_many);
	MR_TEST(order_counts);
	MR_TEST(parts_may_differ);
}
