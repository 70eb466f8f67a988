/*
 * test_features.c - the optional structs of a stage's weights, each by itself: norms, reductions, tied sums, slow
 * starts, mitigations, validation, and the logs that workers keep of races.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "weights/mitigated.h"
#include "weights/predict.h"
#include "weights/replicas.h"
#include "exec/features/race.h"
#include "weights/reduction.h"
#include "weights/slow_start.h"
#include "weights/tied_sum.h"
#include "weights/validation.h"
#include "lower/lower.h"
#include "lower/small_plans.h"
#include "small_run.h"

/* A run without any of them has none of their structs, and its weights are stepped all the same. */
static void plain_weights_have_none(void)
{
	small_run r;

	small_run_init(&r, small_1f1b(2, 2));
	small_run_start(&r);
	for (uint16_t s = 0; s < 2; s++) {
		const mr_stage_weights *b = &r.run->weights[s];

		CU_ASSERT_FALSE(b->reduction || b->steal_sum || b->tied || b->norms || b->validation || b->prediction ||
				b->slow_start || b->mitigation || b->replicas);
	}
	for (uint16_t w = 0; w < 2; w++)
		CU_ASSERT_FALSE(r.run->worker[w].race || r.run->worker[w].steal_queue || r.run->worker[w].validation);
	CU_ASSERT_FALSE(r.run->replicas || r.run->validation || r.run->norms || r.run->windows);
	small_run_fini(&r);
}

/* --- norms --- */

static void norms_of_two_versions_lie_side_by_side(void)
{
	small_weights w;
	double first, second;

	small_weights_init(&w, "sgd", 1, 1);
	MR_CHECK_OK(mr_norms_open(&w.b));
	small_weights_layout(&w);
	for (int64_t i = 0; i < small_elements(&w); i++)
		*small_grad(&w, 0, i) = 2;
	MR_CHECK_OK(mr_norms_compute(&w.b, w.kc, 6));
	first = mr_norms_all(&w.b, 1, 6, MR_NORMS_OWN);
	CU_ASSERT_DOUBLE_EQUAL(first, sqrt(4.0 * (double)small_elements(&w)), 1e-12);
	for (int64_t i = 0; i < small_elements(&w); i++)
		*small_grad(&w, 0, i) = -3;
	MR_CHECK_OK(mr_norms_compute(&w.b, w.kc, 7));
	second = mr_norms_all(&w.b, 1, 7, MR_NORMS_OWN);
	CU_ASSERT_DOUBLE_EQUAL(second, 1.5 * first, 1e-12);
	CU_ASSERT_EQUAL(mr_norms_all(&w.b, 1, 6, MR_NORMS_OWN), first);
	mr_norms_clear(&w.b, 8);
	CU_ASSERT_EQUAL(mr_norms_all(&w.b, 1, 8, MR_NORMS_OWN), 0);
	CU_ASSERT_EQUAL(mr_norms_all(&w.b, 1, 7, MR_NORMS_OWN), second);
	small_weights_fini(&w);
}

/* The largest is that of one parameter, over the micro-batches of a sum, since the reset. */
static void the_largest_gradient_is_of_a_parameter(void)
{
	const double n = SMALL_COLS * SMALL_COLS;
	small_weights w;

	small_weights_init(&w, "sgd", 1, 1);
	MR_CHECK_OK(mr_norms_open(&w.b));
	small_weights_layout(&w);
	for (int64_t i = 0; i < small_elements(&w); i++)
		*small_grad(&w, 0, i) = i < (int64_t)n ? 4 : 1;
	MR_CHECK_OK(mr_norms_measure(&w.b, w.kc, 2));
	CU_ASSERT_DOUBLE_EQUAL(w.b.norms->largest, 2 * sqrt(n), 1e-12);
	for (int64_t i = 0; i < small_elements(&w); i++)
		*small_grad(&w, 0, i) = 0.5;
	MR_CHECK_OK(mr_norms_measure(&w.b, w.kc, 2));
	CU_ASSERT_DOUBLE_EQUAL(w.b.norms->largest, 2 * sqrt(n), 1e-12);
	mr_norms_reset(&w.b, NULL, 0);
	CU_ASSERT_EQUAL(w.b.norms->largest, 0);
	small_weights_fini(&w);
}

