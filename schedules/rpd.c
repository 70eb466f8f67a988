/*
 * rpd.c - Randomized PipeDream: each step updates one stage, drawn at random, and reads every stage at an age drawn for
 * it.
 *
 *   w0  F0 F1 F2 p0 F3 k1 F4 p2 ..      step 0 updates stage 1: w1 and w2 go backward, w1 commits, w0 passes (p)
 *   w1  .. F0 F1 B0 F2 k1 F3 p2 ..      step 1 updates stage 0: w2 and w1 hand its gradient on and keep their weights
 *       (k)
 *   w2  .. .. F0 k0 F1 k1 F2 B2 ..      step 2 updates stage 2
 *
 * Problem: the effect of a pipeline's staleness on convergence is hard to analyse, since its delays follow from its
 * schedule. Idea: a method whose delays are drawn, with the pipeline as a special case; a proof needs only a bound on
 * them. Step k takes a minibatch, reads stage j as it was min(d_j, k) steps ago, d_j up to delta, and updates one
 * stage.
 *
 * Versions. Every stage commits a version a step; all but one leave their weights as they are. So version k is the
 * model after k steps, an age in steps is an age in versions, and F of step k at stage j reads version k - min(d_j, k).
 * It may run as soon as that version exists there: the larger the delays, the more steps are under way at once, up to
 * one a stage as in 1F1B, whose order this is when nothing has to wait. The lists say all of it, so timing changes no
 * bit.
 *
 * Orders and delays: drawn by the seed; or those of greedy 1F1B in unit time (stage = batch = timeline, delays =
 * exact), which makes it PipeDream; or recorded, a line `stage minibatch delay_0 .. delay_S-1` a step, of a real run
 * too (perf/theory/ages.h).
 *
 * Time: with delays of delta or more everywhere no bubble but fill and drain; with none, one step at a time. Memory at
 * a stage: activations of up to D - k micro-batches, and up to delta + 1 versions.
 *
 * The lists have no end and are made when they are needed, a window at a time (ir/endless.h): a run may have any
 * length, and can be extended after it has ended: its steps are the first ones of a run that never drains, also with
 * timeline or exact. Recorded steps end with the file. A finite list ends as a draining pipeline.
 *
 * With one worker a step reads the whole model as it was up to delta steps ago: this is delta + 1 replicas that send
 * their gradients to one model when they have them. `ringmaster` is for this case: a gradient that is that number of
 * steps old, or older, is discarded.
 *
 * Source: "Randomized PipeDream", arXiv 2606.03498; orders and delays as in github.com/vectozavr/randomized-pipedream.
 * NOTE 1: a stage that a step leaves alone still keeps a version of it: delta + 1 copies where the changed ones would
 * do.
 * NOTE 2: stages before the updated one learn that a step is over from the stage behind, in the same order as
 * gradients.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ir/endless.h"
#include "schedules/common/rpd_stream.h"
#include "schedules/common/straight.h"

#define MOST_RECORD ((size_t)256 << 20)
#define WINDOW 1024u              /* steps made at a time, */
#define WINDOW_CELLS (1u << 18)   /* or fewer, if they have this many stages */

