/* millrace tune: measures which backend executes each operation faster on this machine, as a table for `auto`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "host/processor.h"
#include "host/topo.h"
#include "profile/tune_table.h"
#include "report/output.h"

static void tell(void *arg, const mr_tune_point *p)
{
	static const char *const names[MR_N_CHOICE_BY] = {"", "oneDNN", "f32 inside"};

	(void)arg;
	fprintf(stderr, "%-14s %-4s %-4s  rows %5lld  size %9lld  fused %9.1f us", mr_choice_name(p->kind),
		mr_dtype_name(p->dtype), p->team ? "team" : "one", (long long)mr_choice_most_rows(p->row),
		(long long)mr_choice_most_size(p->size), 1e6 * p->fused_s);
	for (int by = MR_CHOICE_FUSED + 1; by < MR_N_CHOICE_BY; by++)
		if (p->ratio[by] != 0)
			fprintf(stderr, "  %s x%.2f", names[by], p->ratio[by]);
	fputc('\n', stderr);
}

/* --- what is written ---------------------------------------------------------------------------------------------- */

static mr_status print_table(const mr_choices *c, FILE *out)
{
	mr_strbuf text = {0};
	mr_status st = MR_OK;

	mr_choices_print(c, &text);
	fprintf(out,
		"/*\n * What executes an operation under the backend auto (nn/choices.h has the columns). Made by "
		"millrace tune:\n * oneDNN executes what takes it at most %.0f %% longer; fused executes what no line "
		"covers.\n"
		" */\n%s", 100 * MR_TUNE_MARGIN, mr_strbuf_text(&text));
	if (text.failed)
		st = mr_fail(MR_ERESOURCE, "no memory for a table of choices");
	else if (ferror(out))
		st = mr_fail(MR_EIO, "cannot write the table");
	mr_strbuf_fini(&text);
	return st;
}

static mr_status write_table(const char *path, const mr_tune_points *points, uint32_t n, const mr_choices *base)
{
	mr_choices *table;
	mr_output out;
	mr_status st;

	MR_TRY(mr_tune_table(points, n, base, &table));
	st = mr_output_open(path, &out);
	if (st == MR_OK)
		st = mr_output_close(&out, print_table(table, out.file));
	mr_choices_destroy(table);
	return st;
}

static mr_status write_points(const char *path, const mr_tune_points *points)
{
	mr_output out;

	if (!*path)
		return MR_OK;
	MR_TRY(mr_output_open(path, &out));
	mr_tune_points_print(points, out.file);
	return mr_output_close(&out, ferror(out.file) ? mr_fail(MR_EIO, "cannot write the points") : MR_OK);
}

/* --- what is measured --------------------------------------------------------------------------------------------- */

static uint64_t largest_cache(const mr_topo *topo)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < topo->n_l3s; i++)
		most = topo->l3[i].bytes > most ? topo->l3[i].bytes : most;
	return most;
}

/* "AMD EPYC 9654, 2 cores, oneDNN 2.6.3": no quotes, which would end a string of C. */
static void name_machine(const mr_topo *topo, uint32_t threads, char *text, size_t size)
{
	char name[100], library[64];

	mr_processor_name(name, sizeof(name));
	snprintf(library, sizeof(library), "%s", mr_kernels_library());
	library[strcspn(library, "(")] = '\0';
	snprintf(text, size, "%s, %u core%s, teams of %u, %s", *name ? name : "unknown processor", topo->n_usable,
		 topo->n_usable == 1 ? "" : "s", threads, library);
	for (char *c = text; *c; c++)
		if (*c == '"' || *c == '\\' || *c == ';')
			*c = ' ';
	text[strlen(text) - (text[strlen(text) - 1] == ' ')] = '\0';
}

/* The bits of the kinds in @list, with commas between them. */
static mr_status kinds_of(const char *list, uint32_t *out)
{
	*out = 0;
	while (*list) {
		size_t n = strcspn(list, ",");
		int k = 0;

		while (k < MR_N_CHOICES && (strlen(mr_choice_name((mr_choice_kind)k)) != n ||
					    strncmp(list, mr_choice_name((mr_choice_kind)k), n) != 0))
			k++;
		if (k == MR_N_CHOICES)
			return mr_fail(MR_EUSAGE,
				       "--only takes gemm_nn, norm, pool, ... (the first column of --points), got "
				       "\"%.*s\"",
				       (int)n, list);
		*out |= 1u << k;
		list += n + (list[n] == ',');
	}
	return MR_OK;
}

