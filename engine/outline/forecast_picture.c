#include "outline/forecast_picture.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "outline/plan_report.h"
#include "session/worker_text.h"

#define TEXT_WORKERS 64  /* beyond this many rows the schedule is left out */
#define BAR          40u /* columns of the longest bar */

const char *const mr_picture_class[MR_PICTURE_CLASSES] = {
	"weights", "further versions", "gradients", "optimizer", "activations", "boundaries and scratch",
};

/* --- workers --- */

static void add_memory(mr_picture_worker *w, const mr_run_memory *m)
{
	const uint64_t bytes[MR_PICTURE_CLASSES] = {m->weights,   m->stashes,     m->grads,
						    m->optimizer, m->activations, m->boundaries + m->scratch};

	for (int k = 0; k < MR_PICTURE_CLASSES; k++) {
		w->bytes[k] += bytes[k];
		w->total += bytes[k];
	}
}

/* Append stage @stage to the text of @w. */
static void add_stage(const mr_session *s, uint16_t stage, mr_picture_worker *w)
{
	size_t at = strlen(w->stages);
	char layers[100];

	mr_stage_layers_text(s->graph, &s->partition, stage, layers, sizeof(layers));
	if (at + 24 < sizeof(w->stages))
		snprintf(w->stages + at, sizeof(w->stages) - at, "%s%u: %s", at ? "; " : "stage ", stage, layers);
}

static mr_status fill_workers(const mr_session *s, const mr_forecast *f, mr_picture_worker *w)
{
	const mr_plan *p = s->plan;
	mr_run_memory m;

	for (uint16_t stage = 0; stage < p->n_stages; stage++)
		for (unsigned pipe = 0; pipe < p->n_pipes; pipe++) {
			uint16_t on = mr_plan_worker(p, (uint8_t)pipe, stage);
			bool again = false;

			for (unsigned q = 0; q < pipe; q++)
				again |= mr_plan_worker(p, (uint8_t)q, stage) == on;
			mr_run_memory_of_stage(f->run, (uint8_t)pipe, stage, &m);
			add_memory(&w[on], &m);
			if (!again)
				add_stage(s, stage, &w[on]);
		}
	return MR_OK;
}

mr_status mr_picture_workers(const mr_session *s, const mr_forecast *f, mr_picture_worker **out)
{
	mr_status st;

	*out = calloc(s->place.n_workers, sizeof(**out));
	if (!*out)
		return mr_fail(MR_ERESOURCE, "no memory to draw %u workers", s->place.n_workers);
	st = fill_workers(s, f, *out);
	if (st != MR_OK) {
		free(*out);
		*out = NULL;
	}
	return st;
}

/* --- text --- */

/* The letter of worker @w in a row of cores. */
static char letter(uint32_t w)
{
	static const char all[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return all[w % (sizeof(all) - 1)];
}

/* The worker that has CPU @cpu; n_workers: none. */
static uint32_t worker_on(const mr_place *p, uint32_t cpu)
{
	for (uint32_t w = 0; w < p->n_workers; w++)
		for (uint32_t i = 0; i < p->worker[w].n_threads; i++)
			if (p->worker[w].cpu[i] == cpu)
				return w;
	return p->n_workers;
}

static void print_node(const mr_forecast *f, uint32_t n, FILE *out)
{
	const mr_topo *t = f->of.topo;
	const mr_topo_node *node = &t->node[n];
	char used[16], has[16];

	fprintf(out, "node %-3u ", node->os_index);
	for (uint32_t d = node->first_l3; d < node->first_l3 + node->n_l3s; d++) {
		fputc('[', out);
		for (uint32_t c = t->l3[d].first_core; c < t->l3[d].first_core + t->l3[d].n_cores; c++) {
			uint32_t w = c < t->n_usable ? worker_on(f->of.place, t->core[c].cpu) : f->of.place->n_workers;

			fputc(w < f->of.place->n_workers ? letter(w) : c < t->n_usable ? '.' : '-', out);
		}
		fputc(']', out);
	}
	fprintf(out, "  %s of %s\n", mr_bytes_text(f->node_bytes[n], used),
		node->memory_bytes ? mr_bytes_text(node->memory_bytes, has) : "unknown");
}

static void print_worker(const mr_picture_worker *w, uint32_t number, uint64_t most, FILE *out)
{
	static const char marks[] = "wvgoab";
	char bytes[16];
	double at = 0;
	uint32_t n = 0;

	fprintf(out, "%c  w%-4u", letter(number), number);
	for (int k = 0; k < MR_PICTURE_CLASSES; k++)
		for (at += (double)w->bytes[k] / (double)most * BAR; n < at - 0.5; n++)
			fputc(marks[k], out);
	for (; n < BAR; n++)
		fputc(' ', out);
	fprintf(out, "  %9s  %s\n", mr_bytes_text(w->total, bytes), w->stages);
}

mr_status mr_forecast_picture_text(const mr_session *s, const mr_forecast *f, FILE *out)
{
	mr_picture_worker *w;
	uint64_t most = 1;

	MR_TRY(mr_picture_workers(s, f, &w));
	fputs("cores, a letter for each worker's\n", out);
	for (uint32_t n = 0; n < s->topo.n_nodes; n++)
		print_node(f, n, out);
	for (uint32_t i = 0; i < s->place.n_workers; i++)
		most = w[i].total > most ? w[i].total : most;
	fputs("\nmemory of the workers: w weights, v further versions, g gradients, o optimizer, a activations, b "
	      "boundaries and scratch\n",
	      out);
	for (uint32_t i = 0; i < s->place.n_workers; i++)
		print_worker(&w[i], i, most, out);
	free(w);
	if (s->place.n_workers > TEXT_WORKERS)
		return MR_OK;
	fputc('\n', out);
	return mr_forecast_draw(s, f, false, out);
}
