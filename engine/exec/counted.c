#include "exec/counted.h"

#include <stdlib.h>

#include "host/clock.h"

mr_status mr_counted_create(uint16_t n_stages, mr_counted **out)
{
	mr_counted *c = calloc(1, sizeof(*c));
	mr_counted_sum *sum = calloc((size_t)n_stages * MR_N_OPS, sizeof(*sum));

	*out = c;
	if (!c || !sum) {
		free(c);
		free(sum);
		*out = NULL;
		return mr_fail(MR_ERESOURCE, "no memory for the counts of %u stages", n_stages);
	}
	c->n_stages = n_stages;
	c->sum = sum;
	return MR_OK;
}

void mr_counted_destroy(mr_counted *c)
{
	if (!c)
		return;
	free(c->sum);
	free(c);
}

void mr_counted_open(mr_counted *c, uint32_t n_threads)
{
	mr_perf_events_open(&c->events, &mr_perf_kernel, n_threads);
	mr_perf_events_missing(&c->events, c->missing, sizeof(c->missing));
}

void mr_counted_close(mr_counted *c)
{
	mr_perf_events_close(&c->events);
}

void mr_counted_begin(mr_counted *c)
{
	mr_perf_events_read(&c->events, &c->before);
	c->before_ns = mr_clock_ns();
}

void mr_counted_end(mr_counted *c, uint16_t stage, mr_op op, uint32_t n_micro)
{
	mr_counted_sum *sum = &c->sum[(size_t)stage * MR_N_OPS + op];
	mr_perf_counts after;

	/* As at the begin the clock comes second: the counts and the time are those of stretches equally long. */
	mr_perf_events_read(&c->events, &after);
	sum->ns += mr_clock_ns() - c->before_ns;
	mr_perf_counts_add(&sum->counts, &c->before, &after);
	sum->n++;
	sum->n_micro += n_micro;
}
