#include "logbook/machine_picture.h"

#include <stdlib.h>

#include "report/placement.h"
#include "report/records.h"
#include "session/shares.h"
#include "session/worker_text.h"

static uint32_t shares_of(const mr_session *s)
{
	return s->n_shares ? s->n_shares : 1;
}

void mr_machine_row_text(const mr_session *s, uint32_t row, mr_strbuf *text)
{
	const mr_place_worker *at = mr_session_row_place(s, row);
	char stages[128], cores[128], name[24];

	mr_worker_stages_text(s->plan, (uint16_t)(row / shares_of(s)), stages, sizeof(stages));
	mr_worker_cores_text(at, cores, sizeof(cores));
	mr_strbuf_printf(text, "%s: stage %s; CPU %s; node %u", mr_report_row_name(row, shares_of(s), name),
			 *stages ? stages : "none", cores, at->node_os);
}

static uint32_t row_of(const mr_session *s, uint32_t cpu)
{
	for (uint32_t row = 0; row < s->place.n_workers * shares_of(s); row++) {
		const mr_place_worker *at = mr_session_row_place(s, row);

		for (uint32_t i = 0; i < at->n_threads; i++)
			if (at->cpu[i] == cpu)
				return row;
	}
	return MR_PLACEMENT_IDLE;
}

mr_status mr_machine_draw(const mr_session *s, FILE *out)
{
	const mr_topo *t = &s->topo;
	uint32_t n_rows = s->place.n_workers * shares_of(s);
	mr_placement_node *node = calloc(t->n_nodes + 1, sizeof(*node));
	mr_placement_cache *cache = calloc(t->n_l3s + 1, sizeof(*cache));
	mr_placement_core *core = calloc(t->n_cores + 1, sizeof(*core));
	const char **worker = calloc(n_rows + 1, sizeof(*worker));
	mr_strbuf *text = calloc(n_rows + 1, sizeof(*text)), title = {0};
	mr_status st = MR_OK;

	mr_strbuf_printf(&title, "%s: %s on %u of %u cores", s->job->name,
			 s->plan->system, s->place.n_cores_used, t->n_cores);
	if (!node || !cache || !core || !worker || !text)
		st = mr_fail(MR_ERESOURCE, "no memory for a picture of the machine");
	for (uint32_t i = 0; st == MR_OK && i < t->n_nodes; i++)
		node[i] = (mr_placement_node){t->node[i].os_index, t->node[i].memory_bytes};
	for (uint32_t i = 0; st == MR_OK && i < t->n_cores; i++)
		core[i] = (mr_placement_core){t->core[i].cpu, row_of(s, t->core[i].cpu)};
	for (uint32_t i = 0; st == MR_OK && i < t->n_l3s; i++)
		cache[i] = (mr_placement_cache){t->l3[i].bytes, t->l3[i].node, core + t->l3[i].first_core,
						t->l3[i].n_cores};
	for (uint32_t w = 0; st == MR_OK && w < n_rows; w++) {
		mr_machine_row_text(s, w, &text[w]);
		worker[w] = mr_strbuf_text(&text[w]);
	}
	if (st == MR_OK) {
		mr_placement p = {mr_strbuf_text(&title), node, t->n_nodes, cache, t->n_l3s, worker, n_rows};
		mr_svg v = mr_svg_file(out);

		st = mr_placement_put(&p, &v);
	}
	for (uint32_t w = 0; text && w < n_rows; w++)
		mr_strbuf_fini(&text[w]);
	mr_strbuf_fini(&title);
	free(node);
	free(cache);
	free(core);
	free(worker);
	free(text);
	return st;
}
