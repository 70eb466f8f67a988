/* millrace tune: measures which backend executes each operation faster on this machine, as a table for `auto`. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "report/output.h"
#include "host/topo.h"
#include "profile/tune.h"

static void tell(void *arg, const mr_tune_point *p)
{
	static const char *const names[MR_N_CHOICE_BY] = {"", "oneDNN", "f32 inside"};

	(void)arg;
	if (p->fused_s <= 0)
		return;
	fprintf(stderr, "%-14s %-4s %u thread%s  rows %5lld  size %9lld  fused %9.1f us", mr_choice_name(p->kind),
		mr_dtype_name(p->dtype), p->n_threads, p->n_threads == 1 ? " " : "s", (long long)p->rows,
		(long long)p->size, 1e6 * p->fused_s);
	for (int by = MR_CHOICE_FUSED + 1; by < MR_N_CHOICE_BY; by++)
		if (p->ratio[by] != 0)
			fprintf(stderr, "  %s x%.2f", names[by], p->ratio[by]);
	fprintf(stderr, "  %s\n", mr_choice_by_name(p->by));
}

static mr_status print(const mr_choices *c, const mr_topo *topo, uint32_t threads, FILE *out)
{
	char machine[400];
	mr_strbuf text;
	mr_status st = MR_OK;

	mr_strbuf_init(&text);
	mr_choices_print(c, &text);
	fprintf(out,
		"/*\n * What executes an operation under the backend auto (nn/choices.h has the columns). Measured "
		"last by\n * millrace tune with %s, teams of %u, on\n * %s.\n */\n%s",
		mr_kernels_library(), threads, mr_topo_print(topo, machine, sizeof(machine)), mr_strbuf_text(&text));
	if (text.failed)
		st = mr_fail(MR_ERESOURCE, "no memory for a table of choices");
	else if (ferror(out))
		st = mr_fail(MR_EIO, "cannot write the table");
	mr_strbuf_fini(&text);
	return st;
}

/* Takes *@table over and puts the new one there. */
static mr_status replace(const mr_tune *t, mr_dtype dtype, uint32_t threads, mr_choices **table)
{
	mr_choices *made;

	MR_TRY(mr_tune_run(t, *table ? *table : &mr_choices_built_in, dtype, threads, &made));
	mr_choices_destroy(*table);
	*table = made;
	return MR_OK;
}

/* Each type by one thread, then by a team. */
static mr_status measure(const mr_tune *t, const char *precision, uint32_t threads, mr_choices **table)
{
	static const mr_dtype dtypes[] = {MR_F32, MR_BF16};
	bool both = !strcmp(precision, "all");

	for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
		if (!both && strcmp(precision, mr_dtype_name(dtypes[i])) != 0)
			continue;
		MR_TRY(replace(t, dtypes[i], 1, table));
		if (threads > 1)
			MR_TRY(replace(t, dtypes[i], threads, table));
	}
	return MR_OK;
}

static uint64_t largest_cache(const mr_topo *topo)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < topo->n_l3s; i++)
		most = topo->l3[i].bytes > most ? topo->l3[i].bytes : most;
	return most;
}

static mr_status run(mr_args *args)
{
	const char *path = mr_values_string(args->values, "output"), *from = mr_values_string(args->values, "base");
	uint32_t threads = (uint32_t)mr_values_int(args->values, "threads");
	mr_tune t = {.rounds = (uint32_t)mr_values_int(args->values, "rounds"),
		     .largest = mr_values_int(args->values, "largest"), .tell = tell};
	mr_choices *table = NULL;
	mr_topo topo;
	mr_status st;
	mr_output out;

	MR_TRY(mr_output_check(path));
	if (*from)
		MR_TRY(mr_choices_read(from, &table));
	MR_TRY(mr_topo_detect(&topo));
	threads = threads ? threads : topo.n_usable;
	t.cache_bytes = largest_cache(&topo);
	t.l2_bytes = topo.l2_bytes;
	st = measure(&t, mr_values_string(args->values, "precision"), threads, &table);
	if (st == MR_OK)
		st = mr_output_open(path, &out);
	if (st == MR_OK)
		st = mr_output_close(&out, print(table, &topo, threads, out.file));
	mr_topo_fini(&topo);
	mr_choices_destroy(table);
	return st;
}

static const mr_option options[] = {
	{"precision", MR_OPT_ENUM, "all", 0, 0, "all|f32|bf16", NULL, "the types that are measured"},
	{"threads", MR_OPT_INT, "0", 0, 4096, NULL, NULL,
	 "threads of the team that is measured beside one thread; 1: none; 0: all usable cores"},
	{"rounds", MR_OPT_INT, "9", 1, 101, NULL, NULL, "turns that the candidates take at each point"},
	{"largest", MR_OPT_INT, "0", 0, 1e10, NULL, "elements",
	 "leave out points with larger tensors, which go by the next smaller ones; 0: 2^24"},
	{"base", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "keep of this table what is not measured, as of other instruction sets; empty: of the program's own"},
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL, "write to this file (short: -o); empty or -: standard output"},
	{0},
};

const mr_command mr_command_tune = {
	.name = "tune",
	.operands = "",
	.min_operands = 0,
	.max_operands = 0,
	.summary = "measure by which backend each operation is faster here, as a table for machine.choices",
	.help = "The backend auto gives an operation to oneDNN unless our own kernel is faster by more than 3 %,\n"
		"and the gradient of a weight to our own unless oneDNN is faster by 10 %. A product in bf16 may also\n"
		"be computed with f32 inside, where that is faster by more than 3 %. A table holds the choice for\n"
		"each kind of operation and class of shape, so that weights do not depend on the noise of a day.\n"
		"The program's own table was measured on one machine; name the file that this command writes in\n"
		"machine.choices. It takes some minutes for each type; run nothing else on the machine meanwhile.\n",
	.options = options,
	.run = run,
};