static void clipping_only_shrinks(void)
{
	CU_ASSERT_EQUAL(mr_clip_factor(0.5, 1), 1);
	CU_ASSERT_EQUAL(mr_clip_factor(4, 1), 1 / (4 + 1e-6));
	CU_ASSERT_EQUAL(mr_clip_factor(4, 0), 1);
	CU_ASSERT_EQUAL(mr_clip_factor(4, -1), 1);
}

/* --- reductions and tied sums --- */

/* Stage 0 lies on workers 0 and 3, stage 3 on 3 and 0: the range of node 0's worker comes first. */
static void ranges_follow_the_nodes(void)
{
	small_run r;

	small_run_init(&r, small_golden("chimera_D4_T4"));
	r.worker[0].node = r.worker[1].node = 1;
	small_run_start(&r);
	CU_ASSERT_EQUAL(r.run->weights[0].n_shards, 2);
	CU_ASSERT(r.run->weights[0].shard[0].begin == r.run->weights[0].shard[1].end);
	CU_ASSERT(r.run->weights[0].shard[1].begin == 0);
	CU_ASSERT(r.run->weights[3].shard[0].begin == 0);
	CU_ASSERT(r.run->weights[3].shard[1].begin == r.run->weights[3].shard[0].end);
	small_run_fini(&r);
}

/* The sums of all shards that have micro-batches are added, range by range, into that of the first of these. */
static void shards_add_up_once(void)
{
	small_weights w;

	small_weights_init(&w, "sgd", 1, 4);
	w.shard[0].need = w.shard[2].need = 0; /* their buffers hold nothing */
	mr_weights_cut(&w.b);
	CU_ASSERT_EQUAL(w.b.n_parts, 2);
	MR_CHECK_OK(mr_reduction_open(&w.b));
	small_weights_layout(&w);
	CU_ASSERT_PTR_EQUAL(mr_weights_total(&w.b), w.shard[1].grads);
	for (uint8_t s = 0; s < 4; s++)
		for (int64_t i = 0; i < small_elements(&w); i++)
			*small_grad(&w, s, i) = s % 2 ? s * 10 : 1000;
	for (uint8_t s = 0; s < 4; s++)
		MR_CHECK_OK(mr_reduction_range(&w.b, s, w.kc));
	for (int64_t i = 0; i < small_elements(&w); i++) {
		CU_ASSERT_EQUAL(*small_grad(&w, 1, i), 40);
		CU_ASSERT_EQUAL(*small_grad(&w, 3, i), 30);
	}
	small_weights_fini(&w);
}

/* The norm of a sum over @n_shards shards of a layer of @cols columns: each shard adds up the blocks in its range. */
static double norm_by_shards(uint32_t n_shards, int64_t cols)
{
	small_weights w;
	double norm;

	small_weights_init_wide(&w, "sgd", 1, n_shards, cols);
	MR_CHECK_OK(mr_reduction_open(&w.b));
	MR_CHECK_OK(mr_norms_open(&w.b));
	small_weights_layout(&w);
	CU_ASSERT_EQUAL(w.b.norms->block != NULL, n_shards > 1);
	for (int64_t i = 0; i < small_elements(&w); i++)
		*small_grad(&w, 0, i) = 1 / (1 + (double)i); /* the other shards' are 0 */
	for (uint32_t s = n_shards; s-- > 0;) {
		MR_CHECK_OK(mr_reduction_range(&w.b, (uint8_t)s, w.kc));
		MR_CHECK_OK(mr_norms_note(&w.b, s, w.kc));
	}
	MR_CHECK_OK(mr_norms_compute(&w.b, w.kc, 1));
	norm = mr_norms_all(&w.b, 1, 1, MR_NORMS_OWN);
	small_weights_fini(&w);
	return norm;
}

