/*
 * scaling.c - draws the numbers of perf/scaling.sh: predicted efficiency over cores, a panel for each model and
 * machine.
 *
 *	scaling [TEXT] <numbers.csv >scaling.svg    TEXT stands below the title
 *	scaling --tiny                              a picture of numbers that were made up
 *
 * A row is model,machine,cores,system,ms,choice. Efficiency is the time of `sequential` on one core, divided by cores
 * and time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "report/panel.h"

typedef struct named {
	const char *key, *text;
} named;

static const named models[] = {
	{"mlp", "mlp"}, {"gpt_124M", "gpt 124M"}, {"gpt_1.3B", "gpt 1.3B"}, {"resnet50", "resnet50"}};
static const named machines[] = {
	{"genoa9654", "2x AMD EPYC 9654"}, {"gnr6980", "2x Xeon 6980P"}, {"graviton4", "2x AWS Graviton 4"}};
/* The last is a pale band below the others. */
static const named systems[] = {{"sequential", "sequential"}, {"data_parallel", "data_parallel"}, {"1f1b", "1f1b"},
				{"zb_v", "zb_v"}, {"pipedream", "pipedream"},
				{"planner", "the planner's choice (systems that flush)"}};
static const uint32_t cores[] = {1, 2, 4, 8, 16, 32, 64, 128};

enum {
	N_MODELS = sizeof(models) / sizeof(models[0]),
	N_MACHINES = sizeof(machines) / sizeof(machines[0]),
	N_SYSTEMS = sizeof(systems) / sizeof(systems[0]),
	PLANNER = N_SYSTEMS - 1,
	N_CORES = sizeof(cores) / sizeof(cores[0]),
};

#define LEFT 62.0
#define TOP 146.0
#define WIDTH 270.0
#define HEIGHT 190.0
#define ACROSS 326.0
#define DOWN 262.0

typedef struct numbers {
	double ms[N_MODELS][N_MACHINES][N_SYSTEMS][N_CORES]; /* 0: no such number */
} numbers;

/* -1: none is called so. */
static int find(const named *of, int n, const char *key)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(of[i].key, key))
			return i;
	return -1;
}

static int find_cores(const char *text)
{
	for (int i = 0; i < N_CORES; i++)
		if (cores[i] == (uint32_t)strtoul(text, NULL, 10))
			return i;
	return -1;
}

static mr_status read_numbers(FILE *in, numbers *to)
{
	char line[1024];
	unsigned n = 0;

	while (fgets(line, sizeof(line), in)) {
		char *part[5], *at = line;
		int m, h, s, c;

		if (!n++)
			continue; /* names of columns */
		for (int i = 0; i < 5; i++)
			part[i] = at ? strsep(&at, ",\n") : NULL;
		if (!part[4])
			return mr_fail(MR_EDATA, "line %u: expected model,machine,cores,system,ms", n);
		m = find(models, N_MODELS, part[0]);
		h = find(machines, N_MACHINES, part[1]);
		c = find_cores(part[2]);
		s = find(systems, N_SYSTEMS, part[3]);
		if (m < 0 || h < 0 || s < 0 || c < 0)
			return mr_fail(MR_EDATA, "line %u: no such model, machine, system or number of cores", n);
		to->ms[m][h][s][c] = strtod(part[4], NULL);
	}
	return n > 1 ? MR_OK : mr_fail(MR_EDATA, "there are no numbers");
}

/* The points of a system in percent; returns how many. */
static size_t points_of(const numbers *all, int m, int h, int s, double x[N_CORES], double y[N_CORES],
			double ms[N_CORES])
{
	double one = all->ms[m][h][0][0];
	size_t n = 0;

	for (int c = 0; c < N_CORES; c++) {
		double t = all->ms[m][h][s][c];

		if (!(t > 0) || !(one > 0))
			continue;
		x[n] = cores[c];
		y[n] = 100 * one / t / cores[c];
		ms[n++] = t;
	}
	return n;
}

