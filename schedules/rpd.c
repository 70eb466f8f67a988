/*
 * rpd.c - Randomized PipeDream: each step updates one stage, drawn at random, and reads every stage at an age of its own.
 *
 *   w0  F0 F1 F2 p0 F3 k1 F4 p2 ..      step 0 updates stage 1: w1 and w2 go backward, w1 commits, w0 passes (p)
 *   w1  .. F0 F1 B0 F2 k1 F3 p2 ..      step 1 updates stage 0: w2 and w1 hand its gradient on and keep their weights (k)
 *   w2  .. .. F0 k0 F1 k1 F2 B2 ..      step 2 updates stage 2
 *
 * Problem: what a pipeline's staleness does to convergence is hard to analyse, since its delays follow from its schedule. Idea: a
 * method whose delays are drawn, with the pipeline as a special case, and a bound on them is all that a proof needs. Step k takes
 * a minibatch, reads stage j as it was min(d_j, k) steps ago, d_j up to delta, and updates one stage.
 *
 * Versions. Every stage commits a version a step; all but one leave their weights as they are. So version k is the model after k
 * steps, an age in steps is an age in versions, and F of step k at stage j reads version k - min(d_j, k). It may run as soon as
 * that version exists there: the larger the delays, the more steps are under way at once, up to one a stage as in 1F1B, whose
 * order this is when nothing has to wait. The lists say all of it, so timing changes no bit.
 *
 * Orders and delays: drawn by the seed; or those of greedy 1F1B in unit time (stage = batch = timeline, delays = exact), which makes
 * it PipeDream; or recorded, a line `stage minibatch delay_0 .. delay_S-1` a step, of a real run too (theory/ages.h).
 *
 * Time: with delays of delta or more everywhere no bubble but fill and drain; with none, one step at a time. Memory at a stage:
 * activations of up to D - k micro-batches, and up to delta + 1 versions.
 *
 * The list is finite: as many steps as the run makes. A run that has ended cannot be given more of them, since the steps under way
 * at its end would be others: ask for as many as may be wanted, and stop it, which saves.
 *
 * With one worker a step is of the whole model as it was up to delta steps ago: delta + 1 replicas that send their gradients
 * to one model whenever they have them. That is what `ringmaster` was made for: a gradient so many steps old, or more, is discarded.
 *
 * Source: "Randomized PipeDream", arXiv 2606.03498; orders and delays as in github.com/vectozavr/randomized-pipedream.
 * NOTE 1: a stage that a step leaves alone still keeps a version of it: delta + 1 copies where the changed ones would do.
 * NOTE 2: stages before the updated one learn that a step is over from the stage behind, in the same order as gradients.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "schedules/parts/rpd_draw.h"
#include "schedules/parts/straight.h"

#define MOST_RECORD ((size_t)256 << 20)

static const mr_option options[] = {
	{"stage", MR_OPT_ENUM, "uniform", 0, 0, "uniform|timeline", NULL, "which stage a step updates: any, or as 1F1B in unit time"},
	{"batch", MR_OPT_ENUM, "uniform", 0, 0, "uniform|cyclic|timeline", NULL,
	 "which minibatch of the data it takes: any, one after the other, or as 1F1B in unit time"},
	{"delays", MR_OPT_ENUM, "uniform", 0, 0, "uniform|max|zero|exact", NULL,
	 "ages of its reads in steps: 0 to delta, delta, none, or those of 1F1B in unit time"},
	{"delta", MR_OPT_INT, "-1", -1, 60000, NULL, NULL, "bound on delays that are uniform or max; -1: S^2 - S/2 of S stages, what 1F1B has"},
	{"seed", MR_OPT_INT, "0", 0, 1e15, NULL, NULL, "of the steps; train.seed does not change them"},
	{"ringmaster", MR_OPT_INT, "0", 0, 1e9, NULL, NULL,
	 "discard steps with a read of so many steps ago or more, and draw others; 0: none"},
	{"record", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "file of recorded steps, a line `stage minibatch delays` each, in place of drawn ones; from the current folder"},
	{0},
};

static const mr_option_need needs[] = {
	{"stage", "record", ""},
	{"batch", "record", ""},
	{"delays", "record", ""},
	{"delta", "record", ""},
	{"seed", "record", ""},
	{"ringmaster", "record", ""},
	{"delta", "delays", "uniform|max"},
	{"ringmaster", "delays", "uniform|max|exact"},
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	(void)n_workers;
	return 1;
}

static mr_rpd_order order_of(const mr_values *v, const char *key)
{
	const char *word = mr_values_string(v, key);

	return !strcmp(word, "timeline") ? MR_RPD_TIMELINE : !strcmp(word, "cyclic") ? MR_RPD_CYCLIC : MR_RPD_UNIFORM;
}

static mr_rpd_delays delays_of(const mr_values *v)
{
	const char *word = mr_values_string(v, "delays");

	return !strcmp(word, "max")     ? MR_RPD_DELAY_MAX
	       : !strcmp(word, "zero")  ? MR_RPD_DELAY_ZERO
	       : !strcmp(word, "exact") ? MR_RPD_DELAY_EXACT
					: MR_RPD_DELAY_UNIFORM;
}

static mr_status read_record(const char *path, uint16_t n_stages, uint32_t n_steps, mr_aged **out)
{
	char *text;
	size_t len;
	mr_status st;

	st = mr_file_read(path, MOST_RECORD, &text, &len);
	if (st != MR_OK)
		return mr_fail_in(MR_ECONFIG, "record");
	st = mr_aged_parse(path, text, n_stages, out);
	free(text);
	if (st == MR_OK && (*out)->n_steps < n_steps) {
		st = mr_fail(MR_ECONFIG, "%s has %u steps, and %u are asked for", path, (*out)->n_steps, n_steps);
		mr_aged_destroy(*out);
		*out = NULL;
	}
	return st;
}

/* @p's steps, and more of them until @n_steps are left of those that Ringmaster keeps. */
static mr_status draw_steps(mr_rpd_params p, uint32_t n_steps, uint32_t limit, mr_aged **out)
{
	for (p.n_steps = n_steps;; p.n_steps *= 2) {
		MR_TRY(mr_rpd_draw(&p, out));
		if (!limit)
			return MR_OK;
		mr_aged_discard(*out, limit);
		if ((*out)->n_steps >= n_steps)
			return mr_aged_index(*out);
		mr_aged_destroy(*out);
		*out = NULL;
		if (p.n_steps > UINT32_MAX / 2 || p.n_steps / 64 > n_steps)
			return mr_fail(MR_ECONFIG, "ringmaster: of %u steps drawn fewer than %u read nothing of %u steps ago or more: take a larger one, or a smaller delta",
				       p.n_steps, n_steps, limit);
	}
}

