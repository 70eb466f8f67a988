/*
 * test_norm.c - gradient norms on the record without clipping: no bit of a weight follows from asking, and what is
 * written is what a clip that no gradient reaches (BIG) writes, in every executor.
 */
#include <string.h>

#include "check.h"
#include "rig.h"

#define BIG "train.clip=1e300"
#define STEPS 8

#define FEW "system.name=sequential model.tied=true train.microbatches=1 data.vocab=byte train.batch=8"

typedef struct norm_case {
	const char *sets;
	bool gpt;
} norm_case;

static const norm_case cases[] = {
	{"system.name=sequential", false},
	{"system.name=sequential train.microbatches=1", true},
	{"system.name=sequential train.microbatches=1 model.tied=true", true},
	{FEW, true},
	{"system.name=sequential optimizer.name=muon", false},
	{"system.name=1f1b", false},
	{"system.name=1f1b machine.workers=1 train.microbatches=1", true},
	{"system.name=1f1b model.tied=true", true},
	{"system.name=gpipe machine.workers=3", true},
	{"system.name=zb_h1", true},
	{"system.name=chimera", false},
	{"system.name=data_parallel", false},
	{"system.name=data_parallel model.tied=true", true},
	{"system.name=pipedream train.microbatches=1", false},
	{"system.name=pipedream train.microbatches=1 machine.workers=3", true},
	{"system.name=pipedream train.microbatches=1 optimizer.name=muon", false},
	{"system.name=pipedream train.microbatches=1 mitigation.name=dc_asgd", false},
	{"system.name=pipedream_2bw mitigation.name=dc_asgd", false}, /* stale at the last stage too */
	{"system.name=pipedream train.microbatches=2 machine.workers=3 system.replicas=[2,1]", false},
	{"system.name=pipedream_2bw", false},
	{"system.name=rpd train.microbatches=1", false},
	{"system.name=interleaved_zb system.steal=true", false},
	{"system.name=local_sgd", false},
};

static void open_case(rig *r, const norm_case *c, const char *backend, const char *more)
{
	rig_init(r);
	if (c->gpt)
		rig_gpt(r);
	rig_sets(r, backend);
	rig_sets(r, c->sets);
	rig_sets(r, more);
	rig_open(r);
}

static void train(const norm_case *c, const char *backend, const char *more, rig_result *out)
{
	rig r;

	open_case(&r, c, backend, more);
	rig_train(&r, STEPS, false, out);
	rig_fini(&r);
}

static void replay(const norm_case *c, const char *backend, const char *more, rig_result *out)
{
	rig r;

	open_case(&r, c, backend, more);
	rig_replay(&r, STEPS, MR_REPLAY_ROUND_ROBIN, 0, out);
	rig_fini(&r);
}

/* @got, of norms every @every steps (0: never), against @all, which has them of each step. */
static void check_norms(const rig_result *got, uint64_t every, const rig_result *all, const char *what)
{
	bool any = false;

	CU_ASSERT_EQUAL_FATAL(got->n_steps, all->n_steps);
	for (uint64_t i = 0; i < got->n_steps; i++) {
		bool asked = every && (i + 1) % every == 0;
		double want = asked ? all->step[i].norm : -1;

		if (got->step[i].norm != want)
			fprintf(stderr, "\n%s: norm of step %llu: %.17g, expected %.17g\n", what,
				(unsigned long long)(i + 1), got->step[i].norm, want);
		CU_ASSERT_FATAL(got->step[i].norm == want);
		CU_ASSERT_FATAL(got->step[i].loss == all->step[i].loss);
		CU_ASSERT_FATAL(all->step[i].norm >= 0); /* rpd has no gradient at the last stage in most steps */
		any = any || all->step[i].norm > 0;
	}
	CU_ASSERT_FATAL(any);
}

static void check_case(const norm_case *c, const char *backend)
{
	static const uint64_t every[] = {0, 1, 7};
	rig_result clipped = {0};
	char more[64], what[300];

	train(c, backend, BIG, &clipped);
	for (size_t i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
		rig_result got = {0}, again = {0};

		snprintf(more, sizeof(more), "train.norm_every=%d", (int)every[i]);
		snprintf(what, sizeof(what), "%s %s %s", backend, c->sets, more);
		train(c, backend, more, &got);
		CU_ASSERT_FATAL(rig_equal_weights(&clipped, &got, what));
		check_norms(&got, every[i], &clipped, what);
		replay(c, backend, more, &again);
		CU_ASSERT_FATAL(rig_equal_weights(&clipped, &again, what));
		check_norms(&again, every[i], &clipped, what);
		rig_result_fini(&got);
		rig_result_fini(&again);
	}
	rig_result_fini(&clipped);
}

static void norms_are_those_of_clipping(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_case(&cases[i], "precision=f64");
		if (mr_kernels_find("auto", MR_F32))
			check_case(&cases[i], "backend=auto precision=f32");
	}
}

/* The largest gradient of a linear model's training, in steps of four samples. */
static double largest_of(const char *system)
{
	double largest;
	rig r;

	rig_init(&r);
	rig_sets(&r, "model.name=quadratic model.noise=0.1 data.name=formula data.features=13 optimizer.name=sgd "
		     "optimizer.lr=0.1 train.batch=4 train.microbatches=4");
	rig_sets(&r, system);
	rig_open(&r);
	rig_start(&r);
	rig_run(&r, STEPS, NULL);
	largest = mr_run_largest_gradient(mr_executor_run_of(&r.s.executor));
	rig_fini(&r);
	return largest;
}

/* Several pipes: it is that of the whole sum, which other workers may still add up when one has its part. */
static void the_largest_gradient_is_of_whole_sums(void)
{
	double want = largest_of("system.name=gpipe");

	CU_ASSERT_FATAL(want > 0);
	for (int i = 0; i < 5; i++) {
		CU_ASSERT_DOUBLE_EQUAL(largest_of("system.name=data_parallel"), want, 1e-12 * want);
		CU_ASSERT_DOUBLE_EQUAL(largest_of("system.name=chimera"), want, 1e-12 * want);
	}
}

void mr_suite_norm(void);

void mr_suite_norm(void)
{
	MR_SUITE("norm");
	MR_TEST(norms_are_those_of_clipping);
	MR_TEST(the_largest_gradient_is_of_whole_sums);
}
