#include "profile/profile.h"

#include <stdio.h>
#include <stdlib.h>

#include "profile/profile_stage.h"

/* Shorter times are dominated by the timer and by cold caches. */
#define LEAST_SECONDS 2e-5
/* Equal layers lie in other caches and on other cores: a difference of this many spreads counts as one spread among
 * equals. */
#define ALIKE 2

static uint16_t worker_of(const mr_run_config *c, uint16_t stage)
{
	return mr_plan_worker(c->plan, 0, stage);
}

/* The @turn-th stage of worker @w; *@has: it has that many. Otherwise a stage to keep it busy: its last one, or, if it
 * has none in pipe 0, one of another pipe. */
static uint16_t stage_of(const mr_run_config *c, uint16_t w, uint32_t turn, bool *has)
{
	uint16_t last = 0;
	uint32_t n = 0;

	*has = false;
	for (uint16_t s = 0; s < c->partition->n_stages && !*has; s++)
		if (worker_of(c, s) == w) {
			last = s;
			*has = n++ == turn;
		}
	for (unsigned p = 1; !n && p < c->plan->n_pipes; p++)
		for (uint16_t s = 0; !n && s < c->partition->n_stages; s++)
			if (mr_plan_worker(c->plan, (uint8_t)p, s) == w) {
				last = s;
				n++;
			}
	return last;
}

/* Measure one stage of every worker, all at once; *@any: at least one was new. */
static mr_status measure_turn(const mr_bench_series *s, uint16_t n_workers, uint32_t turn, bool *any)
{
	mr_stage_bench **b = calloc(n_workers, sizeof(*b));
	mr_bench_gate g;
	mr_status st = b ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %u measurements", n_workers), one;

	*any = false;
	for (uint16_t w = 0; w < n_workers; w++) {
		bool has;

		stage_of(s->c, w, turn, &has);
		*any |= has;
	}
	atomic_init(&g.warming, n_workers);
	atomic_init(&g.measuring, n_workers);
	for (uint16_t w = 0; st == MR_OK && *any && w < n_workers; w++) {
		bool has;
		uint16_t stage = stage_of(s->c, w, turn, &has);

		st = mr_stage_bench_begin(s, w, stage, &g, has, &b[w]);
		if (st != MR_OK) { /* the running ones must not wait for those that will never start */
			atomic_fetch_sub_explicit(&g.warming, n_workers - w, memory_order_relaxed);
			atomic_fetch_sub_explicit(&g.measuring, n_workers - w, memory_order_relaxed);
		}
	}
	for (uint16_t w = 0; b && w < n_workers; w++)
		if (b[w]) {
			one = mr_stage_bench_join(b[w]);
			st = st == MR_OK ? one : st;
		}
	free(b);
	return st;
}

/* Measures with a buffer of the mean size of a boundary. */
static mr_status measure_handoff(const mr_run_config *c, mr_handoff *out)
{
	const mr_place_worker *a = &c->place->worker[0], *b = &c->place->worker[c->place->n_workers > 1 ? 1 : 0];
	uint16_t n = c->partition->n_stages;
	size_t bytes = 0;

	*out = (mr_handoff){0};
	if (n < 2 || a->cpu[0] == b->cpu[0])
		return MR_OK;
	for (uint16_t s = 1; s < n; s++)
		bytes += (size_t)c->samples *
			 mr_graph_crossing(c->graph, c->partition->first[s], c->kernels->types.activations, false) /
			 (n - 1u);
	return mr_handoff_measure(a->cpu[0], b->cpu[0], bytes, out);
}

/* Measure several times and keep the run that was disturbed least. */
static mr_status measure_live(const mr_run_config *c, double seconds, mr_live_profile *out)
{
	MR_TRY(mr_profile_live(c, seconds, out));
	for (unsigned k = 1; k < MR_PROFILE_TRIES && out->spread > MR_PROFILE_CALM; k++) {
		mr_live_profile again;
		mr_status st = mr_profile_live(c, seconds, &again);

		if (st == MR_OK && again.spread < out->spread) {
			mr_live_profile worse = *out;

			*out = again;
			again = worse;
		}
		free(again.instr);
		MR_TRY(st);
	}
	return MR_OK;
}

double mr_profile_spread(double medians, double minima)
{
	return medians - minima > LEAST_SECONDS && minima > 0 ? medians / minima - 1 : 0;
}

