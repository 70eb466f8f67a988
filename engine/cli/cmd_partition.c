/* millrace partition: cuts a table of layers into stages and gives them workers, without a model or a machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "choose/partition_report.h"
#include "cli/args.h"
#include "report/output.h"

#define MAX_BYTES ((size_t)64 << 20)
#define MAX_MICRO 64u

/* @levels [@size]: those that the file names, or "". */
static mr_status read_layers(const char *path, mr_layer_row **rows, uint32_t *n, char *levels, size_t size)
{
	const char *line;
	char *text;
	size_t len;
	mr_status st = mr_file_read(path, MAX_BYTES, &text, &len);

	if (st != MR_OK)
		return st == MR_ERESOURCE ? st : mr_fail(MR_ECONFIG, "%s", mr_error_text());
	st = mr_layer_table_read(text, rows, n);
	line = strstr(text, MR_LAYER_TABLE_LEVELS);
	line = line ? line + strlen(MR_LAYER_TABLE_LEVELS) : "";
	snprintf(levels, size, "%.*s", (int)strcspn(line, "\r\n"), line);
	free(text);
	return st == MR_OK ? MR_OK : mr_fail_in(st, "%s", path);
}

/* "cores,local,remote" */
static mr_status read_nodes(const char *text, mr_replica_problem *p)
{
	int used = 0;

	if (!*text)
		return MR_OK;
	if (sscanf(text, "%u,%lf,%lf%n", &p->node_workers, &p->local, &p->remote, &used) != 3 || text[used] ||
	    !p->node_workers || !(p->local > 0) || !(p->remote > 0))
		return mr_fail(MR_EUSAGE, "--numa: expected workers of a node, bandwidth inside it and bandwidth "
					  "between nodes, such as 8,20e9,5e9, got \"%.60s\"",
			       text);
	return MR_OK;
}

static mr_sync_rule sync_of(const mr_values *v)
{
	return strcmp(mr_values_string(v, "sync"), "2018") ? MR_SYNC_2019 : MR_SYNC_2018;
}

static mr_replica_problem problem_of(const mr_values *v, const mr_layer_row *rows, uint32_t n)
{
	static const char *const kept[] = {"each", "two", "one"};
	mr_replica_problem p = {
		.layer = rows,
		.n_layers = n,
		.n_workers = (uint32_t)mr_values_int(v, "workers"),
		.local = mr_values_float(v, "bandwidth"),
		.state = mr_values_float(v, "state"),
		.capacity = mr_values_float(v, "capacity"),
		.recompute = mr_values_bool(v, "recompute"),
		.sync = sync_of(v),
	};

	while (strcmp(kept[p.kept], mr_values_string(v, "versions")))
		p.kept++;
	return p;
}

static mr_status cut(const mr_values *v, const mr_layer_row *rows, uint32_t n, FILE *out)
{
	mr_replica_problem p = problem_of(v, rows, n), q;
	mr_replica_partition c, straight;
	bool found, ignored;
	mr_status st;

	MR_TRY(read_nodes(mr_values_string(v, "numa"), &p));
	MR_TRY(mr_replica_partition_solve(&p, &c, &found));
	if (!found)
		return mr_replica_partition_refuse(&p);
	q = p;
	q.straight = true;
	st = mr_replica_partition_solve(&q, &straight, &ignored);
	if (st == MR_OK)
		st = mr_replica_partition_print(&p, &c, &straight, !strcmp(mr_values_string(v, "format"), "json"), out);
	mr_replica_partition_fini(&straight);
	mr_replica_partition_fini(&c);
	return st;
}

/* "4@12e9,4@1.25e9", the lowest level first. */
static mr_status read_levels(const char *text, mr_level_problem *p)
{
	const char *at = text;
	int used;

	for (p->n_levels = 0; p->n_levels < MR_LEVELS_MOST; at++) {
		mr_level *l = &p->level[p->n_levels];

		if (sscanf(at, "%u@%lf%n", &l->parts, &l->bandwidth, &used) != 2 || !l->parts || !(l->bandwidth > 0))
			break;
		p->n_levels++;
		at += used;
		if (!*at)
			return MR_OK;
		if (*at != ',')
			break;
	}
	return mr_fail(MR_EUSAGE,
		       "--levels: expected parts and bandwidth of at most %d levels, the lowest first, such as "
		       "4@12e9,8@1.25e9, got \"%.60s\"", MR_LEVELS_MOST, text);
}