static mr_status steps_of(const mr_sched_args *args, uint32_t n_steps, mr_aged **out)
{
	const mr_values *v = args->options;
	int64_t delta = mr_values_int(v, "delta");
	uint32_t limit = (uint32_t)mr_values_int(v, "ringmaster");
	mr_rpd_params p = {
		.n_stages = args->n_workers,
		.n_batches = args->n_batches ? args->n_batches : n_steps,
		.stage = order_of(v, "stage"),
		.batch = order_of(v, "batch"),
		.delays = delays_of(v),
		.delta = delta < 0 ? mr_unit_delay_max(args->n_workers) : (uint32_t)delta,
		.seed = (uint64_t)mr_values_int(v, "seed"),
	};
	const char *record = mr_values_string(v, "record");

	if (mr_values_is_set(v, "seed") && p.stage == MR_RPD_TIMELINE && p.batch != MR_RPD_UNIFORM && p.delays != MR_RPD_DELAY_UNIFORM)
		return mr_fail(MR_ECONFIG, "seed: has no effect where neither stage nor batch nor delays are drawn");
	return *record ? read_record(record, args->n_workers, n_steps, out) : draw_steps(p, n_steps, limit, out);
}

/* The version, counted in steps of all stages, that step @k reads at @stage. */
static uint32_t read_of(const mr_aged *a, uint32_t k, uint16_t stage)
{
	uint32_t d = mr_aged_delay(a, k, stage);

	return d < k ? k - d : 0;
}

