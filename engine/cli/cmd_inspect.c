/* millrace inspect: lists the contents of a checkpoint, and verifies it. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/str.h"
#include "checkpoint/inspect.h"
#include "cli/args.h"
#include "report/output.h"
#include "nn/element.h"
#include "report/table.h"
#include "store/checkpoint_io.h"

typedef struct totals {
	uint64_t tensors, elements, bytes;
} totals;

static uint64_t elements_of(const mr_saved_tensor *t)
{
	return t->bytes / mr_dtype_bytes(t->dtype);
}

/* A line with texts of the checkpoint. */
static MR_PRINTF(1, 2) void put_line(const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) >= 0) {
		fputs(mr_printable(text), stdout);
		free(text);
	}
	va_end(ap);
}

static void put_shape(mr_table *table, const mr_saved_tensor *t)
{
	char text[MR_SAVED_MAX_DIMS * 24] = "1";
	int n = 0;

	for (uint32_t i = 0; i < t->n_dims; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, i ? " x %lld" : "%lld", (long long)t->shape[i]);
	mr_table_put(table, "%s", text);
}

static void put_tensor(mr_table *table, const mr_saved_tensor *t)
{
	char bytes[16];

	mr_table_put(table, "%s", t->name);
	mr_table_put(table, "%s", mr_dtype_saved_name(t->dtype));
	put_shape(table, t);
	mr_table_put(table, "%llu", (unsigned long long)elements_of(t));
	mr_table_put(table, "%s", mr_bytes_text(t->bytes, bytes));
}

static mr_status print_file(const mr_checkpoint *ck, const char *name, uint64_t file_bytes)
{
	static const mr_table_column columns[] = {
		{"tensor", false}, {"type", false}, {"shape", false}, {"elements", true}, {"bytes", true},
	};
	totals sum = {0};
	char size[16], bytes[16], count[16];
	mr_safetensors *f;
	mr_table *table;
	mr_status st;

	MR_TRY(mr_checkpoint_tensors(ck, name, &f));
	st = mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &table);
	if (st != MR_OK) {
		mr_safetensors_close(f);
		return st;
	}
	for (size_t i = 0; i < mr_safetensors_count(f); i++) {
		const mr_saved_tensor *t = mr_safetensors_at(f, i);

		put_tensor(table, t);
		sum.tensors++;
		sum.elements += elements_of(t);
		sum.bytes += t->bytes;
	}
	put_line("\n%s, %s\n", name, mr_bytes_text(file_bytes, size));
	st = mr_table_print(table, "  ", stdout);
	printf("  %llu tensor%s, %s elements, %s\n", (unsigned long long)sum.tensors, sum.tensors == 1 ? "" : "s",
	       mr_count_text(sum.elements, count), mr_bytes_text(sum.bytes, bytes));
	mr_table_destroy(table);
	mr_safetensors_close(f);
	return st;
}

/* Texts of many lines, which only programs read. */
static bool is_long(const char *fact)
{
	return !strcmp(fact, "configuration") || !strcmp(fact, "form");
}

static mr_status print_all(const mr_checkpoint *ck, const char *path)
{
	mr_saved_text fact;
	const char *name;
	uint64_t bytes, sum = 0;
	size_t n_files = 0;
	char text[16];

	printf("%-13s %s\n", "checkpoint", path);
	printf("%-13s %llu\n", "step", (unsigned long long)mr_checkpoint_step(ck));
	for (size_t i = 0; (fact = mr_checkpoint_fact_at(ck, i)).key; i++)
		put_line("%-13s %s\n", fact.key, is_long(fact.key) ? "kept, for predict (--format json)" : fact.value);
	for (; mr_checkpoint_file_at(ck, n_files, &bytes); n_files++)
		sum += bytes;
	printf("%-13s all right: %zu file%s, %s\n", "checksums", n_files, n_files == 1 ? "" : "s",
	       mr_bytes_text(sum, text));
	for (size_t i = 0; (name = mr_checkpoint_file_at(ck, i, &bytes)); i++)
		MR_TRY(print_file(ck, name, bytes));
	return MR_OK;
}

/* --- one tensor --- */

typedef struct summary {
	double min, max, sum, squares; /* of the finite elements */
	uint64_t n, non_finite;
} summary;

static void add_element(summary *s, double x)
{
	if (!isfinite(x)) {
		s->non_finite++;
		return;
	}
	s->min = s->n == 0 || x < s->min ? x : s->min;
	s->max = s->n == 0 || x > s->max ? x : s->max;
	s->sum += x;
	s->squares += x * x;
	s->n++;
}