/* Returns whether a line lies on another one, and is dashed. */
static bool put_panel(const numbers *all, int m, int h, const mr_svg *v)
{
	mr_panel p = {.left = LEFT + h * ACROSS, .top = TOP + m * DOWN, .width = WIDTH, .height = HEIGHT, .beyond = 4,
		      .x = {.name = m == N_MODELS - 1 ? "cores" : NULL, .log = true, .doubles = true, .low = 1,
			    .high = 128},
		      .y = {.name = h ? NULL : "efficiency in percent", .low = 0, .high = 110},
		      .id = (unsigned)(m * N_MACHINES + h)};
	double x[N_SYSTEMS][N_CORES], y[N_SYSTEMS][N_CORES], ms[N_CORES];
	mr_points line[N_SYSTEMS];
	bool any = false;
	char title[96];

	snprintf(title, sizeof(title), "%s on %s", models[m].text, machines[h].text);
	mr_svg_text(v, p.left, p.top - 8, "panel", title);
	mr_panel_put(&p, v);
	for (int k = 0; k < N_SYSTEMS; k++) {
		int s = k ? k - 1 : PLANNER; /* the band first, below the lines */
		bool twin = false;

		line[s] = (mr_points){x[s], y[s], points_of(all, m, h, s, x[s], y[s], ms)};
		for (int i = 0; s != PLANNER && i < s; i++)
			twin = twin || mr_panel_coincide(&p, &line[s], &line[i]);
		any = any || twin;
		if (!line[s].n)
			continue;
		fprintf(v->out, "<path class=\"%s\" stroke=\"currentColor\" fill=\"none\" %s%s", 
			s == PLANNER ? "gray" : mr_svg_hue((size_t)s),
			s == PLANNER ? "stroke-width=\"7\" stroke-opacity=\"0.3\"" : "stroke-width=\"1.7\"",
			mr_svg_dash(twin));
		mr_panel_clip(&p, v);
		fputs(" d=\"", v->out);
		mr_panel_path(&p, &line[s], 0, v->out);
		fputs("\"/>\n", v->out);
		for (size_t i = 0; s != PLANNER && i < line[s].n; i++)
			fprintf(v->out,
				"<circle class=\"%s\" fill=\"currentColor\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.3\"><title>"
				"%s, %.0f cores: %.4g ms</title></circle>\n",
				mr_svg_hue((size_t)s), mr_panel_x(&p, x[s][i]), mr_panel_y(&p, y[s][i]), systems[s].key,
				x[s][i], ms[i]);
	}
	return any;
}

static void put_legend(const mr_svg *v, double width, bool dashed)
{
	mr_svg_legend l = mr_svg_legend_begin(v, LEFT, width - 20, 78);
	char swatch[200];

	for (int s = 0; s < N_SYSTEMS; s++) {
		snprintf(swatch, sizeof(swatch), "<path class=\"%s\" d=\"M0 6h22\" stroke=\"currentColor\" %s/>",
			 s == PLANNER ? "gray" : mr_svg_hue((size_t)s),
			 s == PLANNER ? "stroke-width=\"7\" stroke-opacity=\"0.3\"" : "stroke-width=\"1.7\"");
		mr_svg_legend_put(&l, 22, swatch, systems[s].text);
	}
	snprintf(swatch, sizeof(swatch), "<path class=\"gray\" d=\"M0 6h22\" stroke=\"currentColor\"%s/>",
		 mr_svg_dash(1));
	if (dashed)
		mr_svg_legend_put(&l, 22, swatch, "dashed: on another line");
}

static mr_status draw(const numbers *all, const char *more)
{
	mr_svg v = mr_svg_file(stdout);
	double width = LEFT + N_MACHINES * ACROSS;
	bool dashed = false;

	mr_svg_begin(&v, width, TOP + N_MODELS * DOWN, "predicted efficiency on 1 to 128 cores of three servers");
	mr_svg_text(&v, LEFT, 28, "title",
		    "Predicted efficiency: speed-up over one core, divided by cores, of each system's best choice");
	mr_svg_text(&v, LEFT, 48, "sub",
		    "Predictions by published constants of machines that were not at hand; nothing here was measured.");
	mr_svg_text(&v, LEFT, 64, "sub", more);
	for (int m = 0; m < N_MODELS; m++)
		for (int h = 0; h < N_MACHINES; h++)
			dashed = put_panel(all, m, h, &v) || dashed;
	put_legend(&v, width, dashed);
	return mr_svg_end(&v);
}

int main(int argc, char **argv)
{
	static const char made_up[] = "model,machine,cores,system,ms,choice\nmlp,genoa9654,1,sequential,100,one\n"
				      "mlp,genoa9654,2,sequential,55,two\nmlp,genoa9654,2,1f1b,55,two\n";
	bool tiny = argc > 1 && !strcmp(argv[1], "--tiny");
	FILE *in = argc > 2 ? NULL : tiny ? fmemopen((char *)(void *)made_up, sizeof(made_up) - 1, "r") : stdin;
	numbers *all = calloc(1, sizeof(*all));
	mr_status st = MR_OK;

	if (!all)
		st = mr_fail(MR_ERESOURCE, "no memory for numbers");
	else if (!in)
		st = mr_fail(MR_EUSAGE, "usage: scaling [TEXT] <numbers.csv >scaling.svg");
	else
		st = read_numbers(in, all);
	if (st == MR_OK)
		st = draw(all, tiny ? "Three numbers that were made up." : argc > 1 ? argv[1] : "");
	if (st != MR_OK)
		fprintf(stderr, "scaling: %s\n", mr_error_text());
	free(all);
	return mr_status_exit_code(st);
}