/* Ranges begin inside blocks, a block lies in several ranges, and the norm has the same bits. */
static void a_norm_does_not_depend_on_shards(void)
{
	static const int64_t cols[] = {SMALL_COLS, 20, 300};

	for (size_t c = 0; c < sizeof(cols) / sizeof(cols[0]); c++) {
		double norm = norm_by_shards(1, cols[c]), sum = 0;

		for (int64_t i = cols[c] * (cols[c] + 1); i > 0; i--)
			sum += 1 / ((double)i * (double)i);
		CU_ASSERT_DOUBLE_EQUAL(norm, sqrt(sum), 1e-14);
		for (uint32_t n = 2; n <= 9; n++)
			CU_ASSERT_EQUAL(norm_by_shards(n, cols[c]), norm);
	}
}

/* Sums of @n_shards gradients, two of which are no part, and the step of all ranges, in pieces of @piece elements; 0:
 * one after the other, over the whole. Ranges lie in the order of shards, or with pieces in another one. */
static void sum_and_step(small_weights *w, uint32_t n_shards, int64_t piece, double *made)
{
	small_weights_init(w, "momentum", 2, n_shards);
	w->shard[0].need = w->shard[3].need = 0;
	for (uint8_t s = 0; s < n_shards; s++) {
		w->shard[s].piece = piece;
		w->shard[s].place = piece ? (s + 2) % n_shards : s;
	}
	mr_weights_cut(&w->b);
	MR_CHECK_OK(mr_reduction_open(&w->b));
	small_weights_layout(w);
	for (int64_t i = 0; i < small_elements(w); i++)
		for (uint8_t s = 0; s < n_shards; s++) {
			*small_weight(w, 0, 0, i) = 1.0 / (double)(i + 1);
			*small_grad(w, s, i) = s == 3 ? NAN : 1.0 / (double)(7 * i + 3 * s + 1);
		}
	for (uint8_t s = 0; s < n_shards; s++) {
		if (piece) {
			MR_CHECK_OK(mr_reduction_step(&w->b, s, w->kc, 0.1, 0.25));
			continue;
		}
		MR_CHECK_OK(mr_reduction_range(&w->b, s, w->kc));
		MR_CHECK_OK(mr_weights_step(&w->b, s, w->kc, 0.1, 0.25));
	}
	for (int64_t i = 0; i < small_elements(w); i++)
		made[i] = *small_weight(w, 0, 1, i);
	small_weights_fini(w);
}

/* U that adds up the gradients itself makes the bits of AR and U, whatever its pieces are. */
static void sums_may_be_stepped_in_pieces(void)
{
	enum { MOST = 64 };
	static const int64_t pieces[] = {1, 2, 5, 8192};
	double apart[MOST], joined[MOST];
	small_weights w;

	for (uint32_t n = 5; n <= 6; n++) {
		memset(apart, 0, sizeof(apart));
		sum_and_step(&w, n, 0, apart);
		CU_ASSERT_NOT_EQUAL(apart[0], 1);
		for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
			memset(joined, 0, sizeof(joined));
			sum_and_step(&w, n, pieces[i], joined);
			CU_ASSERT_EQUAL(memcmp(apart, joined, sizeof(apart)), 0);
		}
	}
}

static void the_last_sum_publishes(void)
{
	small_weights w;

	small_weights_init(&w, "sgd", 1, 3);
	MR_CHECK_OK(mr_reduction_open(&w.b));
	w.b.latest = 4;
	mr_reduction_reset(&w.b, (mr_waiters){0}, (mr_waiters){0}, NULL);
	for (int i = 0; i < 2; i++) {
		mr_reduction_finish(&w.b, 0);
		CU_ASSERT_FALSE(mr_counter_reached(&w.b.reduction->finished, 0, 5));
	}
	mr_reduction_finish(&w.b, 0);
	CU_ASSERT_TRUE(mr_counter_reached(&w.b.reduction->finished, 0, 5));
	CU_ASSERT_FALSE(mr_counter_reached(&w.b.reduction->finished, 0, 6));
	CU_ASSERT_FALSE(mr_counter_reached(&w.b.reduction->reduced, 0, 5));
	small_weights_fini(&w);
}

