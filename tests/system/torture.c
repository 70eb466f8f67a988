#include "torture.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "oracle.h"
#include "rig.h"

#define MOST_MICRO 7

/* One random configuration. */
typedef struct draw {
	uint64_t number, n_drawn;
	char model[200], sets[600], system[200];
	bool gpt, asynchronous, stale, predicts, latest, mitigated, tied, clipped;
	uint32_t micro;
	uint64_t steps;
	uint32_t workers;
} draw;

static uint32_t below(draw *d, uint32_t n)
{
	return mr_rng_u32(d->number, MR_RNG_TEST, 1, 0, d->n_drawn++) % n;
}

static bool one_in(draw *d, uint32_t n)
{
	return below(d, n) == 0;
}

static void draw_model(draw *d)
{
	static const char *const acts[] = {"relu", "gelu", "none"};

	d->gpt = one_in(d, 3);
	d->tied = d->gpt && one_in(d, 2);
	if (d->gpt)
		snprintf(d->model, sizeof(d->model), "model.layers=%u model.width=%u model.dropout=%s model.tied=%s",
			 1 + below(d, 4), 4 * (1 + below(d, 3)), one_in(d, 2) ? "0.2" : "0.0",
			 d->tied ? "true" : "false");
	else
		snprintf(d->model, sizeof(d->model), "model.depth=%u model.width=%u model.activation=%s", below(d, 8),
			 1 + below(d, 20), acts[below(d, 3)]);
}

static void draw_system(draw *d)
{
	static const struct {
		const char *name;
		uint32_t micro; /* micro-batches a commit, for up to 5 workers; 0: any number, with a flush */
		bool stale;     /* even at one worker */
		bool predicts;
		bool latest; /* F reads the latest version, and nothing aims at another */
	} systems[] = {
		{.name = "gpipe system.backward=fifo"},
		{.name = "gpipe system.backward=lifo"},
		{.name = "1f1b"},
		{"pipedream", 1, false, false, true},
		{"pipedream system.vertical_sync=true", 1, false, false, false},
		{"pipedream system.order=greedy", 1, false, false, true},
		{"pipedream system.stashing=false", 1, false, false, true},
		{"pipedream_2bw", 6, true, false, false},
		{"pipedream_2bw system.recompute=always", 5, true, false, false},
		{"ampnet system.in_flight=4", 2, true, false, true},
		{"pipemare system.t1_steps=5", 1, false, false, false},
		{"pipemare system.t3_steps=3 system.recompute=always", 2, false, false, false},
		{"pipeoptim", 1, false, true, false},
		{"spectrain", 1, false, true, false},
		{"spectrain system.variant=v2", 1, true, true, false},
		{"xpipe", 3, true, true, false},
	};
	uint32_t i = below(d, sizeof(systems) / sizeof(systems[0]));

	d->asynchronous = systems[i].micro > 0;
	d->micro = systems[i].micro;
	d->stale = systems[i].stale;
	d->predicts = systems[i].predicts;
	d->latest = systems[i].latest;
	snprintf(d->system, sizeof(d->system), "system.name=%s", systems[i].name);
	d->workers = 1 + below(d, 5);
}

/* What is done about stale gradients, "" for nothing: some of it with an optimizer of its own. */
static const char *draw_mitigation(draw *d)
{
	static const char *const any[] = {" mitigation.name=staleness_aware", " mitigation.name=gap_aware",
					  " mitigation.name=gap_aware mitigation.memory=0.5",
					  " mitigation.name=dc_asgd",
					  " mitigation.name=dc_asgd mitigation.adaptive=true",
					  " mitigation.name=error_feedback"};
	static const char *const choosy[] = {
		" mitigation.name=delayed_nesterov mitigation.t1_steps=5 optimizer.name=nadamw",
		" mitigation.name=delayed_nesterov optimizer.name=momentum optimizer.nesterov=true",
		" mitigation.name=spike_compensation optimizer.name=momentum"};
	static const char *const predicting[] = {
		" mitigation.name=weight_prediction optimizer.name=ema",
		" mitigation.name=weight_prediction optimizer.name=adamw",
		" mitigation.name=spike_compensation mitigation.predict=true optimizer.name=momentum"};
	uint32_t kind = below(d, d->latest ? 3 : d->predicts ? 1 : 2);

	d->mitigated = d->asynchronous && one_in(d, 2);
	if (!d->mitigated)
		return "";
	return kind == 0 ? any[below(d, 6)] : kind == 1 ? choosy[below(d, 3)] : predicting[below(d, 3)];
}

