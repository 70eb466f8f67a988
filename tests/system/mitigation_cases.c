/*
 * mitigation_cases.c - every system that has stale gradients, with every mitigation and every optimizer: either a run
 * of the engine equals its single-thread replay to the bit, and a run that was saved and restored on the way equals one
 * that was not; or the combination is refused, for a reason that the table below lists. A race is compared with its
 * record.
 */
#include "mitigation_cases.h"

#include <string.h>

#include "check.h"
#include "race_cases.h"
#include "rig.h"
#include "replay/record.h"

#define MODEL "model.depth=3 model.width=6 train.batch=4 train.steps=600 "

typedef struct entry {
	const char *name; /* for the table of refusals */
	const char *sets;
} entry;

static const entry systems[] = {
	{"pipedream", "system.name=pipedream train.microbatches=1 machine.workers=3"},
	{"pipedream, stashing=false", "system.name=pipedream system.stashing=false train.microbatches=1 "
				      "machine.workers=3"},
	{"pipedream, vertical_sync", "system.name=pipedream system.vertical_sync=true train.microbatches=1 "
				     "machine.workers=3"},
	{"pipedream, greedy", "system.name=pipedream system.order=greedy system.noam=4 train.microbatches=1 "
			      "machine.workers=3"},
	{"pipedream, replicas=[2,1]", "system.name=pipedream system.replicas=[2,1] train.microbatches=2 "
				      "machine.workers=3"},
	{"pipedream, replicas=[1,2], one copy", "system.name=pipedream system.replicas=[1,2] system.stashing=false "
						"train.microbatches=2 machine.workers=3"},
	{"pipedream_2bw", "system.name=pipedream_2bw train.microbatches=2 machine.workers=2"},
	{"pipedream_2bw, recompute", "system.name=pipedream_2bw system.recompute=always train.batch=6 "
				     "train.microbatches=3 machine.workers=3"},
	{"wpipe", "system.name=wpipe train.microbatches=2 machine.workers=2"},
	{"ampnet", "system.name=ampnet system.in_flight=5 train.microbatches=2 machine.workers=2"},
	{"paci", "system.name=paci train.microbatches=2 machine.workers=3"},
	{"pipemare", "system.name=pipemare system.t1_steps=5 train.microbatches=1 machine.workers=3"},
	{"spectrain", "system.name=spectrain train.microbatches=1 machine.workers=3"},
	{"spectrain, v2", "system.name=spectrain system.variant=v2 train.microbatches=1 machine.workers=3"},
	{"pipeoptim", "system.name=pipeoptim train.microbatches=1 machine.workers=3"},
	{"xpipe", "system.name=xpipe train.microbatches=2 machine.workers=3"},
	{"roundpipe, async", "system.name=roundpipe system.optimizer=async train.microbatches=4 machine.workers=2"},
	{"rpd", "system.name=rpd system.delta=4 train.microbatches=1 machine.workers=3"},
};

static const entry mitigations[] = {
	{"staleness_aware", "mitigation.name=staleness_aware"},
	{"gap_aware", "mitigation.name=gap_aware"},
	{"dc_asgd", "mitigation.name=dc_asgd mitigation.lambda=0.5"},
	{"dc_asgd, adaptive", "mitigation.name=dc_asgd mitigation.adaptive=true"},
	{"delayed_nesterov", "mitigation.name=delayed_nesterov"},
	{"delayed_nesterov, t1_steps", "mitigation.name=delayed_nesterov mitigation.t1_steps=6"},
	{"spike_compensation", "mitigation.name=spike_compensation"},
	{"spike_compensation, predict", "mitigation.name=spike_compensation mitigation.predict=true"},
	{"weight_prediction", "mitigation.name=weight_prediction"},
	{"error_feedback", "mitigation.name=error_feedback"},
};

static const entry optimizers[] = {
	{"sgd", "optimizer.name=sgd train.clip=0.5"},
	{"momentum", "optimizer.name=momentum optimizer.lr=0.01"},
	{"momentum, nesterov", "optimizer.name=momentum optimizer.nesterov=true optimizer.lr=0.01 train.clip=0.5"},
	{"ema", "optimizer.name=ema"},
	{"adam", "optimizer.name=adam"},
	{"adamw", "optimizer.name=adamw train.clip=0.5"},
	{"nadam", "optimizer.name=nadam optimizer.beta1=0.9"},
	{"nadamw", "optimizer.name=nadamw"},
	{"muon", "optimizer.name=muon"},
	{"soap", "optimizer.name=soap optimizer.frequency=3"},
	{"rotated_adam", "optimizer.name=rotated_adam optimizer.frequency=2 optimizer.refresh=delay train.clip=0.5"},
};