static mr_status print_tensor(const mr_safetensors *f, const char *file, const mr_saved_tensor *t)
{
	void *data = malloc(t->bytes ? t->bytes : 1);
	summary s = {0};
	char bytes[16];
	mr_status st;

	if (!data)
		return mr_fail(MR_ERESOURCE, "no memory for the %llu bytes of %s", (unsigned long long)t->bytes,
			       t->name);
	st = mr_safetensors_read(f, t, data);
	for (uint64_t i = 0; st == MR_OK && i < elements_of(t); i++)
		add_element(&s, mr_element_saved(t->dtype, data, (int64_t)i));
	free(data);
	MR_TRY(st);
	put_line("%-12s %s of %s\n", "tensor", t->name, file);
	printf("%-12s %s, ", "type", mr_dtype_saved_name(t->dtype));
	for (uint32_t i = 0; i < t->n_dims; i++)
		printf(i ? " x %lld" : "%lld", (long long)t->shape[i]);
	printf("%s%s\n", t->n_dims ? ", " : "", mr_bytes_text(t->bytes, bytes));
	printf("%-12s %llu\n", "elements", (unsigned long long)elements_of(t));
	if (s.n)
		printf("%-12s %.9g\n%-12s %.9g\n%-12s %.9g\n%-12s %.9g\n", "min", s.min, "max", s.max, "mean",
		       s.sum / (double)s.n, "rms", sqrt(s.squares / (double)s.n));
	printf("%-12s %llu\n", "non-finite", (unsigned long long)s.non_finite);
	return MR_OK;
}

/* The known name nearest to @wanted, over all files. */
static mr_status no_tensor(const mr_checkpoint *ck, const char *path, const char *wanted)
{
	char near[160] = "";
	unsigned best = mr_nearest_limit(wanted) + 1;
	const char *name;

	for (size_t i = 0; (name = mr_checkpoint_file_at(ck, i, NULL)); i++) {
		mr_safetensors *f;

		MR_TRY(mr_checkpoint_tensors(ck, name, &f));
		for (size_t j = 0; j < mr_safetensors_count(f); j++) {
			const char *known = mr_safetensors_at(f, j)->name;

			if (mr_edit_distance(wanted, known) < best) {
				best = mr_edit_distance(wanted, known);
				snprintf(near, sizeof(near), "; did you mean %s?", known);
			}
		}
		mr_safetensors_close(f);
	}
	return mr_fail(MR_EUSAGE, "%s holds no tensor \"%.100s\"%s", path, wanted, near);
}

static mr_status show_tensor(const mr_checkpoint *ck, const char *path, const char *wanted)
{
	const char *name;

	for (size_t i = 0; (name = mr_checkpoint_file_at(ck, i, NULL)); i++) {
		const mr_saved_tensor *t;
		mr_safetensors *f;
		mr_status st;

		MR_TRY(mr_checkpoint_tensors(ck, name, &f));
		t = mr_safetensors_find(f, wanted);
		st = t ? print_tensor(f, name, t) : MR_OK;
		mr_safetensors_close(f);
		if (t)
			return st;
	}
	return no_tensor(ck, path, wanted);
}

static mr_status inspect(const mr_args *args, const char *path)
{
	const char *wanted = mr_values_string(args->values, "tensor");
	bool json = !strcmp(mr_values_string(args->values, "format"), "json");
	mr_checkpoint *ck;
	mr_status st;

	if (json && *wanted)
		return mr_fail(MR_EUSAGE,
			       "--format json describes a whole checkpoint, --tensor one tensor: give one of them");
	MR_TRY(mr_checkpoint_open(path, &ck));
	st = mr_checkpoint_verify(ck);
	if (st == MR_OK && json)
		st = mr_output_flush(mr_inspect_put(ck, path, stdout));
	else if (st == MR_OK)
		st = *wanted ? show_tensor(ck, path, wanted) : mr_output_flush(print_all(ck, path));
	mr_checkpoint_close(ck);
	return st;
}

static mr_status run(mr_args *args)
{
	char *path;
	mr_status st;

	MR_TRY(mr_inspect_find(args->operand[0], &path));
	st = inspect(args, path);
	free(path);
	return st;
}

static const mr_option options[] = {
	{"format", MR_OPT_ENUM, "text", 0, 0, "text|json", NULL, "tables or JSON"},
	{"tensor", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "print the range, mean and root mean square of this tensor instead"},
	{0},
};

const mr_command mr_command_inspect = {
	.name = "inspect",
	.operands = "CHECKPOINT",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "verify a checkpoint and list what it holds",
	.help = "CHECKPOINT is one checkpoint, a folder of checkpoints or the folder of a run (then the newest\n"
		"whole one). Every checksum is compared; damage is one message and exit code 5.\n",
	.options = options,
	.run = run,
};