static void draw_training(draw *d)
{
	static const char *const optimizers[] = {"sgd", "momentum", "momentum optimizer.nesterov=true", "adam",
						 "adamw"};
	static const char *const decays[] = {"", " optimizer.weight_decay=0.1",
					     " optimizer.weight_decay=0.1 optimizer.decay_scope=all"};
	static const char *const schedules[] = {"constant", "cosine", "linear", "one_cycle", "inverse_sqrt",
						"wsd lr_schedule.cooldown_curve=sqrt",
						("step lr_schedule.milestones=4 lr_schedule.step_every=3 "
						 "lr_schedule.gamma=0.5")};
	uint32_t micro = d->asynchronous ? d->micro : 1 + below(d, 7), samples = 1 + below(d, 3);
	const char *backend = "backend=reference precision=f32", *mitigation = draw_mitigation(d);
	const char *optimizer = optimizers[d->predicts ? 3 + below(d, 2) : below(d, 5)];
	bool own = strstr(mitigation, "optimizer.name="), coupled = !own && strcmp(optimizer, "adamw") && one_in(d, 2);
	const char *decay = own ? "" : decays[coupled ? 1 + below(d, 2) : below(d, 3)];
	int n;

	if (one_in(d, 3))
		backend = "backend=reference precision=f64";
	else if (one_in(d, 8) && mr_kernels_find("auto", MR_F32))
		backend = "backend=auto precision=f32";
	d->steps = d->asynchronous ? 8 + below(d, 12) : 3 + below(d, 5);
	d->clipped = one_in(d, 3);
	n = snprintf(d->sets, sizeof(d->sets),
		     "%s%s%s%s%s%s train.batch=%u train.microbatches=%u optimizer.lr=0.01 lr_schedule.name=%s "
		     "lr_schedule.warmup=%u train.seed=%u machine.spin_us=%d",
		     backend, own ? "" : " optimizer.name=", own ? "" : optimizer, decay,
		     coupled ? " optimizer.decay_kind=coupled" : "", mitigation, micro * samples, micro,
		     schedules[below(d, 7)], below(d, 3), below(d, 1000), (int)below(d, 4) - 1);
	if (d->clipped)
		n += snprintf(d->sets + n, sizeof(d->sets) - (size_t)n, " train.clip=0.2");
	/* How the optimizer's state is stored, and weights and activations. */
	if (strstr(d->sets, "precision=f32") && strcmp(optimizer, "sgd") && !one_in(d, 3))
		n += snprintf(d->sets + n, sizeof(d->sets) - (size_t)n, " optimizer.state=%s",
			      one_in(d, 2) ? "bf16" : "int8");
	if (strstr(d->sets, "precision=f32") && one_in(d, 4))
		snprintf(d->sets + n, sizeof(d->sets) - (size_t)n, " precision=bf16");
}

static void open_draw(rig *r, const draw *d, const char *system, const char *cut)
{
	rig_init(r);
	if (d->gpt)
		rig_gpt(r);
	rig_sets(r, d->model);
	rig_sets(r, d->sets);
	rig_sets(r, system);
	if (cut)
		rig_sets(r, cut);
}

/*
 * "machine.workers=D partition=..." with random legal cuts, or the automatic ones; lowers D to what the model allows.
 */
static void draw_cut(draw *d, const mr_graph *g, char *cut, size_t size)
{
	uint32_t max = mr_graph_max_stages(g), left;
	int n;

	if (d->workers > max)
		d->workers = max;
	left = d->workers - 1;
	n = snprintf(cut, size, "machine.workers=%u", d->workers);
	if (left == 0 || one_in(d, 2))
		return;
	n += snprintf(cut + n, size - (size_t)n, " partition=");
	max--;
	for (uint32_t node = 1; node < g->n_nodes && left; node++) {
		if (!mr_graph_cut_ok(g, node))
			continue;
		if (below(d, max--) < left) { /* each choice of cuts is as likely */
			left--;
			n += snprintf(cut + n, size - (size_t)n, "%u%s", node, left ? "," : "");
		}
	}
}

static bool any_pause(void *arg, const mr_step_rec *rec)
{
	draw *d = ((void **)arg)[0];

	rig_progress(((void **)arg)[1], rec);
	return !rec || !one_in(d, 6);
}

/* To @until, in one go, in parts, or asked to pause anywhere; now and then an evaluation. */
static void go(draw *d, rig *r, uint64_t from, uint64_t until, rig_result *out)
{
	uint32_t how = below(d, 3);
	void *arg[2] = {d, out};

	if (one_in(d, 2))
		rig_delays(1 + below(d, 60), d->number);
	while (from < until) {
		uint64_t end = how == 1 ? from + 1 + below(d, (uint32_t)(until - from)) : until;
		double loss;

		MR_CHECK_OK(mr_executor_run(&r->s.executor, end, how == 2 ? any_pause : rig_progress,
					    how == 2 ? (void *)arg : out, &from));
		if (r->s.data->n_valid && one_in(d, 3))
			MR_CHECK_OK(mr_executor_eval(&r->s.executor, NULL, NULL, &loss));
	}
	rig_delays(0, 0);
}

