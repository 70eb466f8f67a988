/* groups.c - gpipe, but only a group of micro-batches goes forward before it goes back (3 stages, group = 2).
 *
 *   w0 F0F1........B0--B1--F2F3........B2--B3--
 *   w1 ..F0F1....B0--B1--....F2F3....B2--B3--..
 *   w2 ....F0F1B0--B1--........F2F3B2--B3--....
 *
 * Memory: the activations of a group. Time: each group waits (D - 1)(f + b) for its fill and drain.
 */
#include "schedules/common/straight.h"

static const mr_option options[] = {
	{"group", MR_OPT_INT, "2", 1, 1000000, NULL, NULL, "micro-batches that go forward before any goes back"},
	{0},
};

static mr_status fill(mr_plan *plan, uint32_t group)
{
	for (uint16_t w = 0; w < plan->n_workers; w++)
		for (uint32_t first = 0; first < plan->n_micro; first += group) {
			uint32_t left = plan->n_micro - first, end = first + (left < group ? left : group);

			for (uint32_t m = first; m < end; m++)
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, w, 0));
			for (uint32_t m = first; m < end; m++)
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, m, w, 0));
		}
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_straight_create(args, "groups", args->n_micro, &plan));
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	return mr_sched_finish(plan, fill(plan, (uint32_t)mr_values_int(args->options, "group")), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t group = (uint32_t)mr_values_int(args->options, "group");
	uint32_t n_groups = (args->n_micro + group - 1) / group;

	out->bubble_time = out->bubble_period = n_groups * (args->n_workers - 1) * (f + i + w);
	out->peak_first = out->peak_last = group < args->n_micro ? group : args->n_micro;
}

const mr_sched_ops mr_sched_groups = {
	.name = "groups",
	.summary = "gpipe in groups of micro-batches, each with a fill and a drain of its own",
	.source = "an example: schedules/WRITING.md",
	.options = options,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
