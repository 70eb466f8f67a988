/* The lowering: where commits stand, which versions are read, how much storage there is, and what is refused. */
#include "lower/lower.h"

#include <string.h>

#include "check.h"
#include "lower/check.h"
#include "ir/deps.h"
#include "ir/text.h"
#include "timing/walk.h"
#include "small_plans.h"

static void lower(mr_plan *p)
{
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_plan_check(p));
}

/* Ops of a list as text: "F0 B0 U0", with "'" for MR_INSTR_FIRST_SUM and "!" for MR_INSTR_UPDATE; U, N, AR: stage. */
static void expect_list(const mr_plan *p, uint16_t w, mr_section section, const char *want)
{
	const mr_list *l = mr_plan_list(p, w, section);
	char got[1024] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		const mr_instr *in = &l->at[i];

		len += (size_t)snprintf(got + len, sizeof(got) - len, "%s%s%u%s%s", len ? " " : "",
					mr_op_name((mr_op)in->op), in->op >= MR_OP_N ? in->stage : in->micro,
					in->flags & MR_INSTR_FIRST_SUM ? "'" : "",
					in->flags & MR_INSTR_UPDATE ? "!" : "");
	}
	if (strcmp(got, want))
		fprintf(stderr, "\nw%u is \"%s\"\n  not  \"%s\"\n", w, got, want);
	CU_ASSERT_STRING_EQUAL(got, want);
}

static void expect_table(const uint16_t *got, uint16_t a, uint16_t b, uint16_t c)
{
	CU_ASSERT_EQUAL(got[0], a);
	CU_ASSERT_EQUAL(got[1], b);
	CU_ASSERT_EQUAL(got[2], c);
}

static void commits_stand_behind_the_last_gradient(void)
{
	mr_plan *p = small_1f1b(2, 3);

	lower(p);
	expect_list(p, 0, MR_BODY, "F0 F1 B0' F2 B1 B2 U0");
	expect_list(p, 1, MR_BODY, "F0 B0' F1 B1 F2 B2 U1");
	CU_ASSERT_EQUAL(mr_plan_list(p, 0, MR_BODY)->at[6].target, 1);
	CU_ASSERT_EQUAL(mr_plan_list(p, 0, MR_BODY)->at[6].micro, 2);
	mr_plan_destroy(p);

	p = small_1f1b(2, 2);
	MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.update_inside = true}));
	MR_CHECK_OK(mr_plan_check(p));
	expect_list(p, 0, MR_BODY, "F0 F1 B0' B1!");
	CU_ASSERT_EQUAL(mr_plan_list(p, 0, MR_BODY)->at[3].target, 1);
	mr_plan_destroy(p);

	p = small_1f1b(2, 2); /* stage 0 waits for stage 1, nobody for stage 0 */
	MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.update_inside = true, .handoff_first = true}));
	MR_CHECK_OK(mr_plan_check(p));
	expect_list(p, 0, MR_BODY, "F0 F1 B0' B1!");
	expect_list(p, 1, MR_BODY, "F0 B0' F1 B1 U1");
	mr_plan_destroy(p);
}

static void validation_comes_before_the_first_gradient(void)
{
	mr_plan *p = small_1f1b(2, 3);

	p->contract.clip = true;
	p->contract.flush = MR_FLUSH_VALIDATED;
	lower(p);
	expect_list(p, 0, MR_BODY, "F0 F1 V0 B0' F2 B1 B2 N0 U0");
	expect_list(p, 1, MR_BODY, "F0 V1 B0' F1 B1 F2 B2 N1 U1");
	CU_ASSERT_EQUAL(mr_plan_list(p, 0, MR_BODY)->at[2].target, 0);
	CU_ASSERT_EQUAL(p->n_versions[0], 2);
	mr_plan_destroy(p);

	p = small_1f1b(2, 3);
	p->contract.flush = MR_FLUSH_VALIDATED;
	MR_CHECK_FAIL(mr_plan_lower(p, NULL), MR_ECONFIG, "validates clipping");
	mr_plan_destroy(p);
}

