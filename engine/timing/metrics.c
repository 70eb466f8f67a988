#include "timing/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An iteration so late that no version of it is clamped at 0 any more. */
#define LATE ((uint64_t)1 << 32)

mr_status mr_metrics_walk(const mr_plan *plan, double f, double i, double w, double c, uint32_t n_bodies, mr_walk **out)
{
	mr_stage_cost *stage;
	mr_cost cost;
	mr_status st;

	if (!(f >= 0 && i >= 0 && w >= 0 && c >= 0 && f + i + w > 0 && isfinite(f + i + w + c)))
		return mr_fail(MR_EINVAL,
			       "costs must be finite, not negative and not all 0, got f %g, i %g, w %g, c %g", f, i, w,
			       c);
	stage = calloc(plan->n_stages, sizeof(*stage));
	if (!stage)
		return mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", plan->n_stages);
	mr_cost_share(plan, f, i, w, stage, &cost);
	for (uint16_t s = 0; s < plan->n_stages; s++)
		stage[s].c = c;
	st = mr_plan_walk(plan, &cost, n_bodies, NULL, out);
	free(stage);
	return st;
}

static void take_staleness(const mr_plan *plan, const mr_instr *in, uint64_t n, uint32_t *staleness)
{
	uint64_t applied_on = mr_plan_applied_on(plan, in->stage, mr_instr_micro(plan, in, n)),
		 read = mr_instr_read(plan, in, n);

	if (applied_on > read && applied_on - read > staleness[in->stage])
		staleness[in->stage] = (uint32_t)(applied_on - read);
}

void mr_metrics_staleness(const mr_plan *plan, uint32_t *staleness)
{
	memset(staleness, 0, plan->n_stages * sizeof(*staleness));
	if (plan->contract.coverage == MR_COVER_FORWARD || plan->contract.need == 0)
		return;
	for (unsigned w = 0; w < plan->n_workers; w++)
		for (mr_section section = MR_PROLOGUE; section < MR_N_SECTIONS; section++) {
			const mr_list *list = mr_plan_list(plan, (uint16_t)w, section);

			for (uint32_t k = 0; k < list->n; k++) {
				if (list->at[k].op != MR_OP_F)
					continue;
				if (section != MR_EPILOGUE)
					take_staleness(plan, &list->at[k], 0, staleness);
				if (section != MR_PROLOGUE)
					take_staleness(plan, &list->at[k], LATE, staleness);
			}
		}
}

/* A copy of @n entries of @size bytes; *@ok turns false without memory. */
static void *copy(const void *from, size_t n, size_t size, bool *ok)
{
	void *to = malloc(n * size);

	if (to)
		memcpy(to, from, n * size);
	else
		*ok = false;
	return to;
}

