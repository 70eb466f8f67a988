/*
 * pipedream.c - 1F1B that never flushes: an update after every micro-batch, on stashed weights (3 stages, b = 2 f).
 *
 *   w0 F0F1F2........B0--F3B1--F4B2--F5B3--F6 ...     body: F(n+2) B(n)     F3 and B3 read version 1, after B0
 *   w1 ..F0F1....B0--F2B1--F3B2--F4B3--F5B4-- ...     body: F(n+1) B(n)     F3 and B3 read version 2, after B1
 *   w2 ....F0B0--F1B1--F2B2--F3B3--F4B4--F5B5 ...     body: F(n) B(n)       F3 and B3 read version 3, after B2
 *
 * Problem: a flushing pipeline idles (D - 1)(f + b) per update. Idea: do not flush. Each stage commits a version after
 * each backward and goes on. The backward of a micro-batch must then read the same weights as its forward, or its
 * gradient is the gradient of no function: the stage keeps (stashes) the versions that micro-batches in flight still
 * need.
 *
 * Versions. Stage k runs H = D - 1 - k forwards ahead. F(m) reads the stage's latest, max(0, m - H); B(m) reads the
 * same and commits version m + 1, so its gradient is min(m, H) commits stale: stages disagree about the version of one
 * micro-batch. With vertical_sync every stage reads what stage 0 read, max(0, m - (D - 1)): one consistent model for
 * each micro-batch, at staleness D - 1 and D versions everywhere. None of this depends on timing: the lists decide it.
 *
 * stashing = false keeps one copy: F and B read the latest version. The gradient then mixes two versions, min(m, H)
 * commits apart; this is the baseline with which stashing is compared.
 *
 * noam = K admits K micro-batches at stage 0 in place of D: H = max(0, K - 1 - k). A smaller K saves memory and leaves
 * workers idle; a larger K only adds staleness if the stages are equal, and can hide the waits of unequal ones. Where
 * it is known which workers are on other hosts, a larger K puts the micro-batches beyond D on the way between hosts: H
 * falls by 1 + e at a boundary between two of them, where all e add up to K - D and are as equal as can be, and by 1 at
 * all others. A latency L then costs nothing while 2 L <= e (f + b); else, with one such boundary, a micro-batch
 * takes (2 (f + b) + 2 L) / (e + 2).
 *
 * replicas = [r_0, r_1, ..] (1F1B-RR): a stage that is too long for one worker gets several, which take the
 * micro-batches in turn, m on replica m mod r, forward and backward. They add their gradients in the order of the
 * replicas after each round of r and commit together, so stage k makes a version every r_k micro-batches, with r_k /
 * r_0 times the learning rate (NOTE 3). Each runs H = floor((r_k + r_{k+1} + .. - 1) / r_k) forwards ahead: F(m) reads
 * max(0, m div r - H). With replicas = [2, 1]:
 *
 *   w0 F0F2....B0--......F4B2-- ...      stage 0: versions after B0 and B1, B2 and B3, ..; F4 and F5 read version 1
 *   w1 F1F3..........B1--F5.... ...
 *   w2 ..F0B0--F1B1--F2B2--F3.. ...      stage 1: a version after each B
 *
 * NOAM is ceil(workers / r_0) for each replica of stage 0, and noam = K differs from that: H grows by (K - NOAM) r_0 /
 * r_k. A step of the run is P micro-batches, the least common multiple of all r.
 *
 * drain = E lets the pipeline run empty after every E micro-batches, such as an epoch, and start again. The first H
 * that follow read their own versions like any others. (PipeDream's code keeps a queue of stashes over the drain, with
 * another result: the first D - 1 - k backwards of each later epoch read older weights than their forwards.) A run
 * stops only after a drain.
 *
 * Time: the only bubble is fill and drain, (D - 1)(f + b) once per run (with drain: each time). Memory at stage k:
 * activations of D - k micro-batches, D - k versions of the weights (D with vertical_sync); replicated, H + 1 of each
 * for a replica, rounded up to a multiple of P / r_k, which keep one copy of each version between them.
 *
 * Endless: the prologue is the H forwards of each stage, the body one F and one B (replicas: of each of P
 * micro-batches; drain: of E, and no prologue). Finite: N micro-batches and the drain, all in the prologue; the
 * run-ahead is clamped to min(N, H).
 *
 * order = greedy lets each stage do what is ready, B first until it has done one, then F and B in turn; only stage 0
 * limits what it admits, to noam. Middle stages then run ahead further than D - 1 - k and keep more versions (up to D).
 * How far they run ahead depends on the costs: the order is that of a simulation with the given costs, so it is a fixed
 * list as well. It is simulated until it is periodic; the part before that is the prologue, in which versions are made
 * too.
 *
 * Source: Harlap et al., PipeDream, arXiv 1806.03377; Narayanan et al., SOSP 2019, sections 3.2 and 3.3 (1F1B-RR: 3.2).
 * The greedy rule: the public simulator of Randomized PipeDream, arXiv 2606.03498.
 * NOTE 1: PipeDream's own code has the static order; it keeps one version more than needed (the working copy).
 * NOTE 2: which replica takes which micro-batch is fixed in advance, as in PipeDream's code, and does not depend on
 * which replica is ready. NOTE 3: the rate is that of PipeDream's code. Schedules of the rate count steps of the run,
 * so the rates of all stages decay together.
 */
