/*
 * published.c - the published figures' numbers, from the published figures' own data.
 *
 * Needs the arrays behind the figures in a folder (--data): little-endian f64, row by row, and a recorded sequence of steps, as
 * i32 rows of stage, minibatch and delays; the authors' code writes them with numpy's tofile. What is not there is skipped, and said. The
 * recorded values are what that code gives; ours differ by the order of sums.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "perf/rpd/experiments.h"
#include "perf/rpd/problem.h"

#define MOST_BYTES ((size_t)64 << 20)

typedef struct task {
	const settings *s;
	FILE *table;
	double worst; /* relative */
} task;

static void compare(task *t, const char *what, double got, double want)
{
	double d = fabs(got - want) / fabs(want);

	fprintf(t->table, "%s,%.17g,%.17g,%.3g\n", what, want, got, d);
	printf("  %-34s recorded %.12g, here %.12g, off by %.1e of it\n", what, want, got, d);
	fflush(stdout);
	t->worst = fmax(t->worst, d);
}

static char *path_of(const task *t, const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s", t->s->data, name);
	return path;
}

static bool there(const task *t, const char *name)
{
	FILE *f = fopen(path_of(t, name), "rb");

	if (!f) {
		printf("  skipped: %s: %s\n", path_of(t, name), strerror(errno));
		return false;
	}
	fclose(f);
	return true;
}

static problem open_arrays(const task *t, const char *model, const char *sets, const char *stem, unsigned rows, uint16_t stages,
			   int64_t samples)
{
	char data[3000];

	snprintf(data, sizeof(data), "matrix=%s/%s_X.f64 targets=%s/%s_y.f64 rows=%u features=512", t->s->data, stem, t->s->data, stem,
		 rows);
	return problem_open(model, sets, "arrays", data, stages, samples, false);
}

/* The recorded sequence of @n steps over @stages stages. */
static mr_aged *read_steps(const task *t, const char *name, uint16_t stages, uint32_t n)
{
	int32_t row[66];
	size_t len, each = (2u + stages) * sizeof(*row);
	mr_aged *a;
	char *text;

	die_unless(mr_file_read(path_of(t, name), MOST_BYTES, &text, &len), name);
	if (len != n * each)
		die_unless(mr_fail(MR_EDATA, "%zu bytes are not %u steps of %u stages", len, n, stages), name);
	die_unless(mr_aged_create(stages, n, &a), name);
	for (uint32_t k = 0; k < n; k++) {
		memcpy(row, text + k * each, each);
		a->stage[k] = (uint16_t)row[0];
		a->batch[k] = (uint32_t)row[1];
		for (uint16_t b = 0; b < stages; b++)
			a->delay[(size_t)k * stages + b] = (uint32_t)row[2 + b];
	}
	die_unless(mr_aged_index(a), name);
	free(text);
	return a;
}

static void order(task *t)
{
	static const struct {
		int power;
		double last;
	} pd[] = {{-5, 0.002144243812202837}, {-4, 2.3816447882297565e-07}, {-3, 0.23656113692273426}},
	  rpd[] = {{-4, 2.3027479369943907e-06}, {-3, 7.466453426055662e-08}};
	const char *sequence = "rpd_fig1_S8_delta60_seed0_seq_K3200x10.i32";
	mr_unit_time u;
	mr_aged *steps;
	problem p;
	char what[64];

	if (!there(t, "quad_random_n2000_d512_X.f64") || !there(t, sequence))
		return;
	p = open_arrays(t, "quadratic", "", "quad_random_n2000_d512", 2000, 8, 100);
	die_unless(mr_unit_greedy(8, 400, 0, &u), "a timeline");
	steps = read_steps(t, sequence, 8, 3200);
	for (int i = 0; i < 3; i++) {
		curve c = run_timeline(&p, &u, &(asking){.gamma = ldexp(1, pd[i].power), .tail = 0.2, .all = true}, true);

		snprintf(what, sizeof(what), "order: PipeDream 2^%d", pd[i].power);
		compare(t, what, c.last, pd[i].last);
		curve_fini(&c);
	}
	for (int i = 0; i < 2; i++) {
		curve c = run_steps(&p, steps, &(asking){.gamma = ldexp(1, rpd[i].power), .tail = 0.2, .all = true});

		snprintf(what, sizeof(what), "order: RPD delta 60 2^%d", rpd[i].power);
		compare(t, what, c.last, rpd[i].last);
		curve_fini(&c);
	}
	mr_aged_destroy(steps);
	mr_unit_time_fini(&u);
	problem_close(&p);
}

static void local(task *t)
{
	static const struct {
		uint32_t local; /* 0: PipeDream */
		int power;
		double value;   /* after 1229 steps of time, where the recorded curves are cut */
	} runs[] = {{0, -8, 2.731246686598343}, {2, -5, 19.51761830530626}, {5, -5, 22.503717536385405}, {30, -8, 268.6526967487743}};
	problem p;
	char what[64];

	if (!there(t, "quad_tridiag_n600_d512_X.f64"))
		return;
	p = open_arrays(t, "quadratic", "", "quad_tridiag_n600_d512", 600, 16, 5);
	for (int i = 0; i < 4; i++) {
		mr_unit_time u;
		curve c;

		die_unless(runs[i].local ? mr_unit_rounds(16, 600, 16, runs[i].local, &u) : mr_unit_greedy(16, 600, 0, &u), "a timeline");
		c = run_timeline(&p, &u, &(asking){.gamma = ldexp(1, runs[i].power), .tail = 0.2, .all = true}, false);
		snprintf(what, sizeof(what), runs[i].local ? "local: LocalSGD H = %u" : "local: PipeDream", runs[i].local);
		compare(t, what, c.n > 1228 ? c.f[1228] : INFINITY, runs[i].value);
		curve_fini(&c);
		mr_unit_time_fini(&u);
	}
	problem_close(&p);
}

static void scaling(task *t)
{
	static const struct {
		uint16_t stages;
		uint32_t micro;
		double last; /* PipeDream, 2^-5, without noise */
	} runs[] = {{2, 1589, 0.0012699903653871194}, {4, 1587, 0.0012119266953582919}, {8, 1583, 0.001125774081668053},
		    {16, 1575, 0.0010778193751922994}, {32, 1559, 0.0009839427801495437}};
	char what[64];

	if (!there(t, "logistic_n50_d512_X.f64"))
		return;
	for (int i = 0; i < 5; i++) {
		problem p = open_arrays(t, "logistic", "l2=1e-4", "logistic_n50_d512", 50, runs[i].stages, 1);
		mr_unit_time u;
		curve c;

		die_unless(mr_unit_greedy(runs[i].stages, runs[i].micro, 0, &u), "a timeline");
		c = run_timeline(&p, &u, &(asking){.gamma = ldexp(1, -5), .tail = 0.2}, false);
		snprintf(what, sizeof(what), "scaling: PipeDream S = %u, no noise", runs[i].stages);
		compare(t, what, c.last, runs[i].last);
		curve_fini(&c);
		mr_unit_time_fini(&u);
		problem_close(&p);
	}
}

void experiment_published(const settings *s)
{
	task t = {.s = s};

	if (!s->data) {
		printf("published: the arrays behind the figures are needed: give their folder with --data DIR\n");
		return;
	}
	t.table = table_open(s, "published.csv");
	fprintf(t.table, "what,recorded,here,relative_difference\n");
	printf("recorded values of the published figures:\n");
	order(&t);
	local(&t);
	scaling(&t);
	table_close(t.table);
	printf("  largest relative difference %.2e\n", t.worst);
}