/* Do the two layers cost the same? */
static bool are_alike(const mr_run_config *c, uint32_t a, uint32_t b)
{
	const mr_node *x = &c->graph->nodes[a], *y = &c->graph->nodes[b];
	int64_t m = 0, n = 0;

	for (uint32_t i = 0; i < x->n_params; i++)
		m += c->graph->params[x->first_param + i].n;
	for (uint32_t i = 0; i < y->n_params; i++)
		n += c->graph->params[y->first_param + i].n;
	if (x->ops != y->ops)
		return false;
	for (uint32_t i = 0; i < x->n_in; i++)
		if (!mr_shape_same(x->in_shape[i], y->in_shape[i]))
			return false;
	return m == n && x->cfg.act == y->cfg.act;
}

static void find_worst(const mr_run_config *c, mr_profile *p)
{
	snprintf(p->worst_of, sizeof(p->worst_of), "nothing");
	for (uint16_t s = 0; s < c->partition->n_stages; s++)
		if (p->spread[s] > p->worst) {
			p->worst = p->spread[s];
			snprintf(p->worst_of, sizeof(p->worst_of), "stage %u", s);
		}
	if (p->live.instr && p->live.spread > p->worst) {
		p->worst = p->live.spread;
		snprintf(p->worst_of, sizeof(p->worst_of), "the run");
	}
	for (uint32_t a = 0; a < c->graph->n_nodes; a++)
		for (uint32_t b = 0; b < c->graph->n_nodes; b++) {
			double x = p->layer[a].f + p->layer[a].w, y = p->layer[b].f + p->layer[b].w;
			double apart = mr_profile_spread(x, y) / ALIKE;

			if (apart > p->worst && are_alike(c, a, b)) {
				p->worst = apart;
				snprintf(p->worst_of, sizeof(p->worst_of), "layers %.40s and %.40s, which are alike",
					 c->graph->nodes[a].name, c->graph->nodes[b].name);
			}
		}
}

mr_status mr_profile_measure(const mr_run_config *c, uint32_t n_micro, double seconds, mr_profile_method method,
			     mr_profile *out)
{
	bool together = method == MR_PROFILE_TOGETHER;
	mr_bench_series s = {c, n_micro, seconds, out, method == MR_PROFILE_BRIEF};
	bool any = true;

	*out = (mr_profile){
		.layer = calloc(c->graph->n_nodes, sizeof(*out->layer)),
		.update_s = calloc(c->partition->n_stages, sizeof(*out->update_s)),
		.inside_s = calloc(c->partition->n_stages, sizeof(*out->inside_s)),
		.spread = calloc(c->partition->n_stages, sizeof(*out->spread)),
		.sum_s = calloc(c->partition->n_stages, sizeof(*out->sum_s)),
		.norm_s = calloc(c->partition->n_stages, sizeof(*out->norm_s)),
		.counted = calloc(c->graph->n_nodes, sizeof(*out->counted)),
	};
	if (!out->layer || !out->update_s || !out->inside_s || !out->spread || !out->sum_s || !out->norm_s ||
	    !out->counted)
		return mr_fail(MR_ERESOURCE, "no memory for the times of %u layers", c->graph->n_nodes);
	MR_TRY(measure_handoff(c, &out->handoff));
	for (uint32_t turn = 0; together && any; turn++)
		MR_TRY(measure_turn(&s, c->plan->n_workers, turn, &any));
	for (uint16_t stage = 0; !together && stage < c->partition->n_stages; stage++) {
		mr_stage_bench *b;

		MR_TRY(mr_stage_bench_begin(&s, worker_of(c, stage), stage, NULL, true, &b));
		MR_TRY(mr_stage_bench_join(b));
	}
	if (method == MR_PROFILE_LIVE && mr_profile_is_live(c)) {
		MR_TRY(mr_profile_commits(c, seconds, &out->commits));
		MR_TRY(measure_live(c, seconds * c->partition->n_stages, &out->live));
	}
	find_worst(c, out);
	return MR_OK;
}

void mr_profile_fini(mr_profile *p)
{
	free(p->layer);
	free(p->update_s);
	free(p->inside_s);
	free(p->spread);
	free(p->live.instr);
	free(p->sum_s);
	free(p->norm_s);
	free(p->counted);
	*p = (mr_profile){0};
}