/* Every field is the beginning of a name above, or with a $ all of it; "" is the beginning of all. The first line that
 * fits counts. */
typedef struct refusal {
	const char *system, *mitigation, *optimizer, *message;
} refusal;

static const refusal refusals[] = {
	/* The optimizer is not the one that the mitigation is a theorem about. */
	{"", "delayed_nesterov", "sgd", "an optimizer that looks ahead"},
	{"", "delayed_nesterov", "ema", "an optimizer that looks ahead"},
	{"", "delayed_nesterov", "adam", "an optimizer that looks ahead"},
	{"", "delayed_nesterov", "soap", "an optimizer that looks ahead"},
	{"", "delayed_nesterov", "rotated_adam", "an optimizer that looks ahead"},
	{"", "spike_compensation", "sgd", "whose steps are sums of past gradients that decay by mu"},
	{"", "spike_compensation", "adam", "whose steps are sums of past gradients that decay by mu"},
	{"", "spike_compensation", "nadam", "whose steps are sums of past gradients that decay by mu"},
	{"", "spike_compensation", "muon", "whose steps are sums of past gradients that decay by mu"},
	{"", "spike_compensation", "soap", "whose steps are sums of past gradients that decay by mu"},
	{"", "spike_compensation", "rotated_adam", "whose steps are sums of past gradients that decay by mu"},
	{"", "spike_compensation", "momentum, nesterov", "whose steps are sums of past gradients that decay by mu"},
	{"", "delayed_nesterov$", "nadamw",
	 "beta1 of nadamw is 0.99 already, so every stage would have as much: set optimizer.beta1 = 0.9"},
	/* The system itself predicts along a direction that the optimizer does not keep. */
	{"spectrain", "", "sgd", "predicts weights along the optimizer's direction, and"},
	{"spectrain", "", "nadam", "predicts weights along the optimizer's direction, and"},
	{"spectrain", "", "muon", "predicts weights along the optimizer's direction, and"},
	{"spectrain", "", "soap", "predicts weights along the optimizer's direction, and"},
	{"spectrain", "", "rotated_adam", "predicts weights along the optimizer's direction, and"},
	{"pipeoptim", "", "sgd", "predicts weights along the optimizer's direction, and"},
	{"pipeoptim", "", "nadam", "predicts weights along the optimizer's direction, and"},
	{"pipeoptim", "", "muon", "predicts weights along the optimizer's direction, and"},
	{"pipeoptim", "", "soap", "predicts weights along the optimizer's direction, and"},
	{"pipeoptim", "", "rotated_adam", "predicts weights along the optimizer's direction, and"},
	{"xpipe", "", "sgd", "predicts weights along the optimizer's direction, and"},
	{"xpipe", "", "nadam", "predicts weights along the optimizer's direction, and"},
	{"xpipe", "", "muon", "predicts weights along the optimizer's direction, and"},
	{"xpipe", "", "soap", "predicts weights along the optimizer's direction, and"},
	{"xpipe", "", "rotated_adam", "predicts weights along the optimizer's direction, and"},
	{"", "delayed_nesterov, t1", "momentum, nesterov", NULL},
	{"", "delayed_nesterov", "momentum, nesterov", NULL},
	{"", "delayed_nesterov", "momentum", "an optimizer that looks ahead"},
	/* Predictions of predictions, of corrections, and of what is no step. */
	{"pipemare", "weight_prediction", "", "F on predictions would leave none"},
	{"pipemare", "spike_compensation, predict", "", "F on predictions would leave none"},
	{"spectrain", "weight_prediction", "", "twice the way is too far"},
	{"spectrain", "spike_compensation, predict", "", "twice the way is too far"},
	{"pipeoptim", "weight_prediction", "", "twice the way is too far"},
	{"pipeoptim", "spike_compensation, predict", "", "twice the way is too far"},
	{"xpipe", "weight_prediction", "", "twice the way is too far"},
	{"xpipe", "spike_compensation, predict", "", "twice the way is too far"},
	{"rpd", "weight_prediction", "", "at the others the last step is none"},
	{"rpd", "spike_compensation, predict", "", "at the others the last step is none"},
};