/* fc.1 shares the weight of fc.0, in the same stage. */
static mr_graph *tied_graph(void)
{
	const mr_shape row = {.rows = 1, .cols = SMALL_COLS};
	uint16_t x = 0;
	mr_graph *g;

	MR_CHECK_OK(mr_graph_create(row, row, &g));
	for (int i = 0; i < 2; i++)
		MR_CHECK_OK(mr_graph_add(g, mr_layer_find("linear"), i ? "fc.1" : "fc.0",
					 &(mr_layer_cfg){.out = SMALL_COLS, .no_bias = true}, &x, 1, &x));
	MR_CHECK_OK(mr_graph_add(g, mr_layer_find("mse"), "loss", &(mr_layer_cfg){0}, &x, 1, &x));
	MR_CHECK_OK(mr_graph_tie(g, 1, 0));
	MR_CHECK_OK(mr_graph_finish(g));
	return g;
}

/* Both uses have gradients of their own, which are added once a commit, the one that asks how often. */
static void tied_uses_add_up_once_a_commit(void)
{
	mr_graph *g = tied_graph();
	mr_shard shard = {.need = 1};
	double grads[64] = {0}, *second;
	mr_stage_weights b = {.k = mr_kernels_find("reference", MR_F64), .shard = &shard, .n_shards = 1, .cap = 1};
	uint64_t seen;
	uint32_t with;
	mr_kctx *kc;

	MR_CHECK_OK(mr_stage_create(g, 0, 3, 1, b.k, false, NULL, &b.stage));
	MR_CHECK_OK(b.k->ctx_create(b.k, 1, &kc));
	CU_ASSERT_FATAL(mr_stage_size(b.stage)->grad_bytes <= sizeof(grads));
	shard.grads = (uint8_t *)grads;
	b.version_count = (mr_version_count){.cap = 1, .seen = &seen, .with = &with};
	MR_CHECK_OK(mr_tied_sum_open(&b, NULL));
	CU_ASSERT_PTR_NOT_NULL_FATAL(b.tied);
	second = &grads[mr_stage_grad_at(b.stage, 1) / sizeof(double)];
	for (int round = 0; round < 2; round++) {
		grads[0] = 1;
		second[0] = 4;
		MR_CHECK_OK(mr_tied_sum_within(&b, kc));
		MR_CHECK_OK(mr_tied_sum_within(&b, kc));
		CU_ASSERT_EQUAL(grads[0], 5);
		mr_weights_committed(&b);
	}
	grads[0] = 1; /* AR: of a range alone */
	grads[1] = 1;
	second[1] = 8;
	MR_CHECK_OK(mr_tied_sum_range(&b, 0, kc, 0, 1, 2));
	CU_ASSERT_EQUAL(grads[0], 1);
	CU_ASSERT_EQUAL(grads[1], 9);
	mr_weights_fini(&b);
	CU_ASSERT_PTR_NULL(b.tied);
	b.k->ctx_destroy(kc);
	mr_stage_destroy(b.stage);
	mr_graph_destroy(g);
}

/* --- learning rates --- */

static void slow_starts_end_at_the_full_rate(void)
{
	mr_slow_start x = {.n = 4, .sync_steps = 2, .delay = 16};

	CU_ASSERT_EQUAL(mr_slow_start_rate(&x, 3, 1), 3); /* the synchronous commits */
	CU_ASSERT_EQUAL(mr_slow_start_rate(&x, 3, 2), 3);
	CU_ASSERT_DOUBLE_EQUAL(mr_slow_start_rate(&x, 3, 3), 3.0 / 16, 1e-15);
	CU_ASSERT_DOUBLE_EQUAL(mr_slow_start_rate(&x, 3, 4), 3.0 / 8, 1e-15);
	CU_ASSERT_DOUBLE_EQUAL(mr_slow_start_rate(&x, 3, 6), 3.0 / 2, 1e-15);
	CU_ASSERT_EQUAL(mr_slow_start_rate(&x, 3, 7), 3);
}

