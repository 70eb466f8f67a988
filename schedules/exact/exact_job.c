#include "schedules/exact/exact_job.h"

#include <math.h>
#include <stdlib.h>

/* The largest cost in units where no decimal fraction is one, and the largest where one is. */
#define FINE 1e9
#define MOST_UNITS 1e12
#define SAME 1e-9

/* --- whole numbers --- */

static int64_t divisor(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Are all costs of @job multiples of @unit, within what doubles can hold? */
static bool is_unit(const mr_list_job *job, double unit)
{
	for (uint16_t s = 0; s < job->n_stages; s++) {
		const mr_stage_cost *c = &job->cost[s];
		double x[] = {c->f, c->i, c->w, c->c};

		for (int k = 0; k < 4; k++)
			if (fabs(x[k] / unit - round(x[k] / unit)) > SAME || x[k] / unit > MOST_UNITS)
				return false;
	}
	return true;
}

static void choose_unit(mr_exact_job *j, const mr_list_job *job)
{
	double most = 0;

	for (uint16_t s = 0; s < job->n_stages; s++) {
		const mr_stage_cost *c = &job->cost[s];

		most = fmax(most, fmax(fmax(c->f, c->i), fmax(c->w, c->c)));
	}
	if (!(most > 0))
		most = 1;
	j->unit = pow(10, ceil(log10(most)));
	for (int k = 0; k < 7 && !j->exact; k++) {
		j->exact = is_unit(job, j->unit);
		if (!j->exact)
			j->unit /= 10;
	}
	if (!j->exact)
		j->unit = most / FINE;
}

static void take_costs(mr_exact_job *j, const mr_list_job *job)
{
	int64_t common = 0;

	choose_unit(j, job);
	for (uint16_t s = 0; s < job->n_stages; s++) {
		const mr_stage_cost *c = &job->cost[s];
		double x[] = {c->f, c->i, c->w, c->c};

		for (int k = 0; k < 4; k++) {
			int64_t n = (int64_t)(j->exact ? round(x[k] / j->unit) : floor(x[k] / j->unit));

			*(k < 3 ? &j->work[3 * s + k] : &j->lag[s]) = n;
			common = divisor(common, n);
		}
	}
	if (common < 2)
		return;
	for (uint32_t c = 0; c < j->n_chains; c++)
		j->work[c] /= common;
	for (uint16_t s = 0; s < job->n_stages; s++)
		j->lag[s] /= common;
	j->unit *= (double)common;
}

/* --- places --- */

static void place(mr_exact_job *j, const mr_list_job *job)
{
	uint32_t at = 0;

	for (uint16_t w = 0; w < j->n_workers; w++) {
		j->first[w] = at;
		for (uint16_t s = 0; s < j->n_stages; s++)
			for (uint32_t k = 0; k < MR_EXACT_KINDS && job->worker_of[s] == w; k++) {
				uint32_t c = MR_EXACT_KINDS * s + k;

				j->worker[c] = w;
				j->place[c] = (uint16_t)(at - j->first[w]);
				j->chain[at++] = (uint16_t)c;
			}
		if (at - j->first[w] > j->most_beside)
			j->most_beside = at - j->first[w];
	}
	j->first[j->n_workers] = at;
}

static mr_status take_caps(mr_exact_job *j, const mr_list_job *job)
{
	for (uint16_t w = 0; w < j->n_workers; w++) {
		uint32_t stages = (j->first[w + 1] - j->first[w]) / MR_EXACT_KINDS, all = stages * j->n_micro;

		j->cap[w] = job->cap && job->cap[w] < all ? job->cap[w] : all;
		if (j->cap[w] < stages)
			return mr_fail(MR_ECONFIG, "worker %u may keep %u activations, and needs %u", w, j->cap[w],
				       stages);
	}
	return MR_OK;
}

/* --- what waits for what --- */

static void join(mr_exact_job *j, uint32_t from, uint32_t to, uint32_t micro, uint32_t behind)
{
	uint32_t x = from * j->n_micro + micro, y = to * j->n_micro + micro + behind;
	int64_t lag = j->worker[from] == j->worker[to] ? 0 : j->lag[from / MR_EXACT_KINDS];
	mr_exact_edges *feeds = &j->feeds[x], *needs = &j->needs[y];

	feeds->at[feeds->n++] = (mr_exact_edge){y, lag};
	needs->at[needs->n++] = (mr_exact_edge){x, lag};
}

static void join_all(mr_exact_job *j)
{
	for (uint32_t c = 0; c < j->n_chains; c += MR_EXACT_KINDS)
		for (uint32_t m = 0; m < j->n_micro; m++) {
			uint32_t cap = j->cap[j->worker[c]];

			join(j, c + MR_EXACT_F, c + MR_EXACT_I, m, 0);
			join(j, c + MR_EXACT_I, c + MR_EXACT_W, m, 0);
			if (c + MR_EXACT_KINDS < j->n_chains) {
				join(j, c + MR_EXACT_F, c + MR_EXACT_KINDS + MR_EXACT_F, m, 0);
				join(j, c + MR_EXACT_KINDS + MR_EXACT_I, c + MR_EXACT_I, m, 0);
			}
			if (m + cap < j->n_micro)
				join(j, c + MR_EXACT_W, c + MR_EXACT_F, m, cap);
		}
}

mr_status mr_exact_job_init(mr_exact_job *out, const mr_list_job *job)
{
	uint32_t chains = MR_EXACT_KINDS * (uint32_t)job->n_stages;
	mr_status st;

	*out = (mr_exact_job){.n_workers = job->n_workers,
			      .n_stages = job->n_stages,
			      .n_micro = job->n_micro,
			      .n_chains = chains,
			      .n_passes = chains * job->n_micro};
	out->work = calloc(chains, sizeof(*out->work));
	out->lag = calloc(job->n_stages, sizeof(*out->lag));
	out->worker = calloc(chains, sizeof(*out->worker));
	out->first = calloc((size_t)job->n_workers + 1, sizeof(*out->first));
	out->chain = calloc(chains, sizeof(*out->chain));
	out->place = calloc(chains, sizeof(*out->place));
	out->cap = calloc(job->n_workers, sizeof(*out->cap));
	out->needs = calloc(out->n_passes, sizeof(*out->needs));
	out->feeds = calloc(out->n_passes, sizeof(*out->feeds));
	if (!out->needs || !out->feeds || !out->work || !out->lag || !out->worker || !out->first || !out->chain ||
	    !out->place || !out->cap) {
		mr_exact_job_fini(out);
		return mr_fail(MR_ERESOURCE, "no memory for an order of %u passes", out->n_passes);
	}
	place(out, job);
	take_costs(out, job);
	st = take_caps(out, job);
	if (st == MR_OK)
		join_all(out);
	else
		mr_exact_job_fini(out);
	return st;
}

void mr_exact_job_fini(mr_exact_job *job)
{
	free(job->work);
	free(job->lag);
	free(job->worker);
	free(job->first);
	free(job->chain);
	free(job->place);
	free(job->cap);
	free(job->needs);
	free(job->feeds);
}


int64_t mr_exact_job_most_work(const mr_exact_job *j)
{
	int64_t most = 0;

	for (uint32_t w = 0; w < j->n_workers; w++) {
		int64_t work = 0;

		for (uint32_t k = j->first[w]; k < j->first[w + 1]; k++)
			work += j->work[j->chain[k]];
		most = work > most ? work : most;
	}
	return most;
}