static void norms_come_before_all_updates(void)
{
	mr_plan *p = small_golden("interleaved1f1b_D2_T4_v2"); /* two stages a worker */

	p->contract.clip = true;
	lower(p);
	expect_list(p, 1, MR_BODY, "F0 F1 F0 B0' F1 B1 F2 B0' F3 B1 F2 B2 F3 B3 N3 B2 B3 N1 U3 U1");
	mr_plan_destroy(p);

	p = small_1f1b(2, 2);
	p->contract.clip = true; /* inside B there is no norm yet */
	MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.update_inside = true}));
	expect_list(p, 0, MR_BODY, "F0 F1 B0' B1 N0 U0");
	mr_plan_destroy(p);
}

static void reductions_come_before_norms(void)
{
	mr_plan *p = small_golden("chimera_D4_T4"); /* two pipes */

	p->contract.clip = true;
	lower(p);
	/* Worker 1 hosts stage 1 of pipe 0 and stage 2 of pipe 1: a range of each; the norm of stage 1 is its alone. */
	CU_ASSERT_EQUAL(mr_stage_owner(p, 1), 1);
	{
		static const struct {
			uint8_t op, stage, pipe;
		} tail[] = {{MR_OP_AR, 2, 1}, {MR_OP_AR, 1, 0}, {MR_OP_N, 1, 0}, {MR_OP_U, 2, 1}, {MR_OP_U, 1, 0}};
		const mr_list *l = mr_plan_list(p, 1, MR_BODY);

		CU_ASSERT_EQUAL_FATAL(l->n, 8 + 5);
		for (int k = 0; k < 5; k++) {
			CU_ASSERT_EQUAL(l->at[8 + k].op, tail[k].op);
			CU_ASSERT_EQUAL(l->at[8 + k].stage, tail[k].stage);
			CU_ASSERT_EQUAL(l->at[8 + k].pipe, tail[k].pipe);
		}
	}
	mr_plan_destroy(p);

	p = small_1f1b(3, 2);
	p->contract.tied = true;
	lower(p);
	expect_list(p, 0, MR_BODY, "F0 F1 B0' B1 AR0 U0");
	expect_list(p, 1, MR_BODY, "F0 F1 B0' B1 U1");
	expect_list(p, 2, MR_BODY, "F0 B0' F1 B1 U2");
	mr_plan_destroy(p);
}

/* Where the drain leaves gaps, and nobody waits for what is left, a complete stage of two pipes is stepped in a gap. */
static void reductions_fill_gaps(void)
{
	mr_plan *p = small_golden("chimera_D4_T4");

	lower(p);
	expect_list(p, 0, MR_BODY, "F0 F1 F2 B2' F3 B3 AR3 U3 B0' B1 AR0 U0");
	expect_list(p, 1, MR_BODY, "F0 F2 F1 F3 B2' B0' B3 B1 AR2 U2 AR1 U1"); /* worker 0 waits to the last */
	mr_plan_destroy(p);

	p = small_golden("chimera_D4_T4");
	p->contract.clip = true; /* the step waits for the norms of all stages, the reduction does not */
	lower(p);
	expect_list(p, 0, MR_BODY, "F0 F1 F2 B2' F3 B3 AR3 B0' B1 AR0 N0 U3 U0");
	expect_list(p, 3, MR_BODY, "F2 F3 F0 B0' F1 B1 AR3 B2' B3 AR0 N3 U3 U0");
	mr_plan_destroy(p);

	p = small_golden("chimera_D2_T2"); /* no gap */
	lower(p);
	expect_list(p, 0, MR_BODY, "F0 F1 B1' B0' AR1 U1 AR0 U0");
	mr_plan_destroy(p);
}

