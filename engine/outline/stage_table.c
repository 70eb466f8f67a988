/* stage_table.c - the rows of the table of stages. */
#include <stdlib.h>

#include "outline/plan_kernels.h"
#include "outline/plan_report.h"
#include "outline/stage_row.h"
#include "report/run_tables.h"
#include "session/worker_text.h"

typedef struct texts {
	char cores[120], kernels[64], nodes[64], pages[16];
} texts;

/* Where the memory of worker @w lies, and how much of it does if it has been touched. */
static void nodes_text(const mr_session *s, const mr_run *run, uint16_t w, texts *t, mr_report_stage_row *row)
{
	mr_region_look look = {.error = 1};

	row->nodes = mr_node_list_text(&run->worker[w].nodes, t->nodes, sizeof(t->nodes));
	if (s->executor.engine && s->place.bindable && s->place.n_memories > 1)
		look = mr_region_look_up(&run->worker[w].region);
	if (look.error || !look.n_pages)
		return;
	snprintf(t->pages, sizeof(t->pages), "%.0f%%",
		 100 * (1 - (double)look.n_elsewhere / (double)look.n_pages));
	row->pages = t->pages;
}

static void fill(const mr_session *s, const mr_run *run, uint8_t pipe, uint16_t stage, texts *t,
		      mr_report_stage_row *row)
{
	uint16_t w = mr_plan_worker(s->plan, pipe, stage);

	mr_worker_cores_text(&s->place.worker[w], t->cores, sizeof(t->cores));
	*row = (mr_report_stage_row){
		.n_pipes = s->plan->n_pipes,
		.n_layers = s->partition.first[stage + 1] - s->partition.first[stage],
		.cores = t->cores,
	};
	mr_stage_row_of(s, run, pipe, stage, &row->of, &row->bytes);
	nodes_text(s, run, w, t, row);
}

mr_status mr_stage_table_print(const mr_session *s, const mr_run *run, const mr_plan_kernels *kernels, FILE *out)
{
	uint32_t pipes = s->plan->n_pipes, n = s->partition.n_stages * pipes;
	mr_report_stage_row *rows = calloc(n, sizeof(*rows));
	texts *t = calloc(n, sizeof(*t));
	mr_status st = rows && t ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a table of %u stages", n);

	for (uint32_t i = 0; st == MR_OK && i < n; i++)
		fill(s, run, (uint8_t)(i % pipes), (uint16_t)(i / pipes), &t[i], &rows[i]);
	for (uint32_t i = 0; kernels && st == MR_OK && i < n; i++)
		rows[i].kernels = mr_stage_calls_text(&kernels->stage[i / pipes], t[i].kernels);
	if (st == MR_OK)
		st = mr_report_stages(rows, n, out);
	free(rows);
	free(t);
	return st;
}
