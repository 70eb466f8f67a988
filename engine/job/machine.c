#include "job/machine.h"

#include <stdlib.h>

#include "base/str.h"

static mr_status describe(const char *synthetic, mr_topo *topo, const char **key)
{
	if (!*synthetic)
		return mr_topo_detect(topo);
	if (mr_topo_synthetic(synthetic, topo) == MR_OK)
		return MR_OK;
	*key = "topology";
	return MR_ECONFIG;
}

/* "0-3,8": the CPUs that a list may name. */
static void print_usable(const mr_topo *t, mr_strbuf *out)
{
	for (uint32_t i = 0, end; i < t->n_cores; i = end) {
		for (end = i + 1; end < t->n_cores && t->core[end].cpu == t->core[end - 1].cpu + 1; end++)
			;
		mr_strbuf_printf(out, end > i + 1 ? "%s%u-%u" : "%s%u", i ? "," : "", t->core[i].cpu,
				 t->core[end - 1].cpu);
	}
}

static mr_status tell_usable(const mr_topo *t, mr_status st)
{
	mr_strbuf text = {0};

	mr_strbuf_printf(&text, "%s; usable are ", mr_error_text());
	print_usable(t, &text);
	st = mr_fail(st, "%s", mr_strbuf_text(&text));
	mr_strbuf_fini(&text);
	return st;
}

mr_status mr_machine_place(const mr_job *j, mr_topo *topo, mr_place *place, const char **key)
{
	return mr_machine_place_some(j, (uint16_t)(mr_job_workers(j) * j->machine.shares), topo, place, key);
}

mr_status mr_machine_place_some(const mr_job *j, uint16_t workers, mr_topo *topo, mr_place *place, const char **key)
{
	const char *cpus = j->machine.cpus;
	uint32_t threads = (uint32_t)j->machine.threads;
	uint32_t *each = NULL;
	mr_place_params p;
	mr_status st;

	*key = NULL;
	MR_TRY(describe(j->machine.topology, topo, key));
	mr_place_defaults(&p, workers);
	p.max_threads = threads; /* one thread a worker may mean workers that share cores; more may not */
	p.uneven = j->machine.teams == MR_TEAMS_UNEVEN;
	if (threads > 1 && !*cpus && !p.uneven) {
		each = calloc(workers, sizeof(*each));
		if (!each)
			return mr_fail(MR_ERESOURCE, "no memory to place %u workers", workers);
		for (uint16_t w = 0; w < workers; w++)
			each[w] = threads;
		p.n_threads = each;
	}
	if (*cpus)
		p.cpus = cpus;
	st = mr_place_init(place, topo, &p);
	free(each);
	if (st != MR_OK && (*cpus || threads))
		*key = *cpus ? "cpus" : "threads";
	return st == MR_ECONFIG && *cpus ? tell_usable(topo, st) : st;
}
