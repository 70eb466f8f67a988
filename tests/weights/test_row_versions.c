/*
 * test_row_versions.c - versions of tables by rows against whole versions: a stage that is trained with either, F on
 * random live versions, has the same losses and the same weights in every live version, to the bit, whether steps are
 * inside a backward pass or apart; and the tables' memory is what it should be.
 */
#include "weights/row_versions.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/size.h"
#include "check.h"

enum { SAMPLES = 5, COLUMNS = 4, COMMITS = 40, BIG = 61, SMALL = 4, WIDTH = 3, MICROS = 2 };

/* The stage trained in one of the two ways. */
typedef struct side {
	mr_stage_weights b;
	mr_shard shard;
	void *memory, *slot, *scratch;
	mr_kctx *kc;
	double loss;
} side;

typedef struct rig {
	mr_graph *graph;
	mr_stage *stage;
	const mr_kernels *k;
	mr_optim optim;
	side whole, rows;
	int32_t in[SAMPLES * COLUMNS];
	double target[SAMPLES];
	uint32_t drawn;
} rig;

/* Two tables, one with bags of two, added up, behind a linear layer in front of the loss. */
static void make_graph(rig *r, mr_dtype dtype)
{
	const mr_layer_cfg big = {.out = WIDTH, .vocab = BIG, .bag = 2};
	const mr_layer_cfg small = {.out = WIDTH, .vocab = SMALL, .column = 3}, linear = {.out = 1};
	const uint16_t none = 0;
	uint16_t x[2], y;

	r->k = mr_kernels_find("reference", dtype);
	MR_CHECK_OK(mr_graph_create((mr_shape){.rows = 1, .cols = COLUMNS, .tokens = true},
				    (mr_shape){.rows = 1, .cols = 1}, &r->graph));
	MR_CHECK_OK(mr_graph_add(r->graph, mr_layer_find("embedding_bag"), "big", &big, &none, 1, &x[0]));
	MR_CHECK_OK(mr_graph_add(r->graph, mr_layer_find("embedding_bag"), "small", &small, &none, 1, &x[1]));
	MR_CHECK_OK(mr_graph_add(r->graph, mr_layer_find("residual"), "sum", &(mr_layer_cfg){0}, x, 2, &y));
	MR_CHECK_OK(mr_graph_add(r->graph, mr_layer_find("linear"), "linear", &linear, &y, 1, &y));
	MR_CHECK_OK(mr_graph_add(r->graph, mr_layer_find("mse"), "loss", &(mr_layer_cfg){0}, &y, 1, &y));
	MR_CHECK_OK(mr_graph_finish(r->graph));
	MR_CHECK_OK(mr_stage_create(r->graph, 0, r->graph->n_nodes, SAMPLES, r->k, false, NULL, &r->stage));
}

static void *take(size_t bytes)
{
	void *p = aligned_alloc(MR_CACHE_LINE, mr_align_up(bytes + 1, MR_CACHE_LINE));

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	memset(p, 0xff, bytes);
	return p;
}

static void side_init(rig *r, side *s, uint32_t cap, bool by_rows)
{
	mr_arena a;

	s->b = (mr_stage_weights){.stage = r->stage, .k = r->k, .optim = r->optim, .cap = cap, .shard = &s->shard,
				  .n_shards = 1, .sum = MICROS, .in_step = 1, .rate = 1};
	s->shard.need = MICROS;
	mr_weights_cut(&s->b);
	if (by_rows)
		MR_CHECK_OK(mr_row_versions_open(&s->b, SAMPLES));
	CU_ASSERT_EQUAL(s->b.row_versions != NULL, by_rows && cap > 1);
	mr_arena_init(&a, NULL, 0);
	mr_weights_layout(&s->b, &a, 0);
	s->memory = take(a.used);
	mr_arena_init(&a, s->memory, a.used);
	mr_weights_layout(&s->b, &a, 0);
	memset(s->b.state[0], 0, mr_stage_size(r->stage)->state_bytes);
	mr_weights_init(&s->b, 0, 3);
	mr_version_count_begin(&s->b.version_count, 0);
	s->slot = take(mr_stage_size(r->stage)->slot_bytes);
	s->scratch = take(mr_stage_size(r->stage)->scratch_bytes);
	MR_CHECK_OK(r->k->ctx_create(r->k, 1, &s->kc));
}

static void side_fini(rig *r, side *s)
{
	mr_weights_fini(&s->b);
	r->k->ctx_destroy(s->kc);
	free(s->memory), free(s->slot), free(s->scratch);
}

static void rig_init(rig *r, mr_dtype dtype, uint32_t cap)
{
	mr_values *values;

	memset(r, 0, sizeof(*r));
	make_graph(r, dtype);
	MR_CHECK_OK(mr_values_create(mr_optim_find("momentum")->options, &values));
	mr_optim_init(&r->optim, mr_optim_find("momentum"), values);
	mr_values_destroy(values);
	side_init(r, &r->whole, cap, false);
	side_init(r, &r->rows, cap, true);
}

static void rig_fini(rig *r)
{
	side_fini(r, &r->whole);
	side_fini(r, &r->rows);
	mr_stage_destroy(r->stage);
	mr_graph_destroy(r->graph);
}

static uint32_t draw(rig *r, uint32_t below)
{
	return mr_rng_u32(9, MR_RNG_TEST, 0, 0, r->drawn++) % below;
}

