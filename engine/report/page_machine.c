/* page_machine.c - the machine of a run on a page, and what runs where. */
#include <stdlib.h>

#include "base/str.h"
#include "report/page_internal.h"
#include "report/placement.h"
#include "report/records.h"

typedef struct mr_machine {
	mr_placement_node *node;
	mr_placement_cache *cache;
	mr_placement_core *core;
	char **worker;
	uint32_t n_nodes, n_caches, n_cores, n_workers;
} mr_machine;

static uint32_t worker_of(const mr_json *workers, int64_t cpu)
{
	for (size_t w = 0; w < mr_json_size(workers); w++) {
		const mr_json *cpus = mr_json_get(mr_json_at(workers, w), "cpus");

		for (size_t i = 0; i < mr_json_size(cpus); i++)
			if (mr_json_int(mr_json_at(cpus, i)) == cpu)
				return (uint32_t)w;
	}
	return MR_PLACEMENT_IDLE;
}

/* Count what @nodes hold; with arrays also fill them. */
static void walk_machine(const mr_json *nodes, const mr_json *workers, mr_machine *m)
{
	m->n_nodes = m->n_caches = m->n_cores = 0;
	for (size_t n = 0; n < mr_json_size(nodes); n++) {
		const mr_json *node = mr_json_at(nodes, n), *caches = mr_json_get(node, "caches");

		if (m->node)
			m->node[m->n_nodes] =
				(mr_placement_node){(uint32_t)mr_json_int(mr_json_get(node, "node")),
						    (uint64_t)mr_json_int(mr_json_get(node, "bytes"))};
		for (size_t c = 0; c < mr_json_size(caches); c++) {
			const mr_json *cache = mr_json_at(caches, c), *cpus = mr_json_get(cache, "cpus");

			if (m->cache)
				m->cache[m->n_caches] = (mr_placement_cache){
					.bytes = (uint64_t)mr_json_int(mr_json_get(cache, "bytes")),
					.node = m->n_nodes,
					.core = m->core + m->n_cores,
					.n_cores = (uint32_t)mr_json_size(cpus)};
			for (size_t i = 0; i < mr_json_size(cpus); i++, m->n_cores++)
				if (m->core)
					m->core[m->n_cores] = (mr_placement_core){
						(uint32_t)mr_json_int(mr_json_at(cpus, i)),
						worker_of(workers, mr_json_int(mr_json_at(cpus, i)))};
			m->n_caches++;
		}
		m->n_nodes++;
	}
}

static mr_status read_machine(const mr_json *nodes, const mr_json *workers, mr_machine *m)
{
	walk_machine(nodes, workers, m);
	m->node = calloc(m->n_nodes + 1, sizeof(*m->node));
	m->cache = calloc(m->n_caches + 1, sizeof(*m->cache));
	m->core = calloc(m->n_cores + 1, sizeof(*m->core));
	m->worker = calloc(mr_json_size(workers) + 1, sizeof(*m->worker));
	if (!m->node || !m->cache || !m->core || !m->worker)
		return mr_fail(MR_ERESOURCE, "no memory for a picture of the machine");
	walk_machine(nodes, workers, m);
	for (size_t w = 0; w < mr_json_size(workers); w++) {
		const char *text = mr_json_string(mr_json_get(mr_json_at(workers, w), "text"));

		m->worker[m->n_workers++] = (char *)(text ? text : "");
	}
	return MR_OK;
}

/* The stages as a table. */
static mr_status put_stages(mr_page *p, const mr_json *stages)
{
	static const mr_table_column columns[] = {{"stage", true}, {"worker", false}, {"layers", false},
						  {"parameters", true}};
	char text[16];
	mr_table *t;

	if (!mr_json_size(stages))
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

	mr_page_heading(p, 3, "Machine and stages");
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
					  .worker = (const char *const *)m.worker,
					  .n_workers = m.n_workers};
		mr_svg v = mr_page_picture(p, false);

		st = mr_page_end_picture(p, mr_placement_put(&placement, &v));
		if (st == MR_OK)
			st = put_stages(p, mr_json_get(p->run->facts, "stages"));
	}
	free(m.node);
	free(m.cache);
	free(m.core);
	free(m.worker);
	return st;
}
