#include "outline/proof.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Costs that are no multiples of a unit are rounded in the proof; orders this close are equally short. */
#define SAME 1e-7

static double gap_of(const mr_sched_proof *p)
{
	return p->makespan > p->bound * (1 + SAME) ? p->makespan / p->bound - 1 : 0;
}

const char *mr_proof_text(const mr_sched_proof *p, double unit, const char *name, char *text, size_t size)
{
	double gap;
	int n;

	*text = 0;
	if (!(p->bound > 0))
		return text;
	gap = gap_of(p);
	n = snprintf(text, size, "passes %.6g%s%s, lower bound of their placement %.6g%s%s: ", p->makespan / unit,
		     *name ? " " : "", name, p->bound / unit, *name ? " " : "", name);
	if (gap > 0)
		snprintf(text + n, size - (size_t)n, "gap %.2g %%", 100 * gap);
	else
		snprintf(text + n, size - (size_t)n, "optimal (proved)");
	n += (int)strlen(text + n);
	if (p->nodes)
		snprintf(text + n, size - (size_t)n, ", %" PRIu64 " nodes", p->nodes);
	return text;
}

void mr_proof_put(mr_json_writer *w, const mr_sched_proof *p)
{
	if (!(p->bound > 0))
		return;
	mr_json_key(w, "proof");
	mr_json_begin_object(w);
	mr_json_field_double(w, "makespan", p->makespan);
	mr_json_field_double(w, "bound", p->bound);
	mr_json_field_double(w, "gap", gap_of(p));
	mr_json_field_bool(w, "optimal", gap_of(p) <= 0);
	mr_json_field_int(w, "nodes", (int64_t)p->nodes);
	mr_json_end_object(w);
}