#define N(x) (sizeof(x) / sizeof((x)[0]))

static bool begins(const char *with, const char *name)
{
	size_t n = strcspn(with, "$");

	return !strncmp(name, with, n) && (!with[n] || !name[n]);
}

/* The message of the refusal, or NULL. */
static const char *refused(const char *system, const char *mitigation, const char *optimizer)
{
	for (size_t i = 0; i < N(refusals); i++)
		if (begins(refusals[i].system, system) && begins(refusals[i].mitigation, mitigation) &&
		    begins(refusals[i].optimizer, optimizer))
			return refusals[i].message;
	return NULL;
}

typedef struct cell {
	const entry *system, *mitigation, *optimizer; /* mitigation NULL: none */
	char what[160];
} cell;

static void prepare(rig *r, const cell *c)
{
	rig_init(r);
	rig_sets(r, MODEL);
	rig_sets(r, c->system->sets);
	rig_sets(r, c->optimizer->sets);
	if (c->mitigation)
		rig_sets(r, c->mitigation->sets);
}

static bool is_refused(cell *c)
{
	const char *message =
		refused(c->system->name, c->mitigation ? c->mitigation->name : "none", c->optimizer->name);
	mr_status st;
	rig r;

	if (!message)
		return false;
	prepare(&r, c);
	st = rig_try_open(&r);
	if (st != MR_ECONFIG || !strstr(mr_error_text(), message))
		fprintf(stderr, "\n%s: not refused for \"%s\": %s\n", c->what, message,
			st == MR_OK ? "accepted" : mr_error_text());
	CU_ASSERT_FATAL(st == MR_ECONFIG && strstr(mr_error_text(), message) != NULL);
	rig_fini(&r);
	return true;
}

static void open_cell(rig *r, const cell *c)
{
	mr_status st;

	prepare(r, c);
	st = rig_try_open(r);
	if (st != MR_OK)
		fprintf(stderr, "\n%s: refused: %s\n", c->what, mr_error_text());
	CU_ASSERT_EQUAL_FATAL(st, MR_OK);
}

#define STEPS 9
#define SAVED 4

/* On from what was @saved, in an engine that has been used. */
static void resume(const cell *c, const rig_result *saved, const rig_result *want)
{
	rig_result got = {0};
	mr_state st;
	rig r;

	open_cell(&r, c);
	rig_start(&r);
	rig_run(&r, 3, NULL);
	MR_CHECK_OK(mr_executor_stand_at(&r.s.executor, SAVED));
	MR_CHECK_OK(mr_executor_state(&r.s.executor, &st));
	CU_ASSERT_FATAL(rig_fill(&st, saved));
	mr_state_fini(&st);
	rig_run(&r, STEPS, &got);
	rig_collect(&r, false, &got);
	CU_ASSERT_EQUAL_FATAL(got.n_steps, STEPS - SAVED);
	CU_ASSERT_FATAL(rig_equal(&got, want, true, c->what));
	rig_result_fini(&got);
	rig_fini(&r);
}

/* The engine's run, which is left in @whole. */
static void holds(const cell *c, rig_result *whole)
{
	rig_result replayed = {0}, saved = {0}, rest = {0};
	rig r;

	open_cell(&r, c);
	rig_replay(&r, STEPS, MR_REPLAY_RANDOM, 7, &replayed);
	rig_start(&r);
	rig_run(&r, SAVED, whole);
	rig_collect(&r, false, &saved);
	rig_run(&r, STEPS, &rest);
	for (uint64_t i = 0; i < rest.n_steps; i++)
		rig_progress(whole, &(mr_step_rec){.step = rest.step[i].step,
						   .loss = rest.step[i].loss,
						   .lr = rest.step[i].lr,
						   .norm = rest.step[i].norm});
	rig_collect(&r, false, whole);
	rig_collect(&r, false, &rest);
	rig_fini(&r);
	CU_ASSERT_FATAL(rig_equal(whole, &replayed, true, c->what));
	resume(c, &saved, &rest);
	rig_result_fini(&replayed);
	rig_result_fini(&saved);
	rig_result_fini(&rest);
}

/* A slow start is for gradients that are more than one commit late, and nadamw's memory leaves nothing else to change.
 */