/* Only stages whose gradients are more than a commit late start slowly. */
static void only_late_stages_start_slowly(void)
{
	mr_plan *p = small_pipedream(3, false, false);
	const mr_lr lr = {.kind = MR_LR_CONSTANT, .base = 1};

	p->contract.slow_start = 10;
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	for (uint16_t s = 0; s < 3; s++) {
		mr_stage_weights b = {.in_step = 1, .rate = 1};

		MR_CHECK_OK(mr_slow_start_open(&b, p->contract.slow_start, p, p, s));
		CU_ASSERT_EQUAL(b.slow_start != NULL, s == 0);
		CU_ASSERT_DOUBLE_EQUAL(mr_weights_lr(&b, &lr, 1), s == 0 ? 0.5 : 1, 1e-15);
		mr_weights_fini(&b);
		MR_CHECK_OK(mr_slow_start_open(&b, 0, p, p, s));
		CU_ASSERT_PTR_NULL(b.slow_start);
	}
	mr_plan_destroy(p);
}

/* --- mitigations --- */

static const mr_plan unflushed = {.n_stages = 1, .contract = {.flush = MR_FLUSH_NONE}};
static const mr_plan flushed = {.n_stages = 1, .contract = {.flush = MR_FLUSH_BARRIER}};

/* A sum is as old as the oldest of its gradients, in whichever part that has any. */
static void sums_are_as_old_as_their_oldest(void)
{
	const mr_mitigate m = {.ops = mr_mitigate_find("staleness_aware")};
	const mr_lr lr = {.kind = MR_LR_CONSTANT, .base = 1};
	mr_shard shard[3] = {{.need = 2}, {.need = 2}, {.need = 0}};
	mr_stage_weights b = {.shard = shard, .n_shards = 3, .in_step = 1, .rate = 1};

	CU_ASSERT_PTR_NOT_NULL_FATAL(m.ops);
	MR_CHECK_OK(mr_mitigated_open(&b, &m, 4, &unflushed));
	mr_mitigated_note(&b, 0, 7, true);
	mr_mitigated_note(&b, 0, 8, false);
	mr_mitigated_note(&b, 1, 8, true);
	mr_mitigated_note(&b, 1, 6, false);
	CU_ASSERT_EQUAL(mr_mitigated_rate(&b, 10), 0.25); /* made from 9, which is 3 behind 6 */
	mr_mitigated_note(&b, 1, 9, true);
	mr_mitigated_note(&b, 1, 9, false);
	CU_ASSERT_EQUAL(mr_mitigated_rate(&b, 10), 1.0 / 3);
	mr_mitigated_note(&b, 0, 9, true);
	CU_ASSERT_EQUAL(mr_mitigated_rate(&b, 10), 1);
	CU_ASSERT_EQUAL(mr_mitigated_lr_ahead(&b, &lr, 10), 0.2); /* by the steady age */
	mr_weights_fini(&b);
	MR_CHECK_OK(mr_mitigated_open(&b, &m, 4, &flushed)); /* nothing is stale */
	CU_ASSERT_PTR_NULL(b.mitigation);
	CU_ASSERT_EQUAL(mr_mitigated_rate(&b, 10), 1);
}

/* --- validation --- */

