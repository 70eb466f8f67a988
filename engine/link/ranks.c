#include "link/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/clock.h"

#define LOOK_NS 50000 /* between two looks for a note that will come */

/* The owners that @text names. */
static mr_status read_owners(mr_ranks *r, const char *text)
{
	char *end;

	for (uint16_t w = 0; w < r->n_workers; w++, text = end) {
		unsigned long rank = strtoul(text, &end, 10);

		if (end == text)
			return mr_fail(MR_ECONFIG, "it names the ranks of %u workers, and there are %u", w,
				       r->n_workers);
		if (rank >= r->n)
			return mr_fail(MR_ECONFIG, "there is no rank %lu: %u were started", rank, r->n);
		r->of_worker[w] = (uint32_t)rank;
	}
	if (text[strspn(text, " ")])
		return mr_fail(MR_ECONFIG, "it goes on behind the last of %u workers: \"%.20s\"", r->n_workers, text);
	for (uint32_t i = 0; i < r->n; i++)
		if (!mr_ranks_workers(r, i))
			return mr_fail(MR_ECONFIG, "rank %u has no worker", i);
	return MR_OK;
}

mr_status mr_ranks_own(mr_ranks *r, uint16_t n_workers, const char *text)
{
	if (n_workers < r->n)
		return mr_fail(MR_ECONFIG,
			       "there are %u ranks and %u workers, and each rank needs one: start %u ranks at most, or "
			       "set machine.workers",
			       r->n, n_workers, n_workers);
	free(r->of_worker);
	r->of_worker = calloc(n_workers, sizeof(*r->of_worker));
	if (!r->of_worker)
		return mr_fail(MR_ERESOURCE, "no memory for the owners of %u workers", n_workers);
	r->n_workers = n_workers;
	for (uint16_t w = 0; w < n_workers; w++)
		r->of_worker[w] = (uint32_t)w * r->n / n_workers;
	if (*text)
		MR_TRY(read_owners(r, text));
	r->kinds[0] = r->by->kind;
	r->kinds[1] = mr_link_kind_at(0);
	r->by->own(r);
	return MR_OK;
}

uint16_t mr_ranks_workers(const mr_ranks *r, uint32_t rank)
{
	uint16_t n = 0;

	for (uint16_t w = 0; w < r->n_workers; w++)
		n = (uint16_t)(n + (r->of_worker[w] == rank));
	return n;
}

bool mr_ranks_share_cpus(const mr_ranks *r, uint32_t rank)
{
	return !strcmp(r->at[rank].host, r->at[r->self].host) && !strcmp(r->at[rank].cpus, r->at[r->self].cpus);
}

uint16_t mr_ranks_neighbours(const mr_ranks *r, uint16_t *first)
{
	uint16_t n = 0;

	*first = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		if (!mr_ranks_share_cpus(r, i))
			continue;
		if (i == r->self)
			*first = n;
		n = (uint16_t)(n + mr_ranks_workers(r, i));
	}
	return n;
}

mr_status mr_ranks_tell_all(const mr_ranks *r, const mr_note *n)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (i != r->self)
			MR_TRY(r->by->tell(i, n));
	return MR_OK;
}

mr_status mr_ranks_check(const mr_ranks *r)
{
	uint32_t lost = r->by->lost();
	char name[96];

	if (lost == UINT32_MAX)
		return MR_OK;
	return mr_fail(MR_ESTALLED, "%s is gone, or has not been heard of for too long",
		       mr_ranks_name(r, lost, name, sizeof(name)));
}

mr_status mr_ranks_wait_for(const mr_ranks *r, uint32_t from, mr_note *out)
{
	bool is_there = false;

	for (;;) {
		MR_TRY(r->by->hear(from, out, &is_there));
		if (is_there)
			return MR_OK;
		MR_TRY(mr_ranks_check(r));
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
}

/* Rank 0's clock, ROUNDS times, to rank @rank, which asks. */
enum { ROUNDS = 8 };

static mr_status tell_time(const mr_ranks *r, uint32_t rank)
{
	uint64_t t;

	for (int i = 0; i < ROUNDS; i++) {
		MR_TRY(r->by->receive(rank, &t, sizeof(t)));
		t = mr_clock_ns();
		MR_TRY(r->by->send(rank, &t, sizeof(t)));
	}
	return MR_OK;
}

/* The way there is as long as the way back, as far as one knows: the shortest of both together errs least. Processes of
 * one host have one clock: where names agree, and the times allow no difference, there is none. */
static mr_status ask_time(const mr_ranks *r, int64_t *ahead_ns)
{
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begin = mr_clock_ns(), there = begin, end;

		MR_TRY(r->by->send(0, &there, sizeof(there)));
		MR_TRY(r->by->receive(0, &there, sizeof(there)));
		end = mr_clock_ns();
		if (end - begin >= shortest)
			continue;
		shortest = end - begin;
		*ahead_ns = (int64_t)(there - (begin + shortest / 2));
	}
	if (!strcmp(r->at[0].host, r->at[r->self].host) && (uint64_t)llabs(*ahead_ns) <= shortest / 2)
		*ahead_ns = 0;
	return MR_OK;
}

mr_status mr_ranks_align(const mr_ranks *r, int64_t *ahead_ns)
{
	*ahead_ns = 0;
	for (uint32_t i = 1; !r->self && i < r->n; i++)
		MR_TRY(tell_time(r, i));
	if (r->self)
		MR_TRY(ask_time(r, ahead_ns));
	r->by->align(*ahead_ns);
	return MR_OK;
}

const char *mr_ranks_name(const mr_ranks *r, uint32_t rank, char *text, size_t size)
{
	snprintf(text, size, "rank %u (host %s)", rank, r->at[rank].host);
	return text;
}