/* Groups in groups. */
static mr_status cut_levels(const mr_values *v, const char *named, const mr_layer_row *rows, uint32_t n, FILE *out)
{
	const char *text = mr_values_string(v, "levels");
	mr_level_problem p = {.layer = rows, .n_layers = n, .sync = sync_of(v)};
	mr_level_partition c;
	int64_t workers = 1;
	mr_status st;

	if (!strcmp(text, "file") && !*named)
		return mr_fail(MR_EUSAGE, "--levels file: there is no line \"" MR_LAYER_TABLE_LEVELS "...\" in the "
			       "table: millrace plan CONF --format layers writes it");
	MR_TRY(read_levels(strcmp(text, "file") ? text : named, &p));
	for (uint32_t k = 0; k < p.n_levels; k++)
		workers *= p.level[k].parts;
	if (workers != mr_values_int(v, "workers"))
		return mr_fail(MR_EUSAGE, "--levels has %lld workers in all, and --workers says %lld",
			       (long long)workers, (long long)mr_values_int(v, "workers"));
	st = mr_level_partition_solve(&p, &c);
	if (st == MR_OK)
		st = mr_level_partition_print(&p, &c, !strcmp(mr_values_string(v, "format"), "json"), out);
	mr_level_partition_fini(&c);
	return st;
}

static mr_status read_micro(const char *text, uint32_t *micro, uint32_t *n)
{
	const char *at = text;

	for (*n = 0; *n < MAX_MICRO; at++) {
		char *end;
		unsigned long x = strtoul(at, &end, 10);

		if (end == at || !x || x > 1u << 20 || (*end && *end != ','))
			break;
		micro[(*n)++] = (uint32_t)x;
		if (!*end)
			return MR_OK;
		at = end;
	}
	return mr_fail(MR_EUSAGE, "--micro: expected at most %u sizes of a micro-batch, such as 1,2,4, got \"%.60s\"",
		       MAX_MICRO, text);
}

/* Several pipelines of a model of equal blocks. */
static mr_status share(const mr_values *v, const mr_layer_row *rows, uint32_t n, FILE *out)
{
	uint32_t micro[MAX_MICRO], n_rows, best;
	mr_width_depth_problem p = {.block = rows[0],
				    .n_blocks = n,
				    .n_workers = (uint32_t)mr_values_int(v, "workers"),
				    .batch = (uint32_t)mr_values_int(v, "batch"),
				    .micro = micro,
				    .bandwidth = mr_values_float(v, "bandwidth"),
				    .state = mr_values_float(v, "state"),
				    .capacity = mr_values_float(v, "capacity")};
	mr_width_depth *choice;
	mr_status st;

	for (uint32_t i = 1; i < n; i++)
		if (memcmp(&rows[i].forward, &rows[0].forward, sizeof(rows[0]) - sizeof(rows[0].name)))
			return mr_fail(MR_ECONFIG,
				       "--batch is for a model of equal blocks, and layer %s differs from %s",
				       rows[i].name, rows[0].name);
	MR_TRY(read_micro(mr_values_string(v, "micro"), micro, &p.n_micro));
	MR_TRY(mr_width_depth_solve(&p, &choice, &n_rows, &best));
	st = best == n_rows ? mr_width_depth_refuse(&p, choice, n_rows)
			    : mr_width_depth_print(&p, choice, n_rows, best,
						   !strcmp(mr_values_string(v, "format"), "json"), out);
	free(choice);
	return st;
}

