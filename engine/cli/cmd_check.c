/* millrace check: reads a plan file in either form, lowers it if needed, checks it, and describes it. */
#include <inttypes.h>
#include <math.h>

#include "base/printable.h"
#include "cli/args.h"
#include "host/memory.h"
#include "session/plan_file.h"
#include "timing/metrics.h"
#include "planner/make_plan.h"

static double largest(const double *x, size_t n)
{
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = x[i] > most ? x[i] : most;
	return most;
}

static mr_status print_summary(const mr_plan *plan, uint64_t identity)
{
	char system[256];
	mr_metrics *m;
	mr_walk *walk;
	mr_status st;

	MR_TRY(mr_metrics_walk(plan, 1, 1, 1, 0, mr_plan_repeats(plan), &walk));
	st = mr_metrics_create(plan, walk, &m);
	mr_walk_destroy(walk);
	MR_TRY(st);
	printf("ok  plan %016" PRIx64 "  S %u  D %u  T %u  makespan %g  period ", identity, plan->n_stages,
	       plan->n_workers, plan->n_micro, m->makespan);
	if (isnan(m->period))
		printf("-");
	else
		printf("%g", m->period);
	snprintf(system, sizeof(system), "%s", plan->system);
	printf("  peak activations %g  %s\n", largest(m->peak_until_w, m->n_workers), mr_printable(system));
	mr_metrics_destroy(m);
	return MR_OK;
}

static mr_status run(mr_args *args)
{
	const char *path = args->operand[0];
	uint64_t identity;
	mr_plan *plan;
	mr_status st;

	mr_memory_keep_freed();
	MR_TRY(mr_plan_file_read(path, &plan));
	st = mr_plan_finish(&(mr_plan_question){0}, &plan, &identity);
	if (st == MR_OK)
		st = print_summary(plan, identity);
	mr_plan_destroy(plan);
	/* any failure of a plan file here is the file's fault */
	if (st == MR_EINVAL)
		st = mr_fail(MR_ECONFIG, "%s", mr_error_text());
	return st == MR_OK ? MR_OK : mr_fail_in(st, "%s", path);
}

const mr_command mr_command_check = {
	.name = "check",
	.operands = "PLAN",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "validate a plan file, in its text form or as JSON",
	.help = "Prints one line: the plan's hash, stages S, workers D, micro-batches T, and for unit costs (forward, "
		"input\n"
		"gradient and weight gradient 1 each) makespan, period and the most micro-batches that a worker "
		"keeps.\n"
		"A plan that cannot be carried out is refused with the culprit, exit code 3. PLAN may be - for "
		"standard input.\n"
		"\n"
		"millrace schedule SYSTEM --workers D --format text (or json) shows what such a file looks like. The "
		"text form\n"
		"keeps everything. JSON says which worker does what in which order, and under which contract\n"
		"(flush, versions read, order of sums); without a contract it means one iteration with a flush. "
		"Slots, buffers and\n"
		"versions are then worked out anew.\n",
	.run = run,
};