static const mr_option options[] = {
	{"stage", MR_OPT_ENUM, "uniform", 0, 0, "uniform|timeline", NULL,
	 "which stage a step updates: any, or as 1F1B in unit time"},
	{"batch", MR_OPT_ENUM, "uniform", 0, 0, "uniform|cyclic|timeline", NULL,
	 "which minibatch of the data it takes: any, one after the other, or as 1F1B in unit time"},
	{"delays", MR_OPT_ENUM, "uniform", 0, 0, "uniform|max|zero|exact", NULL,
	 "ages of its reads in steps: 0 to delta, delta, none, or those of 1F1B in unit time"},
	{"delta", MR_OPT_INT, "-1", -1, 60000, NULL, NULL,
	 "bound on delays that are uniform or max; -1: S^2 - S/2 of S stages, what 1F1B has"},
	{"seed", MR_OPT_INT, "0", 0, 1e15, NULL, NULL, "of the steps; train.seed does not change them"},
	{"ringmaster", MR_OPT_INT, "0", 0, 1e9, NULL, NULL,
	 "discard steps with a read of this many steps ago or more, and draw others; 0: none"},
	{"record", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "file of recorded steps, a line `stage minibatch delays` each, in place of drawn ones; from the current "
	 "folder"},
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

static mr_status read_record(const char *path, uint16_t n_stages, uint32_t n_batches, uint64_t n_steps, mr_aged **out)
{
	char *text;
	size_t len;
	mr_status st = mr_file_read(path, MOST_RECORD, &text, &len);

	if (st != MR_OK)
		return mr_fail_in(MR_ECONFIG, "record");
	st = mr_aged_parse(path, text, n_stages, n_batches, out);
	free(text);
	if (st == MR_OK && (*out)->n_steps < n_steps) {
		st = mr_fail(MR_ECONFIG, "%s has %u steps, and %llu are asked for", path, (*out)->n_steps,
			     (unsigned long long)n_steps);
		mr_aged_destroy(*out);
		*out = NULL;
	}
	return st;
}

/* Make the timeline long enough that @n_steps of its steps remain after Ringmaster's limit. */
static mr_status find_end(mr_rpd_stream *s, uint64_t n_steps)
{
	mr_aged *a;
	mr_status st;

	for (s->p.n_all = n_steps;; s->p.n_all *= 2) {
		if (!s->limit || s->p.n_all / 64 > n_steps)
			return MR_OK; /* if that is not enough, nothing is; the first request for a step returns the
			                 error */
		st = mr_rpd_stream_part(s, n_steps - 1, 1, &a);
		mr_aged_destroy(a);
		if (st != MR_ECONFIG)
			return st;
	}
}

static mr_status open_stream(const mr_sched_args *args, mr_rpd_stream *s)
{
	uint64_t n_steps = args->finite ? args->n_micro : args->n_steps; /* 0: unknown */
	const mr_values *v = args->options;
	int64_t delta = mr_values_int(v, "delta");
	mr_rpd_params *p = &s->p;
	const char *record = mr_values_string(v, "record");

	*s = (mr_rpd_stream){.limit = (uint32_t)mr_values_int(v, "ringmaster")};
	*p = (mr_rpd_params){
		.n_stages = args->n_workers,
		.n_batches = args->n_batches ? args->n_batches : n_steps < UINT32_MAX ? (uint32_t)n_steps : UINT32_MAX,
		.stage = order_of(v, "stage"),
		.batch = order_of(v, "batch"),
		.delays = delays_of(v),
		.delta = delta < 0 ? mr_unit_delay_max(args->n_workers) : (uint32_t)delta,
		.seed = (uint64_t)mr_values_int(v, "seed"),
	};
	if (mr_values_is_set(v, "seed") && p->stage == MR_RPD_TIMELINE && p->batch != MR_RPD_UNIFORM &&
	    p->delays != MR_RPD_DELAY_UNIFORM)
		return mr_fail(MR_ECONFIG, "seed: has no effect where neither stage nor batch nor delays are drawn");
	if (*record)
		return read_record(record, args->n_workers, args->n_batches, n_steps, &s->record);
	p->n_all = mr_rpd_has_timeline(p) && !args->finite ? MR_RPD_NO_END : 0;
	return mr_rpd_has_timeline(p) && args->finite ? find_end(s, n_steps) : MR_OK;
}

/* --- lists --- */

/* A part of the run as it is emitted. */
typedef struct part {
	mr_plan *plan;
	mr_section section;
	const mr_aged *a;    /* steps from begin on, and those behind the end that are begun before it */
	uint64_t begin, end; /* B of these steps, and what stands among them; numbers count from begin */
} part;

/* The version, counted in steps of all stages, that step @k reads at @stage. */
static uint64_t read_of(const part *p, uint64_t k, uint16_t stage)
{
	uint32_t d = mr_aged_delay(p->a, (uint32_t)(k - p->begin), stage);

	return d < k ? k - d : 0;
}

static mr_status emit_one(const part *p, mr_instr in, uint64_t k)
{
	in.span = 1;
	in.micro = (uint32_t)(k - p->begin);
	in.read = (int32_t)((int64_t)read_of(p, k, in.stage) - (int64_t)p->begin);
	return mr_plan_append(p->plan, in.stage, p->section, in);
}

static mr_status emit_f(const part *p, uint64_t k, uint16_t s)
{
	return emit_one(p, (mr_instr){.op = MR_OP_F, .stage = s, .target = (int32_t)p->a->batch[k - p->begin]}, k);
}

static mr_status emit_b(const part *p, uint64_t k, uint16_t s)
{
	uint16_t active = p->a->stage[k - p->begin];
	uint8_t flags = s < active ? MR_INSTR_PASS : s > active ? MR_INSTR_KEEP : 0;

	return emit_one(p, (mr_instr){.op = MR_OP_B, .flags = flags, .stage = s}, k);
}

/*
 * F(k) at stage s stands behind B(0) .. B(behind[k] - 1): those whose versions F of a step up to k reads here, those
 * that the stage in front has put before F(k) too (or the two lists would wait for each other), and those that leave S
 * - s under way. No step asks for more than the steps before it, so what those before a part have asked for puts no F
 * into it or out of it.
 */
static mr_status fill(const part *p, uint64_t *behind)
{
	uint16_t n_stages = p->plan->n_stages;

	memset(behind, 0, p->a->n_steps * sizeof(*behind));
	for (uint16_t s = 0; s < n_stages; s++) {
		uint64_t done = p->begin, room = n_stages - (uint64_t)s, most = 0;

		for (uint32_t i = 0; i < p->a->n_steps; i++) {
			uint64_t k = p->begin + i, reads = read_of(p, k, s), full = k + 1 > room ? k + 1 - room : 0;

			most = reads > most ? reads : most;
			most = full > most ? full : most;
			most = behind[i] > most ? behind[i] : most;
			behind[i] = most;
			if (most < p->begin || most >= p->end) /* in another part */
				continue;
			while (done < most)
				MR_TRY(emit_b(p, done++, s));
			MR_TRY(emit_f(p, k, s));
		}
		while (done < p->end)
			MR_TRY(emit_b(p, done++, s));
	}
	return MR_OK;
}

/* Steps @begin to @end - 1, of @n_all. */
static mr_status emit_part(mr_rpd_stream *steps, uint64_t begin, uint64_t end, uint64_t n_all, mr_section section,
			   mr_plan *plan)
{
	uint64_t last = n_all - end > plan->n_stages ? end + plan->n_stages : n_all;
	part p = {.plan = plan, .section = section, .begin = begin, .end = end};
	uint64_t *behind;
	mr_aged *a = NULL;
	mr_status st;

	if (begin >= end)
		return MR_OK;
	behind = malloc((size_t)(last - begin) * sizeof(*behind));
	st = behind ? mr_rpd_stream_part(steps, begin, (uint32_t)(last - begin), &a)
		    : mr_fail(MR_ERESOURCE, "no memory for %llu steps", (unsigned long long)(last - begin));
	p.a = a;
	if (st == MR_OK)
		st = fill(&p, behind);
	free(behind);
	mr_aged_destroy(a);
	return st;
}

/* --- without an end --- */

typedef struct endless {
	mr_rpd_stream steps;
	uint64_t n_steps;
	uint32_t length;
} endless;

static mr_status window(void *arg, uint64_t n, mr_plan *out)
{
	endless *e = arg;
	uint64_t begin = n * e->length,
		 end = begin < e->n_steps && e->n_steps - begin > e->length ? begin + e->length : e->n_steps;

	return emit_part(&e->steps, begin, end, e->n_steps, MR_BODY, out);
}

static void destroy(void *arg)
{
	endless *e = arg;

	mr_rpd_stream_fini(&e->steps);
	free(e);
}

/* Moves the contents of @steps into the plan. */
static mr_status make_endless(mr_rpd_stream *steps, uint64_t n_steps, mr_plan *plan)
{
	endless *e = malloc(sizeof(*e));
	mr_endless *own = malloc(sizeof(*own));

	if (!e || !own) {
		free(e);
		free(own);
		return mr_fail(MR_ERESOURCE, "no memory for an endless plan");
	}
	*e = (endless){.steps = *steps, .n_steps = n_steps, .length = plan->n_micro};
	*own = (mr_endless){
		.n_steps = n_steps,
		.identity = mr_rpd_stream_hash(steps),
		.window = window,
		.destroy = destroy,
		.arg = e,
	};
	*steps = (mr_rpd_stream){0};
	plan->endless = own;
	return MR_OK;
}

static uint32_t oldest(const mr_plan *plan)
{
	uint32_t most = 0;

	for (uint16_t s = 0; s < plan->n_stages; s++)
		for (uint32_t i = 0; i < mr_plan_list(plan, s, MR_PROLOGUE)->n; i++) {
			const mr_instr *in = &mr_plan_list(plan, s, MR_PROLOGUE)->at[i];

			most = in->micro - (uint32_t)in->read > most ? in->micro - (uint32_t)in->read : most;
		}
	return most;
}

/* Steps of a window: no longer than the run, but at least as many as are under way at once. */
static uint32_t window_length(const mr_sched_args *args, uint64_t n_all)
{
	uint64_t n = WINDOW_CELLS / args->n_workers;

	n = args->window ? args->window : n < WINDOW ? n : WINDOW;
	n = args->n_steps && args->n_steps < n ? args->n_steps : n;
	n = n > args->n_workers ? n : args->n_workers;
	return (uint32_t)(n < n_all ? n : n_all);
}

/* Steps that the lists have. The forwards of later steps that run among the last steps of a run stay the same when the
 * run is extended. */
static uint64_t end_of(const mr_sched_args *args, const mr_rpd_stream *steps)
{
	if (args->finite)
		return args->n_micro;
	if (steps->record)
		return steps->record->n_steps;
	return args->n_steps ? args->n_steps + args->n_workers : UINT64_MAX;
}

static mr_status emit_steps(const mr_sched_args *args, mr_rpd_stream *steps, mr_plan **out)
{
	uint64_t n_all = end_of(args, steps);
	uint32_t n = args->finite ? args->n_micro : window_length(args, n_all);
	mr_plan *plan;
	mr_status st;

	MR_TRY(mr_straight_create(args, "rpd", n, &plan));
	plan->n_micro = plan->commits = n;
	st = emit_part(steps, 0, n, n, MR_PROLOGUE, plan);
	plan->contract = (mr_contract){
		.coverage = MR_COVER_BLOCK,
		.flush = MR_FLUSH_NONE,
		.read_f = MR_READ_AGED,
		.sum = MR_SUM_ASCENDING,
		.need = 1,
		.same_version_b = true,
		.max_staleness = args->finite ? oldest(plan) : mr_rpd_stream_oldest(steps),
	};
	if (st == MR_OK && !args->finite)
		st = make_endless(steps, n_all, plan);
	return mr_sched_finish(plan, st, out);
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_rpd_stream steps;
	mr_status st = open_stream(args, &steps);

	if (st == MR_OK && !args->finite && !steps.p.n_batches)
		st = mr_fail(MR_ECONFIG, "minibatches are drawn from the data, and there are none");
	if (st == MR_OK)
		st = emit_steps(args, &steps, out);
	mr_rpd_stream_fini(&steps);
	return st;
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
