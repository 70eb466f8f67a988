#include "session/frozen.h"

#include <stdlib.h>
#include <string.h>

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

/* Layers of a stage with parameters: one that is frozen, and one that trains; NULL: it has none. */
typedef struct kinds {
	const mr_node *frozen, *trains;
} kinds;

static mr_status kinds_of(const mr_session *s, uint16_t stage, kinds *out)
{
	const mr_graph *g = s->graph;

	*out = (kinds){NULL, NULL};
	for (uint32_t i = s->partition.first[stage]; i < s->partition.first[stage + 1]; i++) {
		const mr_node *node = &g->nodes[i];

		if (!node->n_params)
			continue;
		*(node->frozen ? &out->frozen : &out->trains) = node;
		for (uint32_t p = node->first_param; node->frozen && p < node->first_param + node->n_params; p++)
			if (mr_graph_tied(g, p))
				return mr_fail(MR_ECONFIG, "%s is shared by several layers, and is frozen in %s",
					       g->params[p].name, node->name);
	}
	if (!out->frozen || !out->trains)
		return MR_OK;
	return mr_fail(MR_ECONFIG,
		       "stage %u has %s, which is frozen, and %s, which trains: the layers of a stage are frozen "
		       "together, so let another stage begin between them (partition)",
		       stage, out->frozen->name, out->trains->name);
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
	for (uint16_t i = 0; i < s->partition.n_stages; i++) {
		kinds k;

		MR_TRY(kinds_of(s, i, &k));
		trains |= k.trains != NULL;
		out[i] = k.trains || (!k.frozen && trains) ? MR_TRAINS : trains ? MR_FROZEN_PASSES : MR_FROZEN_LEAF;
	}
	return MR_OK;
}
