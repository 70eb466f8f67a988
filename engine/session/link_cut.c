#include "session/link_cut.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "session/host_map.h"
#include "session/session_internal.h"
#include "costs/forecast.h"

#define MOST_INSTRUCTIONS (1u << 16) /* of a plan that is walked for each cut */

/* How often each cut counts the bytes of links. */
static const double times[] = {0, 0.5, 1, 2, 8};
enum { N_TIMES = sizeof(times) / sizeof(times[0]), ONCE = 2 };

/* Seconds a byte of the slowest link into stage @i in any pipe; 0: all pipes stay on a host. */
static double byte_s(const mr_session *s, uint16_t i)
{
	const mr_hosts *h = &s->hosts->hosts;
	double most = 0;

	for (unsigned p = 0; i && p < s->plan->n_pipes; p++) {
		uint16_t a = h->rank[mr_plan_worker(s->plan, (uint8_t)p, (uint16_t)(i - 1))];
		uint16_t b = h->rank[mr_plan_worker(s->plan, (uint8_t)p, i)];

		if (a != b)
			most = fmax(most, h->link[h->host[a] * h->n_hosts + h->host[b]].byte_s);
	}
	return most;
}

bool mr_session_crosses_links(const mr_session *s)
{
	bool any = false;

	for (uint16_t i = 1; s->hosts && s->plan && i < s->plan->n_stages; i++)
		any |= byte_s(s, i) > 0;
	return any;
}

/* The step of the plan of @s with the cut @p; INFINITY: it cannot be carried out so. */
static double step_of(const mr_session *s, const mr_partition *p)
{
	mr_session t = *s;
	mr_place place = s->place;
	mr_forecast f;
	double step = INFINITY;

	t.plan = NULL;
	t.partition = *p;
	if (mr_plan_copy(s->plan, &t.plan) == MR_OK && mr_session_finish_plan(&t) == MR_OK) {
		f = (mr_forecast){.of = mr_session_workload(&t)};
		place.n_cores_idle = UINT32_MAX; /* idle cores of this machine decide no cut */
		f.of.place = &place;
		if (mr_costs_at_hand(&f.of, &f.costs) == MR_OK && mr_forecast_time(&f) == MR_OK)
			step = f.step_s;
		mr_forecast_fini(&f);
	}
	mr_plan_destroy(t.plan);
	return step;
}

static uint64_t instructions_of(const mr_plan *p)
{
	uint64_t n = 0;

	for (uint16_t w = 0; w < p->n_workers; w++)
		for (int section = 0; section < MR_N_SECTIONS; section++)
			n += mr_plan_list(p, w, (mr_section)section)->n;
	return n;
}

/* Cut as if links took @by times as long. */
static mr_status cut(const mr_session *s, uint16_t stages, const uint32_t *weight, double by, double *room,
		     mr_partition *out)
{
	for (uint16_t i = 0; i < stages; i++)
		room[i] = byte_s(s, i) * by;
	return mr_partition_over_links(s->graph, stages, weight, room, s->samples, s->kernels, out);
}

/* Make *@best the cut that counts links @by times, if its step is shorter than *@step. */
static mr_status offer(const mr_session *s, const uint32_t *weight, double by, double *room, mr_partition *best,
		       double *step)
{
	mr_partition p;
	double now;

	MR_TRY(cut(s, best->n_stages, weight, by, room, &p));
	if (!memcmp(p.first, best->first, (best->n_stages + 1u) * sizeof(*p.first))) {
		mr_partition_fini(&p);
		return MR_OK;
	}
	now = step_of(s, &p);
	if (now < *step) {
		mr_partition_fini(best);
		*best = p;
		*step = now;
	} else {
		mr_partition_fini(&p);
	}
	return MR_OK;
}

mr_status mr_session_cut_links(mr_session *s, uint16_t stages, const uint32_t *weight, double second)
{
	bool once = mr_job_system(s->job)->judged || instructions_of(s->plan) > MOST_INSTRUCTIONS;
	double *room = calloc(stages, sizeof(*room)), step;
	mr_status st = room ? cut(s, stages, weight, once ? times[ONCE] * second : times[0], room, &s->partition)
			    : mr_fail(MR_ERESOURCE, "no memory for the cut of %u stages", stages);

	if (st == MR_OK && !once) {
		step = step_of(s, &s->partition);
		for (int i = 1; st == MR_OK && i < N_TIMES; i++)
			st = offer(s, weight, times[i] * second, room, &s->partition, &step);
	}
	free(room);
	return st;
}