/* PipeDream: F(m) and B(m) at stage k read max(0, m - (D-1-k)), B(m) commits m + 1; D - k versions. */
static void pipedream_versions(void)
{
	for (uint16_t d = 1; d <= 6; d++) {
		mr_plan *p = small_pipedream(d, false, false);

		lower(p);
		for (uint16_t k = 0; k < d; k++) {
			const mr_list *body = mr_plan_list(p, k, MR_BODY);
			int32_t ahead = d - 1 - k;

			CU_ASSERT_EQUAL(p->n_versions[k], d - k);
			CU_ASSERT_EQUAL(p->n_slots[k], d - k);
			CU_ASSERT_EQUAL_FATAL(body->n, 3);
			CU_ASSERT_EQUAL(body->at[0].read, 0); /* micro-batch n + ahead reads version n */
			CU_ASSERT_EQUAL(body->at[1].read, -ahead);
			CU_ASSERT_EQUAL(body->at[2].target, 1);
			CU_ASSERT_EQUAL(mr_instr_read(p, &body->at[1], 1), d - k > 1 ? 0 : 1);
		}
		CU_ASSERT_EQUAL(p->storage, MR_MODULO);
		mr_plan_destroy(p);
	}
}

/* All stages read what stage 0 read; D versions everywhere. */
static void vertical_sync_versions(void)
{
	mr_plan *p = small_pipedream(3, true, true);

	lower(p);
	expect_table(p->n_versions, 3, 3, 3);
	for (uint16_t k = 0; k < 3; k++) {
		const mr_list *body = mr_plan_list(p, k, MR_BODY), *drain = mr_plan_list(p, k, MR_EPILOGUE);

		for (uint32_t i = 0; i < body->n; i++)
			if (body->at[i].op == MR_OP_F || body->at[i].op == MR_OP_B)
				CU_ASSERT_EQUAL(body->at[i].read, (int32_t)body->at[i].micro - 2);
		for (uint32_t i = 0; i < drain->n; i++)
			if (drain->at[i].op == MR_OP_B)
				CU_ASSERT_EQUAL(drain->at[i].read, (int32_t)drain->at[i].micro - 2);
	}
	mr_plan_destroy(p);
}

static void slots_are_the_peak(void)
{
	mr_plan *p = small_1f1b(3, 5);

	lower(p);
	expect_table(p->n_slots, 3, 2, 1);
	expect_table(p->n_fwd, 0, 3, 2); /* slots + 1 */
	expect_table(p->n_bwd, 0, 2, 2); /* one in flight + 1 */
	mr_plan_destroy(p);

	p = small_1f1b(3, 1); /* fewer micro-batches than stages: no number above what passes */
	lower(p);
	expect_table(p->n_slots, 1, 1, 1);
	expect_table(p->n_fwd, 0, 1, 1);
	mr_plan_destroy(p);

	p = small_gpipe(3, 4, true);
	lower(p);
	expect_table(p->n_slots, 4, 4, 4);
	mr_plan_destroy(p);

	p = small_forward(3, 1); /* one micro-batch an iteration: iterations still overlap */
	lower(p);
	CU_ASSERT_EQUAL(p->storage, MR_MODULO);
	expect_table(p->n_fwd, 0, 2, 2);
	mr_plan_destroy(p);

	p = small_forward(3, 4);
	lower(p);
	expect_table(p->n_slots, 1, 1, 1);
	expect_table(p->n_fwd, 0, 2, 2);
	expect_table(p->n_bwd, 0, 0, 0);
	mr_plan_destroy(p);
}