/* Tokens of which some are missing, some beyond the table, and few are often met. */
static void draw_micro(rig *r)
{
	for (int i = 0; i < SAMPLES * COLUMNS; i++)
		r->in[i] = draw(r, 5) ? (int32_t)draw(r, draw(r, 2) ? 2 * BIG : 5) : -1;
	for (int i = 0; i < SAMPLES; i++)
		r->target[i] = draw(r, 100) / 10.0;
}

/* A micro-batch on version @v; the last one of a commit steps inside if @inside. */
static void pass(rig *r, side *s, uint64_t v, uint32_t micro, bool inside)
{
	float narrow[SAMPLES];
	mr_stage_io io = {.kc = s->kc, .in = r->in, .slot = s->slot, .scratch = s->scratch, .add_grads = micro > 0,
			  .target = r->k->types.weights == MR_F64 ? (void *)r->target : narrow, .loss = &s->loss,
			  .samples = SAMPLES, .train = true};

	for (int i = 0; i < SAMPLES; i++)
		narrow[i] = (float)r->target[i];
	mr_weights_show(&s->b, 0, v, &io);
	io.old_rows = s->b.row_versions ? s->b.row_versions->of : NULL;
	MR_CHECK_OK(mr_stage_forward(r->stage, &io));
	if (inside && micro + 1 == s->b.sum)
		io.step = mr_weights_steps(&s->b, 0, 0.05, 0.5);
	MR_CHECK_OK(mr_stage_backward(r->stage, &io));
	if (micro + 1 < s->b.sum)
		return;
	if (!inside)
		MR_CHECK_OK(mr_weights_step(&s->b, 0, s->kc, 0.05, 0.5));
	mr_weights_committed(&s->b);
}

/* Parameter @p of version @v, row @row. */
static const void *row_at(const side *s, uint64_t v, uint32_t p, int64_t row, size_t bytes)
{
	const char *now = (const char *)mr_weights_param_at(&s->b, 0, v, p) + (size_t)row * bytes;
	const mr_old_rows *old = s->b.row_versions ? s->b.row_versions->of[p] : NULL;

	return old && v < s->b.latest ? mr_old_rows_at(old, v, (int32_t)row, now) : now;
}

static void check_versions(const rig *r)
{
	uint64_t latest = r->rows.b.latest, cap = r->rows.b.cap;

	CU_ASSERT_EQUAL_FATAL(r->whole.b.latest, latest);
	CU_ASSERT(!memcmp(&r->rows.loss, &r->whole.loss, sizeof(double)));
	for (uint64_t v = latest < cap ? 0 : latest - cap + 1; v <= latest; v++)
		for (uint32_t p = 0; p < r->graph->n_params; p++) {
			const mr_param *param = &r->graph->params[p];
			size_t bytes = (size_t)(param->n / param->dim[0]) * mr_dtype_bytes(r->k->types.weights);

			for (int64_t row = 0; row < param->dim[0]; row++)
				CU_ASSERT_FATAL(!memcmp(row_at(&r->rows, v, p, row, bytes),
							row_at(&r->whole, v, p, row, bytes), bytes));
		}
}

static void rows_equal_whole_versions(void)
{
	for (uint32_t cap = 1; cap <= 4; cap++)
		for (int kind = 0; kind < 4; kind++) {
			rig r;

			rig_init(&r, kind & 1 ? MR_F32 : MR_F64, cap);
			for (int i = 0; i < COMMITS; i++)
				for (uint32_t m = 0; m < MICROS; m++) {
					uint64_t back = draw(&r, cap), latest = r.rows.b.latest;
					uint64_t v = latest < back ? 0 : latest - back;

					draw_micro(&r);
					pass(&r, &r.whole, v, m, kind & 2);
					pass(&r, &r.rows, v, m, kind & 2);
					check_versions(&r);
				}
			rig_fini(&r);
		}
}

/* Of a table of 61 rows a commit meets at most 2 x 5 x 2, of one of 4 rows all. */
static void memory_follows_from_what_is_met(void)
{
	rig r;
	const mr_stage_sizes *z;

	rig_init(&r, MR_F64, 4);
	z = mr_stage_size(r.stage);
	CU_ASSERT_EQUAL(z->table_bytes, mr_align_up(BIG * WIDTH * 8, MR_CACHE_LINE) +
						mr_align_up(SMALL * WIDTH * 8, MR_CACHE_LINE));
	CU_ASSERT_EQUAL(mr_weights_stride(&r.whole.b), z->weight_bytes);
	CU_ASSERT_EQUAL(mr_weights_stride(&r.rows.b), z->weight_bytes - z->table_bytes);
	CU_ASSERT_EQUAL(r.rows.b.row_versions->of[0]->most, MICROS * SAMPLES * 2);
	CU_ASSERT_EQUAL(r.rows.b.row_versions->of[1]->most, SMALL);
	CU_ASSERT_PTR_NULL(r.rows.b.row_versions->of[2]);
	CU_ASSERT_EQUAL(mr_weights_version_bytes(&r.whole.b, 4), 4 * z->weight_bytes);
	CU_ASSERT_EQUAL(mr_weights_version_bytes(&r.rows.b, 4),
			4 * (z->weight_bytes - z->table_bytes) + z->table_bytes + r.rows.b.row_versions->bytes);
	rig_fini(&r);
}

void mr_suite_row_versions(void);

void mr_suite_row_versions(void)
{
	MR_SUITE("row_versions");
	MR_TEST(rows_equal_whole_versions);
	MR_TEST(memory_follows_from_what_is_met);
}
