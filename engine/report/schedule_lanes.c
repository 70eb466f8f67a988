#include "report/schedule_lanes.h"

#include <stdlib.h>

#include "ir/op.h"

#define MOST_LETTERS 26

static uint64_t key_of(const mr_trace_rec *r)
{
	return (uint64_t)r->worker << 24 | (uint64_t)r->pipe << 16 | r->stage;
}

static int by_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The first of @key's worker among the sorted keys. */
static size_t first_of(const mr_schedule_lanes *lanes, uint64_t key)
{
	size_t low = 0, high = lanes->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (lanes->key[mid] < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

mr_status mr_schedule_lanes_init(mr_schedule_lanes *lanes, const mr_schedule_picture *p)
{
	size_t n = 0, worker_at = 0;

	*lanes = (mr_schedule_lanes){.key = malloc((p->n_rec + 1) * sizeof(*lanes->key)), .most = 1};
	if (!lanes->key)
		return mr_fail(MR_ERESOURCE, "no memory to draw %zu records", p->n_rec);
	for (size_t i = 0; i < p->n_rec; i++)
		if (mr_op_is_compute(p->rec[i].op) && (!n || lanes->key[n - 1] != key_of(&p->rec[i])))
			lanes->key[n++] = key_of(&p->rec[i]);
	qsort(lanes->key, n, sizeof(*lanes->key), by_key);
	for (size_t i = 0; i < n; i++) {
		if (lanes->n && lanes->key[lanes->n - 1] == lanes->key[i])
			continue;
		lanes->key[lanes->n] = lanes->key[i];
		if (lanes->key[worker_at] >> 24 != lanes->key[i] >> 24)
			worker_at = lanes->n;
		lanes->n++;
		if (lanes->n - worker_at > lanes->most)
			lanes->most = (unsigned)(lanes->n - worker_at);
	}
	return MR_OK;
}

void mr_schedule_lanes_fini(mr_schedule_lanes *lanes)
{
	free(lanes->key);
	*lanes = (mr_schedule_lanes){0};
}

unsigned mr_schedule_lanes_of(const mr_schedule_lanes *lanes, const mr_trace_rec *rec)
{
	return (unsigned)(first_of(lanes, key_of(rec)) - first_of(lanes, (uint64_t)rec->worker << 24));
}

char mr_schedule_lanes_letter(const mr_schedule_lanes *lanes, unsigned lane)
{
	return (char)(lanes->most > 2 && lanes->most <= MOST_LETTERS ? 'a' + (int)lane : 0);
}