static void early_forwards_are_numbered(void)
{
	mr_instr body[2][4] = {
		{{.op = MR_OP_F, .stage = 0, .micro = 0}, {.op = MR_OP_F, .stage = 0, .micro = 1}, {.op = MR_OP_V}},
		{{.op = MR_OP_F, .stage = 1, .micro = 1}, {.op = MR_OP_V}, {.op = MR_OP_F, .stage = 1, .micro = 0}},
	};
	mr_validation *v;
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create(2, 2, 1, &p));
	p->n_micro = 2;
	for (uint16_t w = 0; w < 2; w++)
		for (int i = 0; i < 3; i++)
			MR_CHECK_OK(mr_plan_append(p, w, MR_BODY, body[w][i]));
	MR_CHECK_OK(mr_validation_create(p, &v));
	CU_ASSERT_EQUAL(mr_validation_place(v, 0, 0), 1);
	CU_ASSERT_EQUAL(mr_validation_place(v, 0, 1), 2);
	CU_ASSERT_EQUAL(mr_validation_place(v, 1, 1), 1);
	CU_ASSERT_EQUAL(mr_validation_place(v, 1, 0), 0); /* behind V */
	CU_ASSERT_EQUAL(v->n_early[0], 2);
	CU_ASSERT_EQUAL(v->n_early[1], 1);
	mr_validation_destroy(v);
	mr_plan_destroy(p);
}

static void after_a_reset_all_steps_are_certain(void)
{
	small_weights w;

	small_weights_init(&w, "adam", 2, 1);
	MR_CHECK_OK(mr_validation_open(&w.b));
	small_weights_layout(&w);
	CU_ASSERT_TRUE(w.b.validation->backup[0] && w.b.validation->backup[1]);
	CU_ASSERT_PTR_NOT_EQUAL(w.b.validation->backup[0], w.b.state[0]);
	w.b.latest = 3;
	w.b.validation->n_taken_back = 2;
	mr_validation_reset(&w.b, NULL, NULL, NULL);
	CU_ASSERT_EQUAL(w.b.validation->validated, 3);
	CU_ASSERT_EQUAL(w.b.validation->settled, 3);
	CU_ASSERT_EQUAL(w.b.validation->n_taken_back, 0);
	small_weights_fini(&w);
}

/* --- races --- */

static void races_record_as_far_as_there_is_room(void)
{
	mr_race *r;

	MR_CHECK_OK(mr_race_create(0, &r));
	mr_race_note(r, MR_OP_F, 0);
	CU_ASSERT_EQUAL(r->n_log, 0);
	mr_race_destroy(r);
	MR_CHECK_OK(mr_race_create(1, &r));
	mr_race_note(r, MR_OP_F, 5);
	mr_race_note(r, MR_OP_B, 6);
	mr_race_note(r, MR_OP_F, 7);
	CU_ASSERT_EQUAL(r->n_log, 2); /* F and B of one micro-batch */
	CU_ASSERT_EQUAL(r->log[1].op, MR_OP_B);
	CU_ASSERT_EQUAL(r->log[1].read, 6);
	r->back = 3;
	r->held[1].got = 1;
	mr_race_reset(r, 4);
	CU_ASSERT_TRUE(r->n_f == 4 && r->n_b == 4 && r->n_log == 0 && r->back == 0 && r->held[1].got == 0);
	mr_race_note(r, MR_OP_F, 4);
	CU_ASSERT_EQUAL(r->n_log, 1); /* the room is still there */
	mr_race_destroy(r);
}

/* --- replicas --- */

enum { REPLICAS = 3 };