static mr_status emit_f(mr_plan *plan, const mr_aged *a, uint32_t k, uint16_t s)
{
	return mr_plan_append(plan, s, MR_PROLOGUE,
			      (mr_instr){.op = MR_OP_F, .span = 1, .stage = s, .micro = k, .read = (int32_t)read_of(a, k, s),
					 .target = (int32_t)a->batch[k]});
}

static mr_status emit_b(mr_plan *plan, const mr_aged *a, uint32_t k, uint16_t s)
{
	uint8_t flags = s < a->stage[k] ? MR_INSTR_PASS : s > a->stage[k] ? MR_INSTR_KEEP : 0;

	return mr_plan_append(plan, s, MR_PROLOGUE,
			      (mr_instr){.op = MR_OP_B, .flags = flags, .span = 1, .stage = s, .micro = k});
}

/*
 * F(k) at stage s stands behind B(0) .. B(behind[k] - 1): those whose versions F of a step up to k reads here, those that the
 * stage in front has put before F(k) too (or the two lists would wait for each other), and those that leave S - s under way.
 */
static mr_status fill(mr_plan *plan, const mr_aged *a, uint32_t *behind, uint32_t n_steps)
{
	memset(behind, 0, n_steps * sizeof(*behind));
	for (uint16_t s = 0; s < plan->n_stages; s++) {
		uint32_t done = 0, room = plan->n_stages - (uint32_t)s;

		for (uint32_t k = 0; k < n_steps; k++) {
			uint32_t most = k ? behind[k - 1] : 0, reads = read_of(a, k, s), full = k + 1 > room ? k + 1 - room : 0;

			most = reads > most ? reads : most;
			most = full > most ? full : most;
			behind[k] = behind[k] > most ? behind[k] : most;
			while (done < behind[k])
				MR_TRY(emit_b(plan, a, done++, s));
			MR_TRY(emit_f(plan, a, k, s));
		}
		while (done < n_steps)
			MR_TRY(emit_b(plan, a, done++, s));
	}
	return MR_OK;
}

static uint32_t oldest(const mr_aged *a, uint32_t n_steps)
{
	uint32_t most = 0;

	for (uint32_t k = 0; k < n_steps; k++)
		for (uint16_t s = 0; s < a->n_stages; s++)
			most = k - read_of(a, k, s) > most ? k - read_of(a, k, s) : most;
	return most;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	uint32_t n_steps = args->finite ? args->n_micro : args->n_steps;
	uint32_t *behind;
	mr_aged *a = NULL;
	mr_plan *plan;
	mr_status st;

	if (!n_steps)
		return mr_fail(MR_ECONFIG, "its steps do not repeat, so their number must be known");
	MR_TRY(mr_straight_create(args, "rpd", n_steps, &plan));
	plan->n_micro = plan->commits = n_steps;
	st = steps_of(args, n_steps, &a);
	behind = calloc(n_steps, sizeof(*behind));
	if (st == MR_OK && !behind)
		st = mr_fail(MR_ERESOURCE, "no memory for %u steps", n_steps);
	if (st == MR_OK) {
		plan->contract = (mr_contract){
			.coverage = MR_COVER_BLOCK,
			.flush = MR_FLUSH_NONE,
			.read_f = MR_READ_AGED,
			.sum = MR_SUM_ASCENDING,
			.need = 1,
			.same_version_b = true,
			.max_staleness = oldest(a, n_steps),
		};
		st = fill(plan, a, behind, n_steps);
	}
	free(behind);
	mr_aged_destroy(a);
	return mr_sched_finish(plan, st, out);
}

const mr_sched_ops mr_sched_rpd = {
	.name = "rpd",
	.summary = "Randomized PipeDream: a step updates one stage and reads each at an age of its own",
	.source = "Randomized PipeDream, arXiv 2606.03498",
	.options = options,
	.needs = needs,
	.asynchronous = true,
	.ends = true,
	.default_micro = default_micro,
	.emit = emit,
};