/* Each type that is computed with in f32 by one thread, then by a team. */
static mr_status measure(mr_args *args, mr_tune_points *points)
{
	const char *precision = mr_values_string(args->values, "precision");
	uint32_t threads = (uint32_t)mr_values_int(args->values, "threads");
	const char *teams = mr_values_string(args->values, "teams");
	mr_tune t = {.rounds = (uint32_t)mr_values_int(args->values, "rounds"),
		     .largest = mr_values_int(args->values, "largest"), .tell = tell};
	mr_status st = MR_OK;
	mr_topo topo;

	MR_TRY(kinds_of(mr_values_string(args->values, "only"), &t.only));
	MR_TRY(mr_topo_detect(&topo));
	threads = threads ? threads : topo.n_usable;
	t.cache_bytes = largest_cache(&topo);
	t.l2_bytes = topo.l2_bytes;
	name_machine(&topo, threads, points->made, sizeof(points->made));
	mr_topo_fini(&topo);
	for (mr_dtype d = 0; st == MR_OK && d < MR_N_DTYPES; d++) {
		if (mr_dtype_wide(d) != MR_F32 ||
		    (strcmp(precision, "all") != 0 && strcmp(precision, mr_dtype_name(d)) != 0))
			continue;
		if (strcmp(teams, "team") != 0)
			st = mr_tune_run(&t, d, 1, points);
		if (st == MR_OK && threads > 1 && strcmp(teams, "one") != 0)
			st = mr_tune_run(&t, d, threads, points);
	}
	return st;
}

/* The files that @list names, with commas between them. */
static mr_status read_all(const char *list, mr_tune_points *points, uint32_t *n)
{
	char *names = strdup(list), *rest = names;

	*n = 0;
	if (!names)
		return mr_fail(MR_ERESOURCE, "no memory for the names of files");
	for (char *name = strsep(&rest, ","); name; name = strsep(&rest, ",")) {
		mr_status st = *n < MR_TUNE_MOST_MACHINES
				       ? mr_tune_points_read(&points[(*n)++], name)
				       : mr_fail(MR_EUSAGE, "--from takes at most %d files", MR_TUNE_MOST_MACHINES);

		if (st != MR_OK) {
			free(names);
			return st;
		}
	}
	free(names);
	return MR_OK;
}

static mr_status run(mr_args *args)
{
	const char *path = mr_values_string(args->values, "output"), *base = mr_values_string(args->values, "base");
	const char *from = mr_values_string(args->values, "from"), *to = mr_values_string(args->values, "points");
	const mr_choices nothing = {.source = "none", .made = ""};
	mr_tune_points points[MR_TUNE_MOST_MACHINES] = {{.n = 0}};
	mr_choices *table = NULL;
	mr_status st = MR_OK;
	uint32_t n = 1;

	MR_TRY(mr_output_check(path));
	if (*to)
		MR_TRY(mr_output_check(to));
	if (*base)
		MR_TRY(mr_choices_read(base, &table));
	st = *from ? read_all(from, points, &n) : measure(args, &points[0]);
	if (st == MR_OK && !*from)
		st = write_points(to, &points[0]);
	if (st == MR_OK)
		st = write_table(path, points, n, table ? table : *from ? &nothing : &mr_choices_built_in);
	for (uint32_t i = 0; i < MR_TUNE_MOST_MACHINES; i++)
		mr_tune_points_fini(&points[i]);
	mr_choices_destroy(table);
	return st;
}

static const mr_option options[] = {
	{"precision", MR_OPT_ENUM, "all", 0, 0, "all|f32|bf16", NULL, "the types that are measured"},
	{"threads", MR_OPT_INT, "0", 0, 4096, NULL, NULL,
	 "threads of the team that is measured beside one thread; 1: none; 0: all usable cores"},
	{"teams", MR_OPT_ENUM, "both", 0, 0, "both|one|team", NULL, "measure one thread, the team, or both"},
	{"only", MR_OPT_STRING, "", 0, 0, NULL, "kinds",
	 "measure these kinds of operations, with commas between them; empty: all"},
	{"rounds", MR_OPT_INT, "9", 1, 101, NULL, NULL, "turns that the candidates take at each point"},
	{"largest", MR_OPT_INT, "0", 0, 1e10, NULL, "elements",
	 "leave out points with larger tensors, which go by the next smaller ones; 0: 2^24"},
	{"base", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "keep of this table what is not measured, as of other instruction sets; empty: of the program's own"},
	{"points", MR_OPT_STRING, "", 0, 0, NULL, NULL, "also write what was measured to this file; empty: nowhere"},
	{"from", MR_OPT_STRING, "", 0, 0, NULL, "files",
	 "measure nothing and make the table of these files of --points, with commas between them, with nothing but "
	 "--base besides"},
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL, "write to this file (short: -o); empty or -: standard output"},
	{0},
};

const mr_command mr_command_tune = {
	.name = "tune",
	.operands = "",
	.min_operands = 0,
	.max_operands = 0,
	.summary = "measure by which backend each operation is faster here, as a table for machine.choices",
	.help = "The backend auto gives an operation to oneDNN unless our own kernel is faster by more than 5 %; the\n"
		"gradient of a weight counts with the optimizer's step behind it, which our own fuses. A product in\n"
		"bf16 may also be computed with f32 inside, where that is faster by more than 3 %. A table holds the\n"
		"choice for each kind of operation and class of shape, so that weights do not depend on the noise of\n"
		"a day; with the size of a shape a choice changes at most once. `list kernels` says on which machines\n"
		"the program's own table was measured; name the file that this command writes in machine.choices. It\n"
		"takes some minutes for each type; run nothing else on the machine meanwhile. Of files of points from\n"
		"several machines --from makes one table, with a choice other than our own where it holds on each.\n",
	.options = options,
	.run = run,
};