/* Two steps of one stage between averages: versions 1 and 2 are steps, 3 is an average, 4 and 5 are steps. */
static void averages_are_no_steps(void)
{
	static mr_stage_weights b[REPLICAS];
	mr_optim optim = {0};
	mr_replicas *g;
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create(1, REPLICAS, REPLICAS, &p));
	p->contract.need = REPLICAS;
	p->n_micro = 2 * REPLICAS;
	p->commits = 2;
	p->contract.average = (mr_average){.rule = MR_AVERAGE_MEAN, .every = 2};
	MR_CHECK_OK(mr_replicas_create(p, &optim, b, &g));
	for (int r = 0; r < REPLICAS; r++) {
		static const uint64_t steps[] = {0, 1, 2, 2, 3, 4, 4};

		CU_ASSERT_PTR_EQUAL(b[r].replicas, g);
		for (uint64_t v = 0; v < sizeof(steps) / sizeof(steps[0]); v++)
			CU_ASSERT_EQUAL(mr_weights_step_of(&b[r], v), steps[v]);
	}
	/* The last replica to make a step records it; one may be a step ahead. */
	CU_ASSERT_FALSE(mr_replicas_ready(g, 1));
	CU_ASSERT_FALSE(mr_replicas_ready(g, 2));
	CU_ASSERT_FALSE(mr_replicas_ready(g, 1));
	CU_ASSERT_TRUE(mr_replicas_ready(g, 1));
	CU_ASSERT_FALSE(mr_replicas_ready(g, 2));
	mr_replicas_reset(g);
	CU_ASSERT_FALSE(mr_replicas_ready(g, 2));
	mr_replicas_destroy(g, 1);
	mr_plan_destroy(p);
}

/* Ranges of an average, in any order, leave the mean in all replicas, and it is what is saved. */
static void replicas_meet_in_their_mean(void)
{
	static const double value[REPLICAS] = {1, 5, 12};
	const mr_average mean = {.rule = MR_AVERAGE_MEAN, .every = 1};
	small_weights w[REPLICAS];
	mr_stage_weights b[REPLICAS];
	mr_replicas g = {.average = &mean, .first = b, .n = REPLICAS, .stride = 1};

	for (int r = 0; r < REPLICAS; r++) {
		small_weights_init(&w[r], "sgd", 2, 1);
		small_weights_layout(&w[r]);
		for (int64_t i = 0; i < small_elements(&w[r]); i++)
			*small_weight(&w[r], 0, 1, i) = value[r] + (double)i;
		w[r].b.latest = 1;
		b[r] = w[r].b;
		mr_counter_reset(&b[r].published, r < 2, NULL, 0, NULL);
	}
	g.optim = &w[0].optim;
	CU_ASSERT_FALSE(mr_replicas_made(&g, 0, 1));
	mr_counter_raise(&b[2].published, 0, 1);
	CU_ASSERT_TRUE(mr_replicas_made(&g, 0, 1));
	for (uint32_t part = REPLICAS; part-- > 0;)
		MR_CHECK_OK(mr_replicas_average(&g, part, 2, w[0].kc));
	for (int r = 0; r < REPLICAS; r++) {
		b[r].latest = 2;
		for (int64_t i = 0; i < small_elements(&w[r]); i++)
			CU_ASSERT_EQUAL(*small_weight(&w[r], 0, 2, i), 6 + (double)i);
	}
	CU_ASSERT_PTR_EQUAL(mr_replicas_model(&g, 0), mr_weights_at(&b[0], 0, 2));
	for (int r = 0; r < REPLICAS; r++)
		small_weights_fini(&w[r]);
}

void mr_suite_features(void)
{
	MR_SUITE("features");
	MR_TEST(plain_weights_have_none);
	MR_TEST(norms_of_two_versions_lie_side_by_side);
	MR_TEST(the_largest_gradient_is_of_a_parameter);
	MR_TEST(clipping_only_shrinks);
	MR_TEST(ranges_follow_the_nodes);
	MR_TEST(shards_add_up_once);
	MR_TEST(a_norm_does_not_depend_on_shards);
	MR_TEST(sums_may_be_stepped_in_pieces);
	MR_TEST(the_last_sum_publishes);
	MR_TEST(tied_uses_add_up_once_a_commit);
	MR_TEST(slow_starts_end_at_the_full_rate);
	MR_TEST(only_late_stages_start_slowly);
	MR_TEST(sums_are_as_old_as_their_oldest);
	MR_TEST(early_forwards_are_numbered);
	MR_TEST(after_a_reset_all_steps_are_certain);
	MR_TEST(averages_are_no_steps);
	MR_TEST(replicas_meet_in_their_mean);
	MR_TEST(races_record_as_far_as_there_is_room);
}