/* An F that is recomputed holds a slot only while it runs; boundary inputs stay as many as are in flight. */
static void recomputed_micro_batches_share_a_slot(void)
{
	mr_plan *p = small_recompute(3, 5, 5);
	const mr_list *l;

	lower(p);
	expect_table(p->n_slots, 1, 1, 1);
	expect_table(p->n_fwd, 0, 5, 5);
	for (uint16_t w = 0; w < 3; w++) {
		l = mr_plan_list(p, w, MR_BODY);
		for (uint32_t i = 0; i < l->n; i++) {
			CU_ASSERT_EQUAL(l->at[i].flags & MR_INSTR_DROP, l->at[i].op == MR_OP_F ? MR_INSTR_DROP : 0);
			if (l->at[i].op == MR_OP_R && w > 0) /* reads the buffer that its F read */
				CU_ASSERT_EQUAL(l->at[i].in, l->at[l->at[i].micro].in);
		}
	}
	mr_plan_destroy(p);

	p = small_recompute(2, 4, 1); /* what F1 keeps stands beside one that is recomputed */
	lower(p);
	CU_ASSERT_EQUAL(p->n_slots[0], 2);
	l = mr_plan_list(p, 0, MR_BODY);
	CU_ASSERT_EQUAL(l->at[1].flags, 0);
	CU_ASSERT_EQUAL(l->at[1].slot, 0);
	CU_ASSERT_EQUAL(l->at[4].op, MR_OP_R);
	CU_ASSERT_EQUAL(l->at[4].slot, 1);
	CU_ASSERT_EQUAL(l->at[5].slot, 1);
	mr_plan_destroy(p);
}

/* A W of several micro-batches: the first gradient and the last at once, and all slots free at its end. */
static void merged_weight_gradients(void)
{
	mr_plan *p = small_merged(2, 6, 3, false);
	const mr_list *l;

	lower(p);
	expect_list(p, 0, MR_BODY, "F0 F1 I0 F2 I1 F3 I2 W0' F4 I3 F5 I4 I5 W3 U0");
	expect_list(p, 1, MR_BODY, "F0 I0 F1 I1 F2 I2 W0' F3 I3 F4 I4 F5 I5 W3 U1");
	CU_ASSERT_EQUAL(p->n_slots[0], 4);
	CU_ASSERT_EQUAL(p->n_slots[1], 3);
	CU_ASSERT_EQUAL(p->n_fwd[1], 4); /* in flight + 1 */
	l = mr_plan_list(p, 1, MR_BODY);
	CU_ASSERT_EQUAL(l->at[6].span, 3);
	for (uint32_t i = 7; i < 13; i++)
		if (l->at[i].op == MR_OP_F) /* all three are free again, the lowest first */
			CU_ASSERT_EQUAL(l->at[i].slot, l->at[i].micro - 3);
	mr_plan_destroy(p);

	p = small_merged(2, 4, 4, false);
	MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.update_inside = true, .handoff_first = true}));
	MR_CHECK_OK(mr_plan_check(p));
	expect_list(p, 0, MR_BODY, "F0 F1 I0 F2 I1 F3 I2 I3 W0'!");
	expect_list(p, 1, MR_BODY, "F0 I0 F1 I1 F2 I2 F3 I3 W0'!"); /* nobody waits for a W */
	mr_plan_destroy(p);
}

/* Not a plan is slower than with unlimited buffers, at the ratios promised and at tables given. */
static void buffers_never_slow_a_plan(void)
{
	static const double ratio[][3] = {{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {2, 3, 1}, {2, 1, 2}};
	const char *name;
	mr_plan *p;

	for (int k = 0; (p = small_plan(k, &name)); k++) {
		mr_stage_cost uneven[16], shares[16];
		mr_cost cost = {p->n_stages, uneven};

		for (uint16_t s = 0; s < p->n_stages; s++)
			uneven[s] = (mr_stage_cost){.f = 1 + 0.37 * (s * 7 % 5), .i = 1.1 + 0.21 * (s * 3 % 4),
						    .w = 0.6 + 0.5 * (s % 3), .u = 0.1, .c = 0.3};
		MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.costs = &cost, .n_costs = 1}));
		MR_CHECK_OK(mr_plan_check(p));
		for (int c = 0; c < 6; c++) {
			mr_walk *a, *b;

			if (c < 5)
				mr_cost_share(p, ratio[c][0], ratio[c][1], ratio[c][2], shares, &cost);
			else
				cost.stage = uneven;
			MR_CHECK_OK(mr_plan_walk(p, &cost, 1, NULL, &a));
			MR_CHECK_OK(mr_plan_walk(p, &cost, 1, &(mr_walk_opts){.unlimited = true}, &b));
			if (a->makespan > b->makespan * (1 + 1e-9) || a->period > b->period * (1 + 1e-9)) {
				fprintf(stderr, "\n%s, costs %d: makespan %g against %g, period %g against %g\n", name,
					c, a->makespan, b->makespan, a->period, b->period);
				CU_FAIL("buffers slow the plan down");
			}
			mr_walk_destroy(a);
			mr_walk_destroy(b);
		}
		mr_plan_destroy(p);
	}
}