mr_status mr_metrics_create(const mr_plan *plan, const mr_walk *walk, mr_metrics **out)
{
	size_t places = (size_t)plan->n_pipes * plan->n_stages, d = plan->n_workers;
	mr_metrics *m;
	bool ok = true;

	if (!plan->lowered)
		return mr_fail(MR_EINVAL, "the figures of a plan are known only when it is lowered");
	m = calloc(1, sizeof(*m));
	if (!m)
		return mr_fail(MR_ERESOURCE, "no memory for figures");
	m->n_workers = plan->n_workers;
	m->n_stages = plan->n_stages;
	m->n_pipes = plan->n_pipes;
	m->n_bodies = walk->n_bodies;
	m->n_stolen = walk->n_stolen;
	m->steals = walk->plan != NULL;
	m->makespan = walk->makespan;
	m->period = walk->period > 0 ? walk->period : NAN;
	m->bubble_flush = walk->bubble_flush;
	m->bubble_period = walk->period > 0 ? walk->bubble_period : NAN;
	m->busy = copy(walk->busy, d, sizeof(*m->busy), &ok);
	m->peak_until_w = copy(walk->peak_until_w, d, sizeof(*m->peak_until_w), &ok);
	m->peak_until_i = copy(walk->peak_until_i, d, sizeof(*m->peak_until_i), &ok);
	m->slots = copy(plan->n_slots, places, sizeof(*m->slots), &ok);
	m->fwd = copy(plan->n_fwd, places, sizeof(*m->fwd), &ok);
	m->bwd = copy(plan->n_bwd, places, sizeof(*m->bwd), &ok);
	m->versions = copy(plan->n_versions, plan->n_stages, sizeof(*m->versions), &ok);
	m->staleness = calloc(plan->n_stages, sizeof(*m->staleness));
	if (!ok || !m->staleness) {
		mr_metrics_destroy(m);
		return mr_fail(MR_ERESOURCE, "no memory for the figures of %u workers", plan->n_workers);
	}
	mr_metrics_staleness(plan, m->staleness);
	for (uint16_t s = 0; s < plan->n_stages; s++) {
		m->weight_copies += plan->n_versions[s];
		m->most_stale = m->staleness[s] > m->most_stale ? m->staleness[s] : m->most_stale;
	}
	m->weight_copies /= plan->n_stages; /* divided once: a sum of six sixths is not exactly 1 */
	m->weight_copies *=
		plan->contract.private_weights || mr_contract_replicates(&plan->contract) ? plan->n_pipes : 1;
	m->weight_copies += mr_average_copies(&plan->contract.average);
	for (uint16_t s = 0; s < plan->n_stages && plan->contract.coverage != MR_COVER_FORWARD; s++)
		m->gradient_copies += plan->contract.whole_steps && !plan->contract.ring
						? plan->n_pipes
						: mr_plan_partial_sums(plan, s);
	m->gradient_copies /= plan->n_stages;
	*out = m;
	return MR_OK;
}

void mr_metrics_destroy(mr_metrics *m)
{
	if (!m)
		return;
	free(m->busy);
	free(m->peak_until_w);
	free(m->peak_until_i);
	free(m->slots);
	free(m->fwd);
	free(m->bwd);
	free(m->versions);
	free(m->staleness);
	free(m);
}

static void put_doubles(mr_json_writer *w, const char *key, const double *x, size_t n)
{
	mr_json_field_array(w, key);
	for (size_t i = 0; i < n; i++)
		mr_json_put_double(w, x[i]);
	mr_json_end_array(w);
}

/* An array of pipes, each an array of stages. */
static void put_places(mr_json_writer *w, const char *key, const mr_metrics *m, const uint16_t *x)
{
	mr_json_field_array(w, key);
	for (unsigned p = 0; p < m->n_pipes; p++) {
		mr_json_begin_array(w);
		for (unsigned s = 0; s < m->n_stages; s++)
			mr_json_put_uint(w, x[(size_t)p * m->n_stages + s]);
		mr_json_end_array(w);
	}
	mr_json_end_array(w);
}

void mr_metrics_put(mr_json_writer *w, const mr_metrics *m)
{
	mr_json_begin_object(w);
	mr_json_field_uint(w, "iterations", m->n_bodies);
	mr_json_field_double(w, "makespan", m->makespan);
	mr_json_field_double(w, "period", m->period);
	mr_json_field_double(w, "bubble_flush", m->bubble_flush);
	mr_json_field_double(w, "bubble_period", m->bubble_period);
	put_doubles(w, "busy", m->busy, m->n_workers);
	put_doubles(w, "peak_act_until_W", m->peak_until_w, m->n_workers);
	put_doubles(w, "peak_act_until_I", m->peak_until_i, m->n_workers);
	mr_json_field_double(w, "weight_copies", m->weight_copies);
	mr_json_field_double(w, "gradient_copies", m->gradient_copies);
	if (m->steals) {
		mr_json_field_uint(w, "stolen", m->n_stolen);
	}
	put_places(w, "slots", m, m->slots);
	put_places(w, "forward_buffers", m, m->fwd);
	put_places(w, "gradient_buffers", m, m->bwd);
	mr_json_field_array(w, "versions");
	for (unsigned s = 0; s < m->n_stages; s++)
		mr_json_put_uint(w, m->versions[s]);
	mr_json_end_array(w);
	mr_json_field_array(w, "max_staleness");
	for (unsigned s = 0; s < m->n_stages; s++)
		mr_json_put_uint(w, m->staleness[s]);
	mr_json_end_array(w);
	mr_json_end_object(w);
}
