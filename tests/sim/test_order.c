/* The order of a simulation is one in which a single thread could carry everything out. */
#include "sim/order.h"

#include <dirent.h>
#include <string.h>

#include "check.h"
#include "ir/deps.h"
#include "ir/lower.h"
#include "ir/plan_json.h"
#include "sim/sim.h"

/* When each thing was done, by the numbers of deps.h; -1: not yet. */
typedef struct done {
	const mr_plan *plan;
	uint64_t n_micro;
	double *f, *grad; /* [stage * n_micro + micro] */
} done;

static double when(const done *d, const mr_dep *dep)
{
	return (dep->kind == MR_DEP_F ? d->f : d->grad)[dep->stage * d->n_micro + dep->number];
}

static void take(done *d, const mr_walk_rec *r)
{
	uint64_t micro = mr_instr_micro(d->plan, r->in, r->n);
	mr_dep deps[MR_DEPS_MAX];
	uint32_t n = mr_deps_of(d->plan, r->in, r->n, deps);

	for (uint32_t i = 0; i < n; i++)
		if (deps[i].kind == MR_DEP_F || deps[i].kind == MR_DEP_GRAD) {
			double t = when(d, &deps[i]);

			CU_ASSERT_TRUE_FATAL(t >= 0 && t <= r->begin);
		}
	if (r->in->op == MR_OP_F)
		d->f[r->in->stage * d->n_micro + micro] = r->end;
	if (r->in->op == MR_OP_B || r->in->op == MR_OP_I)
		d->grad[r->in->stage * d->n_micro + micro] = r->end;
}

static void follow(const mr_plan *p, const mr_walk *k, const mr_sim_event *e)
{
	size_t n = k->first[k->n_workers], cells;
	size_t *next = malloc(k->n_workers * sizeof(*next));
	done d = {.plan = p, .n_micro = (uint64_t)p->n_micro * k->n_bodies};
	double last = 0;

	cells = p->n_stages * d.n_micro;
	d.f = malloc(2 * cells * sizeof(*d.f));
	CU_ASSERT_FATAL(next && d.f);
	d.grad = d.f + cells;
	for (size_t i = 0; i < 2 * cells; i++)
		d.f[i] = -1;
	for (uint16_t w = 0; w < k->n_workers; w++)
		next[w] = k->first[w];
	for (size_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL_FATAL(e[i].rec, next[e[i].worker]);
		next[e[i].worker]++;
		CU_ASSERT_TRUE_FATAL(k->at[e[i].rec].begin >= last);
		last = k->at[e[i].rec].begin;
		take(&d, &k->at[e[i].rec]);
	}
	for (uint16_t w = 0; w < k->n_workers; w++)
		CU_ASSERT_EQUAL(next[w], k->first[w + 1]);
	free(next);
	free(d.f);
}

/* Costs of 0 for some instructions: then only the rank tells what comes first. */
static void one_file(const char *path)
{
	static const double costs[][3] = {{1, 1, 1}, {1, 0, 0}, {0, 2, 1}, {0, 0, 0}};
	mr_stage_cost stage[64];
	mr_sim_event *e;
	mr_plan *p;
	mr_cost cost;
	mr_walk *k;

	MR_CHECK_OK(mr_plan_json_read(path, &p));
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	for (size_t c = 0; c < 4; c++) {
		mr_sim_params params = {.n_bodies = 3, .jitter = MR_JITTER_LOGNORMAL, .amount = 0.1 * (double)c, .no_period = true};

		mr_cost_share(p, costs[c][0], costs[c][1], costs[c][2], stage, &cost);
		MR_CHECK_OK(mr_sim_run(p, &cost, &params, &k));
		e = malloc(k->first[k->n_workers] * sizeof(*e));
		CU_ASSERT_PTR_NOT_NULL_FATAL(e);
		MR_CHECK_OK(mr_sim_order(k, e));
		follow(p, k, e);
		free(e);
		mr_walk_destroy(k);
	}
	mr_plan_destroy(p);
}

static void goldens(void)
{
	char dir[512], path[1024];
	DIR *d;
	int n = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(getenv("MR_GOLDEN"));
	snprintf(dir, sizeof(dir), "%s/sync", getenv("MR_GOLDEN"));
	d = opendir(dir);
	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	for (struct dirent *e = readdir(d); e; e = readdir(d)) {
		size_t len = strlen(e->d_name);

		if (len < 6 || strcmp(e->d_name + len - 5, ".json"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		one_file(path);
		n++;
	}
	closedir(d);
	CU_ASSERT_EQUAL(n, 56);
}

void mr_suite_order(void);
void mr_suite_order(void)
{
	MR_SUITE("order");
	MR_TEST(goldens);
}