#include <stdlib.h>
#include <string.h>

#include "schedules/common/greedy.h"
#include "schedules/common/layout.h"
#include "schedules/common/stage_costs.h"
#include "schedules/common/straight.h"

static const mr_option options[] = {
	{"vertical_sync", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "every stage reads the version that stage 0 read (D versions of every stage's weights)"},
	{"stashing", MR_OPT_BOOL, "true", 0, 0, NULL, NULL,
	 "B reads the version its F read; without it B reads the latest one, on activations of another: one copy, "
	 "biased gradients"},
	{"noam", MR_OPT_INT, "0", 0, 65535, NULL, NULL,
	 "micro-batches in flight at each replica of stage 0; 0: its share of one a worker, which is what keeps all of "
	 "them busy. More are on their way between hosts, where links are known"},
	{"replicas", MR_OPT_FLOATS, "[]", 1, 255, NULL, "workers",
	 "workers that each stage is replicated on, such as [2, 1, 1], which take the micro-batches in turn; empty: a "
	 "stage for each worker"},
	{"drain", MR_OPT_INT, "0", 0, 1000000, NULL, "micro-batches",
	 "after how many the pipeline runs empty and starts again, such as those of an epoch; 0: never"},
	{"order", MR_OPT_ENUM, "static", 0, 0, "static|greedy", NULL,
	 "static: a fixed run-ahead; greedy: each stage takes what is ready, as a simulation with the costs shows it"},
	MR_STAGE_COSTS_OPTION,
	{0},
};

static const mr_option_need needs[] = {
	{"costs", "order", "greedy"},
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	(void)n_workers;
	return 1;
}

/* Stages, replicas and micro-batches in flight, as the options give them. */
typedef struct shape {
	mr_layout layout;
	uint32_t noam;  /* micro-batches in flight at a replica of stage 0 */
	int64_t more;   /* in flight in all, beyond one a worker */
	const uint16_t *host; /* [workers] see mr_sched_args */
	uint32_t drain; /* micro-batches from drain to drain; 0: none */
	bool greedy;
} shape;

/* Boundaries between workers of several hosts, from that behind @stage on. */
static uint32_t crossings(const shape *s, uint32_t stage)
{
	uint32_t first = 0, n = 0;

	for (uint32_t k = 0; s->host && k + 1 < s->layout.n_stages; k++) {
		uint32_t next = first + mr_layout_replicas(&s->layout, k), w = first + 1;

		while (w < next + mr_layout_replicas(&s->layout, k + 1) && s->host[w] == s->host[first])
			w++;
		n += k >= stage && w < next + mr_layout_replicas(&s->layout, k + 1);
		first = next;
	}
	return n;
}

