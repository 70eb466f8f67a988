/* page_machine.c - the machine of a run on a page, and what runs where. */
#include <stdlib.h>

#include "base/str.h"
#include "page/page_internal.h"
#include "report/placement.h"
#include "report/records.h"

typedef struct mr_machine {
	mr_placement_node *node;
	mr_placement_cache *cache;
	mr_placement_core *core;
	mr_place_row *place;
	const char **worker;
	uint32_t n_nodes, n_caches, n_cores, n_workers;
} mr_machine;

static uint32_t worker_of(const mr_machine *m, uint32_t cpu)
{
	for (uint32_t w = 0; w < m->n_workers; w++)
		for (size_t i = 0; i < m->place[w].cpus.n; i++)
			if (mr_counts_at(&m->place[w].cpus, i) == cpu)
				return w;
	return MR_PLACEMENT_IDLE;
}

/* Count what @nodes hold; with arrays also fill them. */
static void walk_machine(const mr_json *nodes, mr_machine *m)
{
	m->n_nodes = m->n_caches = m->n_cores = 0;
	for (size_t n = 0; n < mr_json_size(nodes); n++) {
		const mr_json *node = mr_json_at(nodes, n), *caches = mr_json_get(node, "caches");
		mr_node_row row;

		mr_record_get(MR_RECORD_NODE, node, &row);
		if (m->node)
			m->node[m->n_nodes] = (mr_placement_node){row.node, row.bytes};
		for (size_t c = 0; c < mr_json_size(caches); c++) {
			mr_cache_row cache;

			mr_record_get(MR_RECORD_CACHE, mr_json_at(caches, c), &cache);
			if (m->cache)
				m->cache[m->n_caches] = (mr_placement_cache){cache.bytes, m->n_nodes,
									     m->core + m->n_cores,
									     (uint32_t)cache.cpus.n};
			for (size_t i = 0; i < cache.cpus.n; i++, m->n_cores++) {
				uint32_t cpu = (uint32_t)mr_counts_at(&cache.cpus, i);

				if (m->core)
					m->core[m->n_cores] = (mr_placement_core){cpu, worker_of(m, cpu)};
			}
			m->n_caches++;
		}
		m->n_nodes++;
	}
}

static mr_status read_machine(const mr_json *nodes, const mr_json *workers, mr_machine *m)
{
	walk_machine(nodes, m);
	m->node = calloc(m->n_nodes + 1, sizeof(*m->node));
	m->cache = calloc(m->n_caches + 1, sizeof(*m->cache));
	m->core = calloc(m->n_cores + 1, sizeof(*m->core));
	m->place = calloc(mr_json_size(workers) + 1, sizeof(*m->place));
	m->worker = calloc(mr_json_size(workers) + 1, sizeof(*m->worker));
	if (!m->node || !m->cache || !m->core || !m->place || !m->worker)
		return mr_fail(MR_ERESOURCE, "no memory for a picture of the machine");
	for (; m->n_workers < mr_json_size(workers); m->n_workers++) {
		mr_place_row *row = &m->place[m->n_workers];

		mr_record_get(MR_RECORD_PLACE, mr_json_at(workers, m->n_workers), row);
		m->worker[m->n_workers] = row->text;
	}
	walk_machine(nodes, m);
	return MR_OK;
}

/* The stages as a table. */
static mr_status put_stages(mr_page *p, const mr_json *stages)
{
	static const mr_table_column columns[] = {{"stage", true}, {"worker", false}, {"layers", false},
						  {"parameters", true}};
	char text[16];
	mr_table *t;

	if (!mr_json_size(stages) || mr_page_is_alone(p->run))
		return MR_OK;
	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (size_t s = 0; s < mr_json_size(stages); s++) {
		mr_stage_row r;

		mr_record_get(MR_RECORD_STAGE, mr_json_at(stages, s), &r);
		mr_table_put(t, "%u", r.stage);
		mr_table_put(t, "w%u", r.worker);
		mr_table_put(t, "%s", r.layers);
		mr_table_put(t, "%s", mr_count_text(r.parameters, text));
	}
	return mr_table_finish_html(t, p->out);
}

mr_status mr_page_machine(mr_page *p)
{
	const mr_json *nodes = mr_json_get(p->run->facts, "nodes"), *workers = mr_json_get(p->run->facts, "workers");
	mr_machine m = {0};
	mr_status st;

	mr_page_heading(p, 3, mr_page_is_alone(p->run) ? "Machine" : "Machine and stages");
	if (!mr_json_size(nodes)) {
		mr_page_say(p, "The folder has no run.json, which says where the workers ran.");
		return MR_OK;
	}
	st = read_machine(nodes, workers, &m);
	if (st == MR_OK) {
		mr_placement placement = {.node = m.node,
					  .n_nodes = m.n_nodes,
					  .cache = m.cache,
					  .n_caches = m.n_caches,
					  .worker = m.worker,
					  .n_workers = m.n_workers};
		mr_svg v = mr_page_picture(p, false);

		st = mr_page_end_picture(p, mr_placement_put(&placement, &v));
		if (st == MR_OK)
			st = put_stages(p, mr_json_get(p->run->facts, "stages"));
	}
	free(m.node);
	free(m.cache);
	free(m.core);
	free(m.place);
	free(m.worker);
	return st;
}