static bool may_be_idle(const cell *c)
{
	return begins("delayed_nesterov, t1", c->mitigation->name) && begins("nadamw", c->optimizer->name);
}

/* Of the optimizers that @system takes with mitigation @m: is @optimizer one of each @every, or the last where they are
 * fewer than that? */
static bool is_chosen(const entry *system, size_t m, const entry *optimizer, uint32_t every)
{
	uint32_t n = 0, k = 0, wanted = (uint32_t)((size_t)(system - systems) + m) % every;

	for (size_t o = 0; o < N(optimizers); o++) {
		if (refused(system->name, mitigations[m].name, optimizers[o].name))
			continue;
		k += &optimizers[o] < optimizer;
		n++;
	}
	return k % every == (wanted < n ? wanted : n - 1);
}

/* What a system does with one optimizer: without a mitigation, and with those for which it is chosen. */
static void row(const entry *system, const entry *optimizer, uint32_t every)
{
	rig_result plain = {0}, whole = {0};
	cell c = {.system = system, .optimizer = optimizer};
	bool idle;

	snprintf(c.what, sizeof(c.what), "%s, %s, no mitigation", system->name, optimizer->name);
	if (!RIG_TSAN && refused(system->name, "none", optimizer->name) == NULL) /* threads do no more with one */
		holds(&c, &plain);
	for (size_t i = 0; i < N(mitigations); i++) {
		c.mitigation = &mitigations[i];
		snprintf(c.what, sizeof(c.what), "%s, %s, %s", system->name, mitigations[i].name, optimizer->name);
		if (is_refused(&c) || !is_chosen(system, i, optimizer, every))
			continue;
		holds(&c, &whole);
		idle = plain.model.n && !may_be_idle(&c) &&
		       !memcmp(whole.step + STEPS - 1, plain.step + STEPS - 1, sizeof(rig_step));
		if (idle)
			fprintf(stderr, "\n%s changes nothing\n", c.what);
		CU_ASSERT_FALSE(idle);
		rig_result_fini(&whole);
	}
	rig_result_fini(&plain);
}

void mitigation_matrix(uint32_t every)
{
	for (size_t s = 0; s < N(systems); s++)
		for (size_t o = 0; o < N(optimizers); o++)
			row(&systems[s], &optimizers[o], every);
}

/* A race, with whatever mitigation, is what its record makes of it: weights, optimizer, the mitigation's state, losses
 * and rates. */
void mitigation_races(uint32_t every)
{
	for (size_t m = 0; m < N(mitigations); m++)
		for (size_t o = 0; o < N(optimizers); o++) {
			rig_result raced = {0}, again = {0};
			mr_plan *record, *read;
			char sets[300];
			rig r;

			if (refused("ampnet, racing", mitigations[m].name, optimizers[o].name) || (m + o) % every)
				continue;
			snprintf(sets, sizeof(sets), MODEL "system.in_flight=%d train.microbatches=%d %s %s",
				 3 + (int)(o % 3), o % 2 ? 2 : 1, mitigations[m].sets, optimizers[o].sets);
			race_open(&r, false, sets, 3, RACE_MICRO);
			rig_delays(100, o + 1);
			rig_run(&r, STEPS, &raced);
			rig_delays(0, 0);
			rig_collect(&r, false, &raced);
			MR_CHECK_OK(mr_record_plan(mr_executor_run_of(&r.s.executor), &record));
			read = race_through_text(record);
			race_replay(&r, read, STEPS, (uint32_t)o, &again);
			CU_ASSERT_FATAL(rig_equal(&again, &raced, true, sets));
			race_run_again(&r, read, STEPS, (uint32_t)o, &again);
			CU_ASSERT_FATAL(rig_equal(&again, &raced, true, sets));
			mr_plan_destroy(record);
			mr_plan_destroy(read);
			rig_result_fini(&raced);
			rig_result_fini(&again);
			rig_fini(&r);
		}
}

/* Each line of the table is used. */
void mitigation_table(void)
{
	for (size_t i = 0; i < N(refusals); i++) {
		bool used = false;

		for (size_t s = 0; s < N(systems); s++)
			for (size_t m = 0; m < N(mitigations); m++)
				for (size_t o = 0; o < N(optimizers); o++)
					used |= refusals[i].message == NULL ||
						refused(systems[s].name, mitigations[m].name, optimizers[o].name) ==
							refusals[i].message;
		CU_ASSERT_TRUE(used);
	}
}