static void refuse(mr_plan *p, mr_status code, const char *part)
{
	MR_CHECK_FAIL(mr_plan_lower(p, NULL), code, part);
	mr_plan_destroy(p);
}

static mr_plan *with_contract(mr_plan *p, bool clip, bool tied, mr_flush flush)
{
	p->contract.clip = clip;
	p->contract.tied = tied;
	p->contract.flush = flush;
	return p;
}

static void contracts_that_cannot_be_kept(void)
{
	mr_plan *p;

	refuse(with_contract(small_1f1b(2, 2), true, false, MR_FLUSH_LOCAL), MR_ECONFIG, "clipping by the global norm");
	refuse(with_contract(small_pipedream(2, false, false), true, false, MR_FLUSH_NONE), MR_ECONFIG,
	       "clip per stage");
	refuse(with_contract(small_pipedream(2, false, false), false, true, MR_FLUSH_NONE), MR_ECONFIG,
	       "tied weights need");
	refuse(with_contract(small_1f1b(2, 2), false, false, MR_FLUSH_VALIDATED), MR_ECONFIG, "VALIDATED");
	refuse(with_contract(small_golden("chimera_D4_T4"), false, false, MR_FLUSH_NONE), MR_ECONFIG,
	       "2 pipes without a flush");
	p = small_1f1b(2, 2);
	p->contract.private_weights = true;
	refuse(p, MR_ECONFIG, "private weights are for several pipes, and the plan has one");
	p = small_pipedream(2, false, false);
	p->contract.racing = true;
	refuse(p, MR_ECONFIG, "a racing plan has one stage a worker, one pipe and no flush, reads the latest version");
	p = small_pipedream(2, false, false);
	p->contract.racing = true;
	p->contract.same_version_b = false;
	p->contract.predict = MR_PREDICT_BACK;
	p->contract.ema_decay_ppm = 1;
	refuse(p, MR_ECONFIG, "a racing plan has one stage a worker, one pipe and no flush, reads the latest version");
	p = small_pipedream(2, false, false);
	p->contract.racing = true;
	p->contract.same_version_b = false;
	mr_plan_list(p, 1, MR_BODY)->at[0].op = MR_OP_R;
	refuse(p, MR_ECONFIG, "worker 1: F and B race, and R cannot");
	p = small_pipedream(2, false, false);
	p->contract.racing = true;
	p->contract.same_version_b = false;
	mr_plan_list(p, 0, MR_PROLOGUE)->at[0].op = MR_OP_B;
	refuse(p, MR_ECONFIG, "worker 0 races from its first version on");
	p = small_1f1b(2, 3);
	p->contract.need = 2;
	refuse(p, MR_ECONFIG, "1 commits of 2 micro-batches each do not make the 3");
	p = small_1f1b(2, 2);
	p->worker_of[1] = MR_WORKER_ANY;
	refuse(p, MR_ECONFIG, "stage 1 of pipe 0 is placed on any worker: only W");
	p = small_1f1b(2, 2);
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	refuse(p, MR_EINVAL, "lowered already");
	p = small_1f1b(2, 2);
	mr_plan_list(p, 0, MR_BODY)->at[1].op = MR_OP_U;
	refuse(p, MR_EINVAL, "not U");
}

