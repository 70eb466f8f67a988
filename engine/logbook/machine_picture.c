#include "logbook/machine_picture.h"

#include <stdlib.h>

#include "report/placement.h"
#include "session/worker_text.h"

void mr_machine_worker_text(const mr_session *s, uint16_t w, mr_strbuf *text)
{
	const mr_place_worker *at = &s->place.worker[w];
	char stages[128], cores[128];

	mr_worker_stages_text(s->plan, w, stages, sizeof(stages));
	mr_worker_cores_text(at, cores, sizeof(cores));
	mr_strbuf_printf(text, "w%u: stage %s; CPU %s; node %u", w, *stages ? stages : "none", cores, at->node_os);
}

static uint32_t worker_of(const mr_place *place, uint32_t cpu)
{
	for (uint32_t w = 0; w < place->n_workers; w++)
		for (uint32_t i = 0; i < place->worker[w].n_threads; i++)
			if (place->worker[w].cpu[i] == cpu)
				return w;
	return MR_PLACEMENT_IDLE;
}

mr_status mr_machine_draw(const mr_session *s, FILE *out)
{
	const mr_topo *t = &s->topo;
	mr_placement_node *node = calloc(t->n_nodes + 1, sizeof(*node));
	mr_placement_cache *cache = calloc(t->n_l3s + 1, sizeof(*cache));
	mr_placement_core *core = calloc(t->n_cores + 1, sizeof(*core));
	const char **worker = calloc(s->place.n_workers + 1, sizeof(*worker));
	mr_strbuf *text = calloc(s->place.n_workers + 1, sizeof(*text)), title = {0};
	mr_status st = MR_OK;

	mr_strbuf_printf(&title, "%s: %s on %u of %u cores", s->job->name,
			 s->plan->system, s->place.n_cores_used, t->n_cores);
	if (!node || !cache || !core || !worker || !text)
		st = mr_fail(MR_ERESOURCE, "no memory for a picture of the machine");
	for (uint32_t i = 0; st == MR_OK && i < t->n_nodes; i++)
		node[i] = (mr_placement_node){t->node[i].os_index, t->node[i].memory_bytes};
	for (uint32_t i = 0; st == MR_OK && i < t->n_cores; i++)
		core[i] = (mr_placement_core){t->core[i].cpu, worker_of(&s->place, t->core[i].cpu)};
	for (uint32_t i = 0; st == MR_OK && i < t->n_l3s; i++)
		cache[i] = (mr_placement_cache){t->l3[i].bytes, t->l3[i].node, core + t->l3[i].first_core,
						t->l3[i].n_cores};
	for (uint32_t w = 0; st == MR_OK && w < s->place.n_workers; w++) {
		mr_machine_worker_text(s, (uint16_t)w, &text[w]);
		worker[w] = mr_strbuf_text(&text[w]);
	}
	if (st == MR_OK) {
		mr_placement p = {mr_strbuf_text(&title), node, t->n_nodes, cache, t->n_l3s, worker,
				  s->place.n_workers};
		mr_svg v = mr_svg_file(out);

		st = mr_placement_put(&p, &v);
	}
	for (uint32_t w = 0; text && w < s->place.n_workers; w++)
		mr_strbuf_fini(&text[w]);
	mr_strbuf_fini(&title);
	free(node);
	free(cache);
	free(core);
	free(worker);
	free(text);
	return st;
}