/* Forwards that a replica of @stage runs ahead. */
static uint32_t ahead_of(const shape *s, uint32_t stage)
{
	int64_t flight = s->more, all = s->more > 0 ? crossings(s, 0) : 0;

	if (all)
		flight = (s->more * crossings(s, stage) + all - 1) / all;

	for (uint32_t k = stage; k < s->layout.n_stages; k++)
		flight += mr_layout_replicas(&s->layout, k);
	return flight > 1 ? (uint32_t)(flight - 1) / mr_layout_replicas(&s->layout, stage) : 0;
}

static uint32_t step_micro(const mr_values *values)
{
	size_t n;
	const double *n_of = mr_values_floats(values, "replicas", &n);
	uint64_t workers = 0;
	mr_layout l;

	for (size_t s = 0; s < n; s++)
		workers += n_of[s] > 0 ? (uint64_t)n_of[s] : 0;
	if (n == 0 || workers > UINT16_MAX)
		return 1;
	return mr_layout_read(&(mr_sched_args){.n_workers = (uint16_t)workers, .options = values}, &l) == MR_OK
		       ? l.n_pipes
		       : 1;
}

static mr_status check_shape(const mr_sched_args *args, const shape *s)
{
	bool sync = mr_values_bool(args->options, "vertical_sync"), stash = mr_values_bool(args->options, "stashing");

	if (sync && !stash)
		return mr_fail(MR_ECONFIG,
			       "vertical_sync reads versions that are not the latest, so it needs stashing = true");
	if (sync && s->layout.n_pipes > 1)
		return mr_fail(MR_ECONFIG, "vertical_sync reads one version at all stages, and replicated stages "
					   "number theirs each in its own way");
	if (s->greedy && (s->layout.n_pipes > 1 || s->drain))
		return mr_fail(MR_ECONFIG, "order = greedy is for stages of one worker that never drain");
	if (s->drain % s->layout.n_pipes)
		return mr_fail(MR_ECONFIG,
			       "drain: %u micro-batches are no whole number of rounds of %u, which is what these "
			       "replicas take in turn",
			       s->drain, s->layout.n_pipes);
	if (args->finite && args->n_micro % s->layout.n_pipes)
		return mr_fail(MR_ECONFIG,
			       "%u micro-batches are no whole number of rounds of %u, which is what these replicas "
			       "take in turn",
			       args->n_micro, s->layout.n_pipes);
	return MR_OK;
}

static mr_status read_shape(const mr_sched_args *args, shape *s)
{
	int64_t given = mr_values_int(args->options, "noam");
	uint32_t own, r;

	MR_TRY(mr_layout_read(args, &s->layout));
	r = mr_layout_replicas(&s->layout, 0);
	own = (args->n_workers + r - 1) / r;
	s->noam = given ? (uint32_t)given : own;
	s->more = ((int64_t)s->noam - own) * r;
	s->host = args->host;
	s->drain = (uint32_t)mr_values_int(args->options, "drain");
	s->greedy = !strcmp(mr_values_string(args->options, "order"), "greedy");
	return check_shape(args, s);
}

/* The lists of a greedy order: all of it, or the prologue and then one version in each iteration. */
static mr_status fill_greedy(mr_plan *plan, const mr_greedy *g, uint32_t first)
{
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		const uint8_t *op = g->op + 2 * (size_t)g->n_micro * w;
		uint32_t n[MR_N_OPS] = {0};

		for (uint32_t i = 0; i < 2 * g->n_micro && n[MR_OP_B] < first + 1; i++) {
			/* The F right before B(first) begins the body. */
			bool body = i + 1 < 2 * g->n_micro && n[MR_OP_B] == first &&
				    (op[i] == MR_OP_B || op[i + 1] == MR_OP_B);

			MR_TRY(mr_sched_emit(plan, w, body ? MR_BODY : MR_PROLOGUE, (mr_op)op[i], n[op[i]]++, w, 0));
		}
	}
	return MR_OK;
}