static void lists_that_cannot_be_lowered(void)
{
	mr_plan *p = small_gpipe(2, 2, false);
	mr_list *l = mr_plan_list(p, 0, MR_BODY);

	l->at[1].op = MR_OP_B; /* F0 B0 F1 B1 against F0 F1 B0 B1 */
	l->at[1].micro = 0;
	l->at[2].op = MR_OP_F;
	l->at[2].micro = 1;
	refuse(p, MR_ECONFIG, "deadlock, each waits for the next: w0 B m0 s0 p0 -> w1 B m0 s1 p0 -> w1 F m1 s1 p0 -> "
			       "w0 F m1 s0 p0 -> w0 B m0 s0 p0");

	p = small_1f1b(2, 2);
	mr_plan_list(p, 1, MR_BODY)->n--;
	refuse(p, MR_ECONFIG, "the gradient of m1 of stage 1, which no instruction makes");

	p = small_gpipe(1, 4, false); /* F0 F1 F2 F3 B0 B2 B1 B3 with two micro-batches a commit */
	p->contract =
		(mr_contract){.need = 2, .flush = MR_FLUSH_NONE, .read_f = MR_READ_LATEST, .same_version_b = true};
	p->commits = 2;
	mr_plan_list(p, 0, MR_BODY)->at[5].micro = 2;
	mr_plan_list(p, 0, MR_BODY)->at[6].micro = 1;
	refuse(p, MR_ECONFIG, "w0 B m2 s0 p0: belongs to commit 2, but the gradients of commit 1 are not complete");

	p = small_1f1b(2, 2);
	mr_plan_list(p, 1, MR_BODY)->at[1].stage = 0;
	refuse(p, MR_ECONFIG, "w1 B m0 s0 p0: stage 0 of pipe 0 lives on worker 0");

	p = small_1f1b(2, 2);
	mr_plan_list(p, 1, MR_BODY)->at[0].span = 2;
	refuse(p, MR_ECONFIG, "span 2");
}

/* A pipe without micro-batches: its worker still commits what it owns. */
/* Instructions ordered and timed to raise the buffers of a plan, for each that it has. */
static double visits(mr_plan *p)
{
	uint64_t n = 0, have = 0;

	for (uint16_t w = 0; w < p->n_workers; w++)
		have += mr_plan_list(p, w, MR_BODY)->n;
	MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.visits = &n}));
	mr_plan_destroy(p);
	CU_ASSERT(n > have); /* it is counted at all */
	return (double)n / (double)have;
}

/* Counted, not timed: four times the plan is four times the work, however many buffers are raised. */
static void work_grows_with_the_plan(void)
{
	double few = visits(small_1f1b(8, 64)), more = visits(small_1f1b(16, 128)), most = visits(small_1f1b(32, 512));
	double gpipe = visits(small_gpipe(16, 256, true)), split = visits(small_split(16, 256));
	double looped = visits(small_looped(4, 16, 64)), wide = visits(small_looped(4, 16, 256)),
	       deep = visits(small_looped(4, 32, 128));

	CU_ASSERT(few < 200 && more < 1.5 * few && most < 1.5 * few);
	CU_ASSERT(gpipe < 200 && visits(small_gpipe(32, 512, true)) < 1.5 * gpipe);
	CU_ASSERT(split < 200 && visits(small_split(32, 512)) < 1.5 * split);
	/* A boundary of the loop gets a buffer for each micro-batch, one by one: first because of a deadlock, then for
	 * speed. */
	CU_ASSERT(looped < 200 && wide < 1.5 * looped && deep < 1.5 * looped);
	printf("visits an instruction: 1f1b %.1f %.1f %.1f, gpipe %.1f, split %.1f, looped %.1f %.1f %.1f\n", few, more,
	       most, gpipe, split, looped, wide, deep);
}

