/* A stream is the simulation of the whole, whatever its window; and a single thread could carry it out in its order. */
#include "timing/stream.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "golden_files.h"
#include "ir/deps.h"
#include "lower/lower.h"
#include "ir/plan_json.h"

/* Checked millions of times: too often for an assertion each. */
#define EXPECT(what)                    \
	do {                            \
		if (!(what))            \
			CU_FAIL_FATAL(#what); \
	} while (0)

/* When each thing was done, by the numbers of deps.h; -1: not yet. */
typedef struct done {
	const mr_plan *plan;
	uint64_t n_micro, n_versions;
	double *f, *grad, *commit; /* [stage * n_micro + micro]; [stage * n_versions + version] */
} done;

static done done_init(const mr_plan *p, uint32_t bodies)
{
	done d = {.plan = p,
		  .n_micro = (uint64_t)p->n_micro * (bodies + 16),
		  .n_versions = (uint64_t)p->commits * (bodies + 16)};
	size_t cells = p->n_stages * (2 * d.n_micro + d.n_versions);

	d.f = malloc(cells * sizeof(*d.f));
	CU_ASSERT_PTR_NOT_NULL_FATAL(d.f);
	for (size_t i = 0; i < cells; i++)
		d.f[i] = -1;
	d.grad = d.f + p->n_stages * d.n_micro;
	d.commit = d.grad + p->n_stages * d.n_micro;
	return d;
}

static double when(const done *d, const mr_dep *dep)
{
	if (dep->kind == MR_DEP_COMMIT)
		return d->commit[dep->stage * d->n_versions + dep->number];
	return (dep->kind == MR_DEP_F ? d->f : d->grad)[dep->stage * d->n_micro + dep->number];
}

/* Everything that @e waits for has been handed out before, and ends in time. */
static void take(done *d, const mr_walk_event *e)
{
	uint64_t micro = mr_instr_micro(d->plan, e->in, e->n);
	mr_dep deps[MR_DEPS_MAX];
	uint32_t n = mr_deps_of(d->plan, e->in, e->n, deps);

	for (uint32_t i = 0; i < n; i++)
		if (deps[i].kind == MR_DEP_F || deps[i].kind == MR_DEP_GRAD || deps[i].kind == MR_DEP_COMMIT) {
			double t = when(d, &deps[i]);

			EXPECT(t >= 0 && t <= e->begin);
		}
	if (e->in->op == MR_OP_F)
		d->f[e->in->stage * d->n_micro + micro] = e->end;
	if (e->in->op == MR_OP_B || e->in->op == MR_OP_I)
		d->grad[e->in->stage * d->n_micro + micro] = e->end;
	if (e->in->op == MR_OP_U || e->in->flags & MR_INSTR_UPDATE)
		d->commit[e->in->stage * d->n_versions + mr_instr_target(d->plan, e->in, e->n)] = e->end;
}

/* The instructions of each worker are those of the whole, with its times; epilogues are no part of a stream. */
static void compare(const mr_plan *p, const mr_cost *cost, mr_walk_opts params, uint32_t bodies, uint32_t step)
{
	size_t *next = calloc(p->n_workers, sizeof(*next));
	done d = done_init(p, bodies);
	mr_walk_stream *s;
	mr_walk *k;
	double last = 0;
	size_t n = 0;

	params.no_period = true;
	CU_ASSERT_PTR_NOT_NULL_FATAL(next);
	MR_CHECK_OK(mr_plan_walk(p, cost, bodies, &params, &k));
	MR_CHECK_OK(mr_walk_stream_create(p, cost, &params, &s));
	for (uint64_t until = step < bodies ? step : bodies;; until = until + step < bodies ? until + step : bodies) {
		bool more = true;

		for (;;) {
			mr_walk_event e;
			const mr_walk_rec *r;

			EXPECT(mr_walk_stream_next(s, until, &e, &more) == MR_OK);
			if (!more)
				break;
			r = &k->at[k->first[e.worker] + next[e.worker]++];
			EXPECT(r->in == e.in && r->n == e.n && r->begin == e.begin && r->end == e.end &&
			       r->cause == e.cause);
			EXPECT(e.begin >= last || step < bodies);
			last = e.begin;
			take(&d, &e);
			n++;
		}
		if (until == bodies)
			break;
	}
	for (uint16_t w = 0; w < p->n_workers; w++)
		n += mr_plan_list(p, w, MR_EPILOGUE)->n;
	CU_ASSERT_EQUAL(n, k->first[p->n_workers]);
	mr_walk_stream_destroy(s);
	mr_walk_destroy(k);
	free(next);
	free(d.f);
}

/* Costs of 0 for some instructions: then only the rank tells what comes first. */
enum { N_COSTS = 4 };
static const double costs[N_COSTS][3] = {{1, 1, 1}, {2, 0, 0}, {0, 2, 1}, {0, 0, 0}};

/* With costs @from to @to; @bodies: more than a window's least size. */
static void all_kinds(const mr_plan *p, uint32_t bodies, size_t from, size_t to)
{
	mr_straggler slow = {0, 3, 20, 60};
	mr_stage_cost stage[64];
	mr_cost cost;

	CU_ASSERT_FATAL(p->n_stages <= 64);
	for (size_t c = from; c < to; c++) {
		mr_walk_opts params = {.window = 1, .seed = c};

		mr_cost_share(p, costs[c][0], costs[c][1], costs[c][2], stage, &cost);
		for (uint16_t i = 0; i < p->n_stages; i++)
			stage[i].u = 0.25 * (double)(c % 2);
		compare(p, &cost, params, bodies, bodies);
		params.window = 1000;
		params.jitter = MR_JITTER_LOGNORMAL;
		params.amount = 0.4;
		compare(p, &cost, params, bodies, 7);
		params.window = 1;
		params.straggler = &slow;
		params.n_stragglers = 1;
		compare(p, &cost, params, bodies, bodies);
		compare(p, &cost, params, bodies, 1);
	}
}

static void one_golden(void *arg, const char *path, uint32_t number)
{
	size_t first = number / 2 % N_COSTS;
	mr_plan *p;

	(void)arg;
	MR_CHECK_OK(mr_plan_json_read(path, &p));
	if (number % 2)
		p->contract.flush = MR_FLUSH_LOCAL;
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	all_kinds(p, 40, first, first + 1);
	mr_plan_destroy(p);
}

static void goldens(void)
{
	CU_ASSERT_EQUAL(mr_golden_each("sync", one_golden, NULL), 62);
}

static uint64_t heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* What a simulation takes is no more than was said before, and at least half as much for a large one. */
static void one_room(void *arg, const char *path, uint32_t number)
{
	double *most = arg;
	mr_stage_cost *stage;
	uint64_t before, took, said;
	mr_walk_stream *s;
	mr_cost cost;
	mr_plan *p;

	(void)number;
	MR_CHECK_OK(mr_plan_json_read(path, &p));
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	stage = calloc(p->n_stages, sizeof(*stage));
	CU_ASSERT_PTR_NOT_NULL_FATAL(stage);
	mr_cost_share(p, 1, 1, 1, stage, &cost);
	said = mr_walk_stream_bytes(p);
	before = heap_bytes();
	MR_CHECK_OK(mr_walk_stream_create(p, &cost, &(mr_walk_opts){0}, &s));
	took = heap_bytes() - before;
	if (took > said || (said > 4 << 20 && 2 * took < said))
		fprintf(stderr, "%s: said %llu bytes, took %llu\n", path, (unsigned long long)said,
			(unsigned long long)took);
	CU_ASSERT(took <= said);
	CU_ASSERT(said <= 4 << 20 || 2 * took >= said);
	*most = (double)took / (double)said > *most ? (double)took / (double)said : *most;
	mr_walk_stream_destroy(s);
	mr_plan_destroy(p);
	free(stage);
}

static void room(void)
{
	double most = 0;

	if (heap_bytes() == 0) /* an allocator that does not tell */
		return;
	CU_ASSERT_EQUAL(mr_golden_each("sync", one_room, &most), 62);
	CU_ASSERT(most > 0.5);
}

static mr_instr instr(mr_op op, uint16_t stage, uint32_t micro)
{
	return (mr_instr){.op = (uint8_t)op, .span = 1, .stage = stage, .micro = micro};
}

/* Never flushes: worker w runs ahead by D - 1 - w forwards and then alternates. */
static mr_plan *endless(uint16_t d, bool drain)
{
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create(d, d, 1, &p));
	p->n_micro = 1;
	p->commits = 1;
	p->contract = (mr_contract){.flush = MR_FLUSH_NONE, .read_f = MR_READ_LATEST, .need = 1, .same_version_b = true,
				    .max_staleness = d - 1u};
	for (uint16_t w = 0; w < d; w++) {
		uint32_t ahead = d - 1u - w;

		p->worker_of[w] = w;
		for (uint32_t m = 0; m < ahead; m++)
			MR_CHECK_OK(mr_plan_append(p, w, MR_PROLOGUE, instr(MR_OP_F, w, m)));
		MR_CHECK_OK(mr_plan_append(p, w, MR_BODY, instr(MR_OP_F, w, ahead)));
		MR_CHECK_OK(mr_plan_append(p, w, MR_BODY, instr(MR_OP_B, w, 0)));
		for (uint32_t m = 0; drain && m + 1 < d; m++) {
			if (m + ahead + 1 < d)
				MR_CHECK_OK(mr_plan_append(p, w, MR_EPILOGUE, instr(MR_OP_F, w, m + ahead)));
			MR_CHECK_OK(mr_plan_append(p, w, MR_EPILOGUE, instr(MR_OP_B, w, m)));
		}
	}
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	return p;
}

