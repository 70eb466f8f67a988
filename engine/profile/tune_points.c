#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grown.h"
#include "profile/tune.h"

#define MAX_BYTES ((size_t)4 << 20)
#define MADE "# made: "

mr_status mr_tune_points_add(mr_tune_points *t, const mr_tune_point *p)
{
	mr_tune_point *more = mr_grown(t->point, t->n, sizeof(*more));

	if (!more)
		return mr_fail(MR_ERESOURCE, "no memory for %zu measured points", t->n + 1);
	t->point = more;
	t->point[t->n++] = *p;
	return MR_OK;
}

void mr_tune_points_fini(mr_tune_points *t)
{
	free(t->point);
	*t = (mr_tune_points){.n = 0};
}

void mr_tune_points_print(const mr_tune_points *t, FILE *out)
{
	fprintf(out, MADE "%s\n# operation, instructions, type, threads, class of rows and of size, fused in us, "
		     "oneDNN and f32 inside over that\n", t->made);
	for (size_t i = 0; i < t->n; i++) {
		const mr_tune_point *p = &t->point[i];

		fprintf(out, "%s %s %s %s %u %u %.2f %.3f %.3f\n", mr_choice_name(p->kind), p->isa,
			mr_dtype_name(p->dtype), p->team ? "team" : "one", p->row, p->size, 1e6 * p->fused_s,
			p->ratio[MR_CHOICE_ONEDNN], p->ratio[MR_CHOICE_F32]);
	}
}

static bool find_kind(const char *name, mr_choice_kind *out)
{
	for (int k = 0; k < MR_N_CHOICES; k++)
		if (!strcmp(name, mr_choice_name((mr_choice_kind)k))) {
			*out = (mr_choice_kind)k;
			return true;
		}
	return false;
}

static mr_status read_point(const char *text, mr_tune_point *p)
{
	char kind[16], dtype[8], threads[8];
	int end = -1;

	if (sscanf(text, "%15s %15s %7s %7s %u %u %lf %lf %lf %n", kind, p->isa, dtype, threads, &p->row, &p->size,
		   &p->fused_s, &p->ratio[MR_CHOICE_ONEDNN], &p->ratio[MR_CHOICE_F32], &end) != 9 || end < 0 ||
	    text[end] || !find_kind(kind, &p->kind))
		return mr_fail(MR_ECONFIG, "expected a point that millrace tune measured, got \"%.60s\"", text);
	if (p->row >= MR_CHOICE_ROWS || p->size >= MR_CHOICE_SIZES)
		return mr_fail(MR_ECONFIG, "classes go to %d and %d, got %u and %u", MR_CHOICE_ROWS - 1,
			       MR_CHOICE_SIZES - 1, p->row, p->size);
	if (!(p->fused_s > 0 && p->ratio[MR_CHOICE_ONEDNN] >= 0 && p->ratio[MR_CHOICE_F32] >= 0))
		return mr_fail(MR_ECONFIG, "times are positive, got \"%.60s\"", text);
	if (!mr_dtype_find(dtype, &p->dtype) || mr_dtype_wide(p->dtype) != MR_F32 ||
	    (strcmp(threads, "one") && strcmp(threads, "team")))
		return mr_fail(MR_ECONFIG, "expected f32 or bf16 and one or team, got %s and %s", dtype, threads);
	p->team = !strcmp(threads, "team");
	p->fused_s *= 1e-6;
	p->ratio[MR_CHOICE_FUSED] = 1;
	return MR_OK;
}

mr_status mr_tune_points_read(mr_tune_points *t, const char *path)
{
	char *text, *line, *next;
	size_t len, number = 0;
	mr_status st;

	*t = (mr_tune_points){.n = 0};
	MR_TRY(mr_file_read(path, MAX_BYTES, &text, &len));
	st = MR_OK;
	for (line = text; st == MR_OK && line && *line; line = next) {
		mr_tune_point p = {.row = 0};

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		if (!strncmp(line, MADE, strlen(MADE)))
			snprintf(t->made, sizeof(t->made), "%s", line + strlen(MADE));
		if (*line == '#' || !*line)
			continue;
		st = read_point(line, &p);
		st = st == MR_OK ? mr_tune_points_add(t, &p) : mr_fail_in(st, "%s:%zu", path, number);
	}
	free(text);
	if (st == MR_OK && !t->n)
		return mr_fail(MR_ECONFIG, "%s: there is no point in it; millrace tune --points writes such a file",
			       path);
	return st;
}