static mr_status check(const mr_values *v)
{
	static const char *const alone[] = {"numa", "versions", "sync", "recompute", "levels"};
	static const char *const flat[] = {"numa", "bandwidth", "capacity", "versions", "state", "recompute", "batch"};

	for (size_t i = 0; *mr_values_string(v, "levels") && i < sizeof(flat) / sizeof(flat[0]); i++)
		if (mr_values_is_set(v, flat[i]))
			return mr_fail(MR_EUSAGE, "--%s has no meaning with --levels", flat[i]);
	if (!mr_values_int(v, "batch"))
		return mr_values_is_set(v, "micro") ? mr_fail(MR_EUSAGE, "--micro goes with --batch") : MR_OK;
	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
		if (mr_values_is_set(v, alone[i]))
			return mr_fail(MR_EUSAGE, "--%s has no meaning with --batch", alone[i]);
	return mr_values_float(v, "bandwidth") > 0 ? MR_OK : mr_fail(MR_EUSAGE, "--batch needs a --bandwidth above 0");
}

static mr_status run(mr_args *args)
{
	const mr_values *v = args->values;
	const char *path = mr_values_string(v, "output");
	char levels[256];
	mr_layer_row *rows;
	mr_status st;
	uint32_t n;
	mr_output out;

	MR_TRY(check(v));
	MR_TRY(read_layers(args->operand[0], &rows, &n, levels, sizeof(levels)));
	st = mr_output_open(path, &out);
	if (st == MR_OK) {
		st = mr_values_int(v, "batch")         ? share(v, rows, n, out.file)
		     : *mr_values_string(v, "levels") ? cut_levels(v, levels, rows, n, out.file)
						      : cut(v, rows, n, out.file);
		st = mr_output_close(&out, st);
	}
	free(rows);
	return st;
}

static const mr_option options[] = {
	{"workers", MR_OPT_INT, NULL, 1, 4096, NULL, NULL, "all of them are used"},
	{"bandwidth", MR_OPT_FLOAT, "0", 0, 1e18, NULL, NULL,
	 "bytes per unit of time between two workers; 0: transfers take no time"},
	{"numa", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "WORKERS,LOCAL,REMOTE: workers of a node, bandwidth inside a node and between nodes, in place of --bandwidth"},
	{"levels", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "PARTS@BANDWIDTH of each level, the lowest first, such as 4@12e9,8@1.25e9 for 8 hosts of 4 workers, or file: "
	 "those that plan --format layers has found; stages are whole parts of a level, each cut again inside (the "
	 "hierarchical partition of SOSP'19)"},
	{"capacity", MR_OPT_FLOAT, "0", 0, 1e18, NULL, "bytes", "memory of a worker; 0: no limit"},
	{"versions", MR_OPT_ENUM, "each", 0, 0, "each|two|one", NULL,
	 "versions of its weights that a stage keeps: one for each micro-batch in flight, at most two, or one"},
	{"state", MR_OPT_FLOAT, "2", 0, 1e3, NULL, NULL, "bytes of the optimizer's state for each byte of weights"},
	{"recompute", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "keep the inputs of stages alone, and run the forward pass again before the backward pass"},
	{"sync", MR_OPT_ENUM, "2018", 0, 0, "2018|2019", NULL,
	 "what replicas of a stage pay for their sum of gradients: 2018 as arXiv:1806.03377 has it, 2019 as its paper "
	 "at SOSP'19"},
	{"batch", MR_OPT_INT, "0", 0, 1e9, NULL, "samples",
	 "for a model of equal blocks: how many pipelines of how many stages share a batch of this size, with two "
	 "versions of the weights; 0: no such question"},
	{"micro", MR_OPT_STRING, "1", 0, 0, NULL, NULL, "with --batch: sizes of a micro-batch to try, such as 1,2,4"},
	{"format", MR_OPT_ENUM, "text", 0, 0, "text|json", NULL, "a table or JSON"},
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL, "write to this file (short: -o); empty or -: standard output"},
	{0},
};

const mr_command mr_command_partition = {
	.name = "partition",
	.operands = "LAYERS",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "cut a table of layers into stages, and give each stage workers",
	.help = "LAYERS is a CSV file, \"name,forward,backward,activation,weights\" and a row a layer: times of a "
		"micro-batch,\n"
		"bytes of the layer's output and of its weights; a further column, saved, has the bytes that a "
		"micro-batch\n"
		"keeps at the layer until its backward pass, which else are those of the output. The cut is exact: "
		"of all cuts\n"
		"and numbers of workers, one whose slowest stage or boundary is the fastest. What does not fit "
		"--capacity is\n"
		"refused with what would fit (exit code 6).\n",
	.options = options,
	.run = run,
};