static void endless_plans(void)
{
	for (uint16_t d = 1; d <= 7; d++)
		for (int drain = 0; drain < 2; drain++) {
			mr_plan *p = endless(d, drain);

			all_kinds(p, 150, 0, N_COSTS);
			mr_plan_destroy(p);
		}
}

/* Many windows of the usual size, with times that are known exactly. */
static void long_run(void)
{
	mr_plan *p = endless(2, false);
	mr_stage_cost stage[2];
	mr_walk_stream *s;
	mr_walk_event e;
	mr_cost cost;
	bool more = true;
	uint64_t n = 0;

	mr_cost_share(p, 1, 1, 1, stage, &cost);
	MR_CHECK_OK(mr_walk_stream_create(p, &cost, &(mr_walk_opts){0}, &s));
	for (;; n++) {
		EXPECT(mr_walk_stream_next(s, 200000, &e, &more) == MR_OK);
		if (!more)
			break;
		if (e.worker == 1)
			EXPECT(e.begin == (double)(1 + 3 * e.n + (e.in->op == MR_OP_B ? 1 : 0) +
								 (e.in->op == MR_OP_U ? 3 : 0)));
	}
	CU_ASSERT_EQUAL(n, 6 * 200000 + 1); /* F, B, U each, and the prologue */
	mr_walk_stream_destroy(s);
	mr_plan_destroy(p);
}

static void refusals(void)
{
	mr_stage_cost stage[2] = {{.f = 1, .i = 1, .w = 1}, {.f = 1, .i = 1, .w = 1}};
	mr_walk_stream *s;
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create(2, 2, 1, &p));
	MR_CHECK_FAIL(mr_walk_stream_create(p, &(mr_cost){2, stage}, &(mr_walk_opts){0}, &s), MR_EINVAL,
		      "only a lowered plan");
	CU_ASSERT_PTR_NULL(s);
	MR_CHECK_FAIL(mr_walk_stream_create(p, &(mr_cost){1, stage}, &(mr_walk_opts){0}, &s), MR_EINVAL, "plan of 2");
	mr_plan_destroy(p);
}

void mr_suite_stream(void);
void mr_suite_stream(void)
{
	MR_SUITE("stream");
	MR_TEST(goldens);
	MR_TEST(room);
	MR_TEST(endless_plans);
	MR_TEST(long_run);
	MR_TEST(refusals);
}