/* Save at a random step, restore into an engine made anew, go on there. */
static void save_and_restore(draw *d, rig *r, const char *cut, rig_result *out)
{
	uint64_t at = 1 + below(d, (uint32_t)d->steps - 1);
	rig_result saved = {0};
	mr_state st;

	rig_start(r);
	go(d, r, 0, at, out);
	rig_collect(r, false, &saved);
	rig_fini(r);
	open_draw(r, d, d->system, cut);
	rig_open(r);
	rig_start(r);
	MR_CHECK_OK(mr_executor_stand_at(&r->s.executor, at));
	MR_CHECK_OK(mr_executor_state(&r->s.executor, &st));
	CU_ASSERT_FATAL(rig_fill(&st, &saved));
	mr_state_fini(&st);
	rig_result_fini(&saved);
	go(d, r, at, d->steps, out);
}

/* What the system must equal where it is synchronous (or has one worker), in its order of sums. */
static void by_oracle(const draw *d, bool descending, rig_result *out)
{
	uint32_t first[2], begin[2] = {0}, micro[MOST_MICRO];
	oracle_lists lists = {1, 1, first, begin, micro};
	rig r;

	open_draw(&r, d, "system.name=sequential", NULL);
	rig_open(&r);
	CU_ASSERT_FATAL(r.s.n_micro <= MOST_MICRO);
	first[0] = 0;
	first[1] = r.s.graph->n_nodes;
	begin[1] = r.s.n_micro;
	for (uint32_t i = 0; i < r.s.n_micro; i++)
		micro[i] = descending ? r.s.n_micro - 1 - i : i;
	oracle_train(&r.s, &lists, d->steps, true, out);
	rig_fini(&r);
}

static void drop_norms(rig_result *a)
{
	for (uint64_t i = 0; i < a->n_steps; i++)
		a->step[i].norm = -1;
}

static void compare(draw *d, rig *r, const char *cut, const char *what)
{
	static const mr_replay_order orders[] = {MR_REPLAY_ROUND_ROBIN, MR_REPLAY_LAST_FIRST, MR_REPLAY_RANDOM};
	rig_result got = {0}, replayed = {0}, want = {0};
	bool same_as_sequential = !d->asynchronous || (d->workers == 1 && !d->stale && !d->mitigated);
	bool descending = r->s.plan->contract.sum == MR_SUM_DESCENDING;

	rig_replay(r, d->steps, orders[below(d, 3)], d->number, &replayed);
	if (one_in(d, 3)) {
		save_and_restore(d, r, cut, &got);
	} else {
		rig_start(r);
		go(d, r, 0, d->steps, &got);
	}
	rig_collect(r, true, &got);
	CU_ASSERT_FATAL(rig_equal(&got, &replayed, true, what));
	if (same_as_sequential) {
		by_oracle(d, descending, &want);
		if (d->asynchronous) { /* clips per stage: the same factor, but no global norm to report */
			drop_norms(&want);
			drop_norms(&got);
		}
		CU_ASSERT_FATAL(rig_equal(&got, &want, false, what));
	}
	rig_result_fini(&got);
	rig_result_fini(&replayed);
	rig_result_fini(&want);
}

static void one(uint64_t number)
{
	draw d = {.number = number};
	char cut[300], what[1500];
	rig r;

	draw_model(&d);
	draw_system(&d);
	draw_training(&d);
	open_draw(&r, &d, "system.name=sequential", NULL);
	rig_open(&r);
	draw_cut(&d, r.s.graph, cut, sizeof(cut));
	rig_fini(&r);
	snprintf(what, sizeof(what), "MR_TORTURE=%llu: %s %s %s %s, %llu steps", (unsigned long long)number, d.model,
		 d.system, cut, d.sets, (unsigned long long)d.steps);
	open_draw(&r, &d, d.system, cut);
	if (d.tied && d.asynchronous && d.workers > 1) {
		MR_CHECK_FAIL(rig_try_open(&r), MR_ECONFIG, "tied");
	} else {
		mr_status st = rig_try_open(&r);

		if (st != MR_OK)
			fprintf(stderr, "\n%s: %s\n", what, mr_error_text());
		CU_ASSERT_EQUAL_FATAL(st, MR_OK);
		compare(&d, &r, cut, what);
	}
	rig_fini(&r);
}

void torture_run(uint64_t first, uint64_t n)
{
	const char *only = getenv("MR_TORTURE");

	if (only) {
		one(strtoull(only, NULL, 10));
		return;
	}
	for (uint64_t i = first; i < first + n; i++)
		one(i);
}
