/* A search for a cut that takes too many steps is refused, wherever it comes from. */
#include <stdlib.h>

#include "check.h"
#include "planner/partition.h"
#include "planner/replica_partition.h"

/* One element costs more than all others together, so nearly every cut of those has the least largest stage. */
static void too_many_steps_are_refused(void)
{
	enum { N = 30000, STAGES = 256 };
	uint64_t *cost = calloc(N, sizeof(*cost));
	uint32_t *points = calloc(N, sizeof(*points)), *first = calloc(STAGES + 1, sizeof(*first));

	CU_ASSERT_FATAL(cost && points && first);
	for (uint32_t i = 0; i < N; i++) {
		cost[i] = i == N / 2 ? 1000000 : 1;
		points[i] = i;
	}
	MR_CHECK_FAIL(mr_partition_solve(cost, N, points, NULL, NULL, N, STAGES, NULL, first), MR_ECONFIG,
		      "the most even cut into 256 stages at 30000 places takes more than 4e+09 steps: name the layers");
	MR_CHECK_OK(mr_partition_solve(cost, N, points, NULL, NULL, N, 2, NULL, first));
	free(first);
	free(points);
	free(cost);
}

/* As `millrace partition` does, whoever asks. */
static void too_many_pairs_of_layers_and_workers_are_refused(void)
{
	enum { N = 16000 };
	mr_layer_row *row = calloc(N, sizeof(*row));
	mr_replica_problem p = {.layer = row, .n_layers = N, .n_workers = 4};
	mr_replica_partition c;
	double bytes;
	bool found;

	CU_ASSERT_FATAL(row != NULL);
	MR_CHECK_FAIL(mr_replica_partition_solve(&p, &c, &found), MR_ECONFIG, "at most 15811 layers");
	CU_ASSERT_PTR_NULL(c.stage);
	MR_CHECK_FAIL(mr_replica_partition_least(&p, &bytes), MR_ECONFIG, "16000 layers on 4 workers take");
	free(row);
}

void mr_suite_partition_limit(void);
void mr_suite_partition_limit(void)
{
	MR_SUITE("partition_limit");
	MR_TEST(too_many_steps_are_refused);
	MR_TEST(too_many_pairs_of_layers_and_workers_are_refused);
}
