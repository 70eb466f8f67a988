#include "session/frozen.h"

#include <stdlib.h>
#include <string.h>

#include "ir/frozen.h"

mr_status mr_session_freeze(mr_session *s)
{
	const char *text = s->job->train.frozen;
	char name[sizeof(((mr_node *)0)->name) + 1]; /* with a ! before it */

	while (*text) {
		size_t len = strcspn(text, ",");

		if (!len || len >= sizeof(name))
			return mr_fail(MR_ECONFIG, "expected names of layers with commas between them, got \"%s\"",
				       text);
		memcpy(name, text, len);
		name[len] = '\0';
		MR_TRY(mr_graph_freeze(s->graph, name));
		text += len + (text[len] == ',');
	}
	return MR_OK;
}

/* Has a stage layers with parameters that are frozen, and such that train? */
typedef struct kinds {
	bool frozen, trains;
} kinds;

static mr_status kinds_of(const mr_session *s, uint16_t stage, kinds *out)
{
	const mr_graph *g = s->graph;

	*out = (kinds){0};
	for (uint32_t i = s->partition.first[stage]; i < s->partition.first[stage + 1]; i++) {
		const mr_node *node = &g->nodes[i];

		out->frozen |= node->frozen;
		out->trains |= mr_graph_trains(g, i);
		for (uint32_t p = node->first_param; node->frozen && p < node->first_param + node->n_params; p++)
			if (mr_graph_tied(g, p))
				return mr_fail(MR_ECONFIG, "%s is shared by several layers, and is frozen in %s",
					       g->params[p].name, node->name);
	}
	return MR_OK;
}

mr_status mr_session_find_frozen(mr_session *s)
{
	uint8_t *out = *s->job->train.frozen ? calloc(s->partition.n_stages, sizeof(*out)) : NULL;
	bool trains = false; /* a layer before the stage */

	s->frozen = out;
	if (!*s->job->train.frozen)
		return MR_OK;
	if (!out)
		return mr_fail(MR_ERESOURCE, "no memory for %u stages", s->partition.n_stages);
	MR_TRY(mr_frozen_suits(s->plan));
	for (uint16_t i = 0; i < s->partition.n_stages; i++) {
		kinds k;

		MR_TRY(kinds_of(s, i, &k));
		trains |= k.trains;
		out[i] = k.trains || (!k.frozen && trains) ? MR_TRAINS : trains ? MR_FROZEN_PASSES : MR_FROZEN_LEAF;
	}
	return MR_OK;
}