static mr_status order_greedy(const mr_sched_args *args, uint32_t in_flight, mr_plan *plan)
{
	uint32_t n_micro = args->finite ? args->n_micro : 8u * plan->n_stages + 4 * in_flight + 32, first = n_micro;
	mr_stage_cost *cost = calloc(plan->n_stages, sizeof(*cost));
	mr_greedy g = {0};
	mr_status st = cost ? mr_stage_costs(args, plan, cost)
			    : mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", plan->n_stages);

	if (st == MR_OK)
		st = mr_greedy_run(cost, plan->n_stages, in_flight, n_micro, &g);
	if (st == MR_OK && !args->finite)
		first = mr_greedy_steady(&g, in_flight);
	if (st == MR_OK && first == UINT32_MAX)
		st = mr_fail(MR_ECONFIG, "with these costs the greedy order does not settle into one forward and one "
					 "backward in turn: take order = static");
	plan->n_micro = plan->commits = args->finite ? n_micro : 1;
	if (st == MR_OK)
		st = fill_greedy(plan, &g, first);
	mr_greedy_fini(&g);
	free(cost);
	return st;
}

static mr_status emit_greedy(const mr_sched_args *args, uint32_t in_flight, const mr_contract *contract, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_straight_create(args, "pipedream", args->n_micro, &plan));
	plan->contract = *contract;
	return mr_sched_finish(plan, order_greedy(args, in_flight, plan), out);
}

/* One replica of @stage: @n forwards and backwards in turn, the first @ahead forwards by themselves, from micro-batch
 * @first on. */
static mr_status emit_drained(mr_plan *plan, const shape *s, uint16_t stage, uint32_t replica, mr_section section,
			      uint32_t first, uint32_t n)
{
	uint32_t r = mr_layout_replicas(&s->layout, stage), ahead = ahead_of(s, stage);
	uint16_t w = mr_plan_worker(plan, (uint8_t)replica, stage);

	ahead = ahead < n ? ahead : n;
	for (uint32_t i = 0; i < n + ahead; i++) {
		uint32_t f = first + replica + i * r, b = first + replica + (i - ahead) * r;

		if (i < n)
			MR_TRY(mr_sched_emit(plan, w, section, MR_OP_F, f, stage, (uint8_t)(f % plan->n_pipes)));
		if (i >= ahead)
			MR_TRY(mr_sched_emit(plan, w, section, MR_OP_B, b, stage, (uint8_t)(b % plan->n_pipes)));
	}
	return MR_OK;
}

static mr_status emit_endless(mr_plan *plan, const shape *s, uint16_t stage, uint32_t replica)
{
	uint32_t r = mr_layout_replicas(&s->layout, stage), ahead = ahead_of(s, stage);
	uint16_t w = mr_plan_worker(plan, (uint8_t)replica, stage);

	for (uint32_t i = 0; i < ahead + plan->n_pipes / r; i++) {
		uint32_t f = replica + i * r, b = replica + (i - ahead) * r;

		MR_TRY(mr_sched_emit(plan, w, i < ahead ? MR_PROLOGUE : MR_BODY, MR_OP_F, f, stage,
				     (uint8_t)(f % plan->n_pipes)));
		if (i >= ahead)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, b, stage, (uint8_t)(b % plan->n_pipes)));
	}
	return MR_OK;
}

static mr_status emit_replica(mr_plan *plan, const mr_sched_args *args, const shape *s, uint16_t stage,
			      uint32_t replica)
{
	uint32_t r = mr_layout_replicas(&s->layout, stage), each = s->drain ? s->drain : plan->n_micro;

	if (!args->finite)
		return s->drain ? emit_drained(plan, s, stage, replica, MR_BODY, 0, each / r)
				: emit_endless(plan, s, stage, replica);
	for (uint32_t first = 0; first < plan->n_micro; first += each) {
		uint32_t left = plan->n_micro - first;

		MR_TRY(emit_drained(plan, s, stage, replica, MR_PROLOGUE, first, (left < each ? left : each) / r));
	}
	return MR_OK;
}

