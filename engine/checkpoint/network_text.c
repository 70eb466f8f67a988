#include "checkpoint/network_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* Fields that tensors show. */
static const char *const shown[] = {"out", "vocab", "context", "parts", "no_bias", "transposed", "patch", "first_row",
				    "count", "fold", NULL};

/* Fields about the first weights, training and losses. */
static const char *const of_training[] = {"rate", "std", "value", "first", "l2", "noise", "momentum", "carry",
					  "variational", "smoothing", "padding", "per_sample", "bias_std", "bias",
					  NULL};

static bool is_in(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

static bool is_left_out(const mr_node *n)
{
	return n->ops->loss || !strcmp(n->ops->name, "dropout") || !strcmp(n->ops->name, "activation_penalty");
}

static void put(mr_strbuf *b, const char *name, double value)
{
	if (value != 0 && !is_in(shown, name) && !is_in(of_training, name))
		mr_strbuf_printf(b, " %s=%.9g", name, value);
}

/* "attention heads=2" */
static void put_layer(mr_strbuf *b, const mr_node *n)
{
	mr_layer_cfg c = n->cfg;

	c.kv_heads = c.kv_heads == c.heads ? 0 : c.kv_heads; /* the same by both words */
	mr_strbuf_append(b, n->ops->name);
#define PUT(type, name) put(b, #name, (double)c.name);
	MR_LAYER_CFG(PUT)
#undef PUT
}

static mr_status no_memory(void)
{
	return mr_fail(MR_ERESOURCE, "no memory for the text of a network");
}

mr_status mr_network_text(mr_session *s, const char **out)
{
	const mr_graph *g = mr_session_model(s);
	mr_strbuf b = {0};

	*out = s->network;
	if (s->network)
		return MR_OK;
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (!is_left_out(&g->nodes[i])) {
			mr_strbuf_printf(&b, "%s ", g->nodes[i].name);
			put_layer(&b, &g->nodes[i]);
			mr_strbuf_append(&b, "\n");
		}
	*out = s->network = mr_strbuf_take(&b);
	return *out ? MR_OK : no_memory();
}

/* The layer called @name, which is likely to be @next. */
static uint32_t find(const mr_graph *g, uint32_t next, const char *name)
{
	while (next < g->n_nodes && is_left_out(&g->nodes[next]))
		next++;
	return next < g->n_nodes && !strcmp(g->nodes[next].name, name) ? next : mr_graph_find_node(g, name);
}

/* Compare the line @name @rest. *@at: in: the layer that is likely; out: the one behind it. */
static mr_status check_line(const mr_graph *g, const char *file, const char *name, const char *rest, uint32_t *at,
			    bool *seen)
{
	uint32_t i = find(g, *at, name);
	mr_status st = MR_OK;
	mr_strbuf here = {0};

	if (i == MR_GRAPH_NO_NODE)
		return mr_fail(MR_ECKPT, "%s: the network that it was saved by has a layer %.60s (%.200s), and this "
					 "one has none", file, name, rest);
	seen[i] = true;
	*at = i + 1;
	put_layer(&here, &g->nodes[i]);
	if (here.failed)
		st = no_memory();
	else if (strcmp(mr_strbuf_text(&here), rest) != 0)
		st = mr_fail(MR_ECKPT, "%s: in the network that it was saved by, layer %s is \"%.200s\", and in this "
				       "one it is \"%s\"", file, name, rest, mr_strbuf_text(&here));
	mr_strbuf_fini(&here);
	return st;
}

static mr_status check_lines(const mr_graph *g, const char *file, char *text, bool *seen)
{
	uint32_t at = 0;
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *space = strchr(line, ' ');

		if (!space)
			return mr_fail(MR_ECKPT, "%s: the metadata \"network\" have a line without an operation", file);
		*space = '\0';
		MR_TRY(check_line(g, file, line, space + 1, &at, seen));
	}
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (!seen[i] && !is_left_out(&g->nodes[i]))
			return mr_fail(MR_ECKPT, "%s: this network has a layer %s (%s), and the one that it was saved "
						 "by has none", file, g->nodes[i].name, g->nodes[i].ops->name);
	return MR_OK;
}

mr_status mr_network_check(const mr_graph *g, const char *file, const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	bool *seen = calloc(g->n_nodes, sizeof(*seen));
	mr_status st = MR_OK;

	if (text)
		st = copy && seen ? check_lines(g, file, copy, seen) : no_memory();
	free(seen);
	free(copy);
	return st;
}
