#include "cli/rank_words.h"

#include <stdio.h>
#include <stdlib.h>

#include "ranks/traffic.h"

/* [ranks][ranks] bytes a step by the plan; NULL: no memory. */
static double *planned(const mr_run *run)
{
	double *bytes = calloc((size_t)run->c.ranks->n * run->c.ranks->n, sizeof(*bytes));

	if (bytes)
		mr_rank_traffic(run, bytes);
	return bytes;
}

/* "w0 w1"; of shares "w0.0 w0.1". */
static void print_workers(const mr_run *run, uint32_t rank)
{
	const mr_ranks *r = run->c.ranks;
	const char *between = "";

	for (uint32_t i = 0; i < r->n_workers; i++) {
		if (r->of_worker[i] != rank)
			continue;
		printf("%sw%u", between, i % run->n_workers);
		if (run->c.shares)
			printf(".%u", i / run->n_workers);
		between = " ";
	}
}

void mr_rank_words_start(const mr_train *t)
{
	const mr_run *run = mr_executor_run_of(&t->s.executor);
	const mr_ranks *r = run->c.ranks;
	double *bytes = r ? planned(run) : NULL;
	char text[16];

	for (uint32_t i = 0; bytes && i < r->n; i++) {
		const char *between = "; sends a step";

		printf("%s%u on %s: ", i ? "         " : "ranks    ", i, r->at[i].host);
		print_workers(run, i);
		for (uint32_t j = 0; j < r->n; j++)
			if (bytes[i * r->n + j] > 0) {
				printf("%s %s to %u", between, mr_bytes_text((uint64_t)bytes[i * r->n + j], text), j);
				between = ",";
			}
		if (!i)
			printf("; %s", r->by->name);
		putchar('\n');
	}
	free(bytes);
}

/* How long the messages of a step took, all together. */
static void print_times(const mr_run *run, double steps)
{
	mr_message_sum sum = {0};

	for (uint32_t i = 0; i < run->c.ranks->n * run->c.ranks->n; i++) {
		sum.n += run->between[i].n;
		sum.send_ns += run->between[i].send_ns;
		sum.wire_ns += run->between[i].wire_ns;
		sum.wait_ns += run->between[i].wait_ns;
	}
	printf("messages a step: %.1f, %.3f ms to send, %.3f ms on the way, %.3f ms of it waited for\n",
	       (double)sum.n / steps, (double)sum.send_ns / 1e6 / steps, (double)sum.wire_ns / 1e6 / steps,
	       (double)sum.wait_ns / 1e6 / steps);
}

void mr_rank_words_end(const mr_train *t)
{
	const mr_run *run = mr_executor_run_of(&t->s.executor);
	const mr_ranks *r = run->c.ranks;
	uint64_t steps = t->step - t->begun_step;
	double *bytes = r && steps ? planned(run) : NULL, sum = 0;
	char all[16], each[16], want[16];

	for (uint32_t i = 0; bytes && i < r->n * r->n; i++)
		sum += bytes[i];
	if (bytes)
		print_times(run, (double)steps);
	if (bytes)
		printf("between ranks: %s were sent, %s a step; by the plan %s a step\n",
		       mr_bytes_text(run->link_bytes, all),
		       mr_bytes_text((uint64_t)((double)run->link_bytes / (double)steps), each),
		       mr_bytes_text((uint64_t)sum, want));
	free(bytes);
}