static mr_status fill(mr_plan *plan, const mr_sched_args *args, const shape *s)
{
	for (uint16_t k = 0; k < plan->n_stages; k++)
		for (uint32_t q = 0; q < mr_layout_replicas(&s->layout, k); q++)
			MR_TRY(emit_replica(plan, args, s, k, q));
	return MR_OK;
}

static mr_status emit_static(const mr_sched_args *args, const shape *s, const mr_contract *contract, mr_plan **out)
{
	uint32_t pipes = s->layout.n_pipes, n = args->finite ? args->n_micro : s->drain ? s->drain : pipes;
	mr_sched_args own = *args;
	mr_plan *plan;

	own.n_micro = n + (args->finite ? 0 : s->noam * pipes); /* with what is under way, so that its room is looked at
	                                                           */
	MR_TRY(mr_sched_create(&own, "pipedream", s->layout.n_stages, pipes, 4, &plan));
	mr_layout_place(plan, &s->layout);
	plan->contract = *contract;
	plan->n_micro = n;
	plan->commits = n / pipes;
	for (uint16_t k = 0; k < plan->n_stages && pipes > 1; k++)
		plan->stage_replicas[k] = (uint8_t)mr_layout_replicas(&s->layout, k);
	return mr_sched_finish(plan, fill(plan, args, s), out);
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	bool sync = mr_values_bool(args->options, "vertical_sync"), stash = mr_values_bool(args->options, "stashing");
	uint32_t most = 0;
	mr_contract contract;
	shape s;

	MR_TRY(read_shape(args, &s));
	for (uint32_t k = 0; k < s.layout.n_stages; k++)
		most = ahead_of(&s, k) > most ? ahead_of(&s, k) : most;
	contract = (mr_contract){
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_NONE,
		.read_f = sync ? MR_READ_TAG : MR_READ_LATEST,
		.sum = MR_SUM_ASCENDING,
		.need = s.layout.n_pipes,
		.same_version_b = stash,
		.max_staleness = most,
	};
	return s.greedy ? emit_greedy(args, s.noam, &contract, out) : emit_static(args, &s, &contract, out);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Activations that pipe 0 of @stage keeps if a replica has @rounds in flight, which are divided among all its pipes. */
static uint32_t slots_of(const shape *s, uint32_t stage, uint32_t rounds)
{
	uint32_t pipes = s->layout.n_pipes / mr_layout_replicas(&s->layout, stage);

	return (rounds + pipes - 1) / pipes;
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	bool sync = mr_values_bool(args->options, "vertical_sync"), stash = mr_values_bool(args->options, "stashing");
	uint32_t first, last, end, all = UINT32_MAX;
	shape s;

	out->versions_first = out->versions_last = 0;
	if (read_shape(args, &s) != MR_OK || s.greedy)
		return; /* greedy: time and memory depend on the costs */
	if (args->finite)
		all = args->n_micro;
	if (s.drain)
		all = least(all, s.drain);
	end = s.layout.n_stages - 1;
	first = least(ahead_of(&s, 0) + 1, all / mr_layout_replicas(&s.layout, 0));
	last = least(ahead_of(&s, end) + 1, all / mr_layout_replicas(&s.layout, end));
	if (args->finite && all == args->n_micro && s.layout.n_stages == args->n_workers && s.more == 0)
		out->bubble_time = (args->n_workers - 1) * (f + i + w);
	out->peak_slots_first = slots_of(&s, 0, first);
	out->peak_slots_last = slots_of(&s, end, last);
	out->versions_first = stash ? first : 1;
	out->versions_last = !stash ? 1 : sync ? first : last;
}

const mr_sched_ops mr_sched_pipedream = {
	.name = "pipedream",
	.summary = "1F1B without a flush: an update after every micro-batch, on stashed weights",
	.source = "Narayanan et al., PipeDream, SOSP 2019, sections 3.2 and 3.3",
	.options = options,
	.needs = needs,
	.in_flight_option = "noam",
	.asynchronous = true,
	.default_micro = default_micro,
	.step_micro = step_micro,
	.stages = mr_layout_stages,
	.emit = emit,
	.claims = claims,
};