static void empty_pipe(void)
{
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create(2, 2, 2, &p));
	p->n_micro = 1;
	p->commits = 1;
	p->contract = (mr_contract){.need = 1, .flush = MR_FLUSH_BARRIER, .same_version_b = true};
	for (uint16_t s = 0; s < 2; s++) {
		p->worker_of[s] = s;
		p->worker_of[2 + s] = (uint16_t)(1 - s);
	}
	for (uint16_t s = 0; s < 2; s++)
		for (int op = 0; op < 2; op++)
			MR_CHECK_OK(mr_plan_append(
				p, (uint16_t)(1 - s), MR_BODY,
				(mr_instr){.op = op ? MR_OP_B : MR_OP_F, .span = 1, .stage = s, .pipe = 1}));
	lower(p);
	expect_list(p, 0, MR_BODY, "F0 B0' AR1 U1 AR0 U0");
	mr_plan_destroy(p);
}

static uint64_t hash_with(mr_plan *p, void *field, size_t bytes)
{
	uint8_t *at = field;
	uint64_t h;

	at[bytes - 1] ^= 1;
	h = mr_plan_hash(p);
	at[bytes - 1] ^= 1;
	return h;
}

static void hash_covers_what_is_obeyed(void)
{
	mr_plan *p = small_1f1b(2, 2);
	mr_instr *in;
	uint64_t h;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	h = mr_plan_hash(p);
	in = &mr_plan_list(p, 0, MR_BODY)->at[2];
#define CHANGES(field) CU_ASSERT_NOT_EQUAL(hash_with(p, &(field), sizeof(field)), h)
	CHANGES(in->op);
	CHANGES(in->flags);
	CHANGES(in->pipe);
	CHANGES(in->span);
	CHANGES(in->stage);
	CHANGES(in->slot);
	CHANGES(in->micro);
	CHANGES(in->read);
	CHANGES(in->target);
	CHANGES(in->in);
	CHANGES(in->out);
	CHANGES(p->n_micro);
	CHANGES(p->commits);
	CHANGES(p->contract.need);
	CHANGES(p->contract.flush);
	CHANGES(p->contract.clip);
	CHANGES(p->contract.tied);
	CHANGES(p->contract.private_weights);
	CHANGES(p->contract.racing);
	CHANGES(p->contract.average.rule);
	CHANGES(p->contract.same_version_b);
	CHANGES(p->storage);
	CHANGES(p->worker_of[1]);
	CHANGES(p->n_slots[1]);
	CHANGES(p->n_fwd[1]);
	CHANGES(p->n_bwd[1]);
	CHANGES(p->n_versions[1]);
	p->contract.average.rule = MR_AVERAGE_MEAN;
	h = mr_plan_hash(p);
	CHANGES(p->contract.average.every);
	CHANGES(p->contract.average.alpha);
	CHANGES(p->contract.average.outer_lr);
	CHANGES(p->contract.average.outer_mu);
	CHANGES(p->contract.average.state);
#undef CHANGES
	p->system[0] = 'x';
	CU_ASSERT_EQUAL(mr_plan_hash(p), h);
	mr_plan_list(p, 1, MR_BODY)->n--;
	CU_ASSERT_NOT_EQUAL(mr_plan_hash(p), h);
	mr_plan_list(p, 1, MR_BODY)->n++;
	mr_plan_destroy(p);
}

void mr_suite_lower(void);
void mr_suite_lower(void)
{
	MR_SUITE("lower");
	MR_TEST(commits_stand_behind_the_last_gradient);
	MR_TEST(validation_comes_before_the_first_gradient);
	MR_TEST(norms_come_before_all_updates);
	MR_TEST(reductions_come_before_norms);
	MR_TEST(reductions_fill_gaps);
	MR_TEST(pipedream_versions);
	MR_TEST(vertical_sync_versions);
	MR_TEST(slots_are_the_peak);
	MR_TEST(recomputed_micro_batches_share_a_slot);
	MR_TEST(merged_weight_gradients);
	MR_TEST(buffers_never_slow_a_plan);
	MR_TEST(contracts_that_cannot_be_kept);
	MR_TEST(lists_that_cannot_be_lowered);
	MR_TEST(work_grows_with_the_plan);
	MR_TEST(empty_pipe);
	MR_TEST(hash_covers_what_is_obeyed);
}
