/*
 * scaling.c - draws the numbers of perf/scaling.sh: predicted efficiency over cores, a panel for each model and
 * machine.
 *
 *	scaling [TEXT] <numbers.csv >scaling.svg    TEXT stands below the title
 *	scaling --tiny                              a picture of numbers that were made up
 *
 * scaling --hosts draws those of perf/scaling_hosts.sh: a panel for each model and link, the batch growing with the
 * cores.
 *
 * scaling --bytes draws those of perf/link_bytes.sh: bytes a host sends in a step, over 2 to 8 hosts.
 *
 * A row is model,machine,cores,system,ms,choice. Efficiency is the time of `sequential` on one core, divided by cores
 * and time; where the batch grows, the shortest time on the fewest cores divided by the time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "report/panel.h"

typedef struct named {
	const char *key, *text;
} named;

enum { MOST = 8 }; /* of a list below */

typedef struct figure {
	named model[MOST], column[MOST], system[MOST]; /* up to one without a key */
	uint32_t cores[MOST + 1];                      /* up to 0 */
	uint32_t band;                                 /* the system that is a pale band below the others */
	bool grows;                                    /* the batch, with the cores */
	double high;                                   /* of y, where that is bytes, in MB; 0: it is efficiency */
	const char *x, *unit;                          /* what a column of cores counts, and of the times */
	const char *alt, *title, *what;
} figure;

#define PREDICTED "Predictions by published constants of machines that were not at hand; nothing here was measured."

static const figure one_machine = {
	.model = {{"mlp", "mlp"}, {"gpt_124M", "gpt 124M"}, {"gpt_1.3B", "gpt 1.3B"}, {"resnet50", "resnet50"}},
	.column = {{"genoa9654", "2x AMD EPYC 9654"}, {"gnr6980", "2x Xeon 6980P"}, {"graviton4", "2x AWS Graviton 4"}},
	.system = {{"sequential", "sequential"}, {"data_parallel", "data_parallel"}, {"1f1b", "1f1b"},
		   {"zb_v", "zb_v"}, {"pipedream", "pipedream"},
		   {"planner", "the planner's choice (systems that flush)"}},
	.cores = {1, 2, 4, 8, 16, 32, 64, 128},
	.band = 5,
	.x = "cores",
	.unit = "ms",
	.what = PREDICTED,
	.alt = "predicted efficiency on 1 to 128 cores of three servers",
	.title = "Predicted efficiency: speed-up over one core, divided by cores, of each system's best choice",
};
static const figure hosts = {
	.model = {{"vgg16", "VGG-16, 64 images"}, {"resnet50", "ResNet-50, 128 images"},
		  {"gpt_1.3B", "gpt 1.3B, 64 x 256 tokens"}},
	.column = {{"1gbit", "1 Gbit/s"}, {"10gbit", "10 Gbit/s"}, {"hdr", "HDR, 200 Gbit/s"}},
	.system = {{"data_parallel", "data_parallel"}, {"1f1b", "one pipeline (1f1b)"},
		   {"dapple", "stages on several workers each (dapple)"}},
	.cores = {128, 256, 512, 1024, 2048, 4096},
	.band = MOST,
	.grows = true,
	.x = "cores",
	.unit = "ms",
	.what = PREDICTED,
	.alt = "predicted efficiency on 1 to 32 hosts of 128 cores over three sorts of links",
	.title = "Predicted efficiency over hosts: the shortest step on one host of 128 cores, divided by the step",
};
static const figure bytes = {
	.model = {{"vgg16", "VGG-16"}, {"gpt_1.3B", "gpt 1.3B"}},
	.column = {{"few", "8 samples a host"}, {"some", "64 samples a host"}, {"many", "512 samples a host"}},
	.system = {{"data_parallel", "data_parallel (ZeRO-1), weipipe here"}, {"1f1b", "pipeline (1f1b)"},
		   {"zero3", "ZeRO-3 (FSDP), 8 stages, 2 rooms"}, {"weipipe", "WeiPipe with rings, closed form"},
		   {"shares", "tensor-parallel shares, by positions"}},
	.cores = {2, 4, 8},
	.band = MOST,
	.high = 2e6,
	.x = "hosts",
	.unit = "MB",
	.what = "All are counted by `millrace plan`, but the rings, which are a closed form: they do not run over "
		"hosts here.",
	.alt = "bytes that a host sends in a step, of five ways to train on 2, 4 and 8 hosts",
	.title = "Bytes over the link: what each of 2, 4 or 8 hosts sends in a step, on average",
};

#define LEFT 62.0
#define TOP 146.0
#define WIDTH 270.0
#define HEIGHT 190.0
#define ACROSS 326.0
#define DOWN 262.0

typedef struct numbers {
	const figure *f;
	double ms[MOST][MOST][MOST][MOST]; /* model, column, system, cores; 0: no such number */
} numbers;

static int count(const named *of)
{
	int n = 0;

	while (n < MOST && of[n].key)
		n++;
	return n;
}

/* -1: none is called so. */
static int find(const named *of, const char *key)
{
	for (int i = 0; i < count(of); i++)
		if (!strcmp(of[i].key, key))
			return i;
	return -1;
}

static int find_cores(const figure *f, const char *text)
{
	for (int i = 0; f->cores[i]; i++)
		if (f->cores[i] == (uint32_t)strtoul(text, NULL, 10))
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
		m = find(to->f->model, part[0]);
		h = find(to->f->column, part[1]);
		c = find_cores(to->f, part[2]);
		s = find(to->f->system, part[3]);
		if (m < 0 || h < 0 || s < 0 || c < 0)
			return mr_fail(MR_EDATA, "line %u: no such model, machine, system or number of cores", n);
		to->ms[m][h][s][c] = strtod(part[4], NULL);
	}
	return n > 1 ? MR_OK : mr_fail(MR_EDATA, "there are no numbers");
}

static double most_cores(const figure *f)
{
	int n = 0;

	while (f->cores[n])
		n++;
	return f->cores[n - 1];
}

/* What is 100 percent on the fewest cores. */
static double unit_of(const numbers *all, int m, int h)
{
	double least = all->ms[m][h][0][0];

	for (int s = 1; all->f->grows && s < count(all->f->system); s++)
		least = all->ms[m][h][s][0] > 0 && !(least <= all->ms[m][h][s][0]) ? all->ms[m][h][s][0] : least;
	return least;
}

/* The points of a system in percent; returns how many. */
static size_t points_of(const numbers *all, int m, int h, int s, double x[MOST], double y[MOST], double ms[MOST])
{
	double one = unit_of(all, m, h);
	size_t n = 0;

	for (int c = 0; all->f->cores[c]; c++) {
		double t = all->ms[m][h][s][c];

		if (!(t > 0) || (!(one > 0) && all->f->high <= 0))
			continue;
		x[n] = all->f->cores[c];
		y[n] = all->f->high > 0 ? t : 100 * one / t / (all->f->grows ? 1 : x[n]);
		ms[n++] = t;
	}
	return n;
}

/* Returns whether a line lies on another one, and is dashed. */
static bool put_panel(const numbers *all, int m, int h, const mr_svg *v)
{
	const figure *f = all->f;
	int n_systems = count(f->system);
	mr_panel p = {.left = LEFT + h * ACROSS, .top = TOP + m * DOWN, .width = WIDTH, .height = HEIGHT, .beyond = 4,
		      .x = {.name = m == count(f->model) - 1 ? f->x : NULL, .log = true, .doubles = true,
			    .low = f->cores[0], .high = most_cores(f)},
		      .y = {.name = h ? NULL : f->high > 0 ? "MB a step" : "efficiency in percent",
			    .log = f->high > 0, .low = f->high > 0 ? 10 : 0, .high = f->high > 0 ? f->high : 110},
		      .id = (unsigned)(m * MOST + h)};
	double x[MOST][MOST], y[MOST][MOST], ms[MOST];
	mr_points line[MOST];
	bool any = false;
	char title[96];

	snprintf(title, sizeof(title), f->grows || f->high > 0 ? "%s; %s" : "%s on %s", f->model[m].text,
		 f->column[h].text);
	mr_svg_text(v, p.left, p.top - 8, "panel", title);
	mr_panel_put(&p, v);
	for (int k = 0; k < n_systems; k++) {
		int band = (int)f->band, s = band >= n_systems ? k : k ? k - 1 : band; /* the band below the lines */
		bool twin = false;

		line[s] = (mr_points){x[s], y[s], points_of(all, m, h, s, x[s], y[s], ms)};
		for (int i = 0; s != band && i < s; i++)
			twin = twin || mr_panel_coincide(&p, &line[s], &line[i]);
		any = any || twin;
		if (!line[s].n)
			continue;
		fprintf(v->out, "<path class=\"%s\" stroke=\"currentColor\" fill=\"none\" %s%s", 
			s == band ? "gray" : mr_svg_hue((size_t)s),
			s == band ? "stroke-width=\"7\" stroke-opacity=\"0.3\"" : "stroke-width=\"1.7\"",
			mr_svg_dash(twin));
		mr_panel_clip(&p, v);
		fputs(" d=\"", v->out);
		mr_panel_path(&p, &line[s], 0, v->out);
		fputs("\"/>\n", v->out);
		for (size_t i = 0; s != band && i < line[s].n; i++)
			fprintf(v->out,
				"<circle class=\"%s\" fill=\"currentColor\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.3\"><title>"
				"%s, %.0f %s: %.4g %s</title></circle>\n",
				mr_svg_hue((size_t)s), mr_panel_x(&p, x[s][i]), mr_panel_y(&p, y[s][i]),
				f->system[s].key, x[s][i], f->x, ms[i], f->unit);
	}
	return any;
}

static void put_legend(const figure *f, const mr_svg *v, double width, bool dashed)
{
	mr_svg_legend l = mr_svg_legend_begin(v, LEFT, width - 20, 78);
	char swatch[200];

	for (int s = 0; s < count(f->system); s++) {
		snprintf(swatch, sizeof(swatch), "<path class=\"%s\" d=\"M0 6h22\" stroke=\"currentColor\" %s/>",
			 s == (int)f->band ? "gray" : mr_svg_hue((size_t)s),
			 s == (int)f->band ? "stroke-width=\"7\" stroke-opacity=\"0.3\"" : "stroke-width=\"1.7\"");
		mr_svg_legend_put(&l, 22, swatch, f->system[s].text);
	}
	snprintf(swatch, sizeof(swatch), "<path class=\"gray\" d=\"M0 6h22\" stroke=\"currentColor\"%s/>",
		 mr_svg_dash(1));
	if (dashed)
		mr_svg_legend_put(&l, 22, swatch, "dashed: on another line");
}

static mr_status draw(const numbers *all, const char *more)
{
	mr_svg v = mr_svg_file(stdout);
	const figure *f = all->f;
	double width = LEFT + count(f->column) * ACROSS;
	bool dashed = false;

	mr_svg_begin(&v, width, TOP + count(f->model) * DOWN, f->alt);
	mr_svg_text(&v, LEFT, 28, "title", f->title);
	mr_svg_text(&v, LEFT, 48, "sub", f->what);
	mr_svg_text(&v, LEFT, 64, "sub", more);
	for (int m = 0; m < count(f->model); m++)
		for (int h = 0; h < count(f->column); h++)
			dashed = put_panel(all, m, h, &v) || dashed;
	put_legend(f, &v, width, dashed);
	return mr_svg_end(&v);
}

int main(int argc, char **argv)
{
	static const char made_up[] = "model,machine,cores,system,ms,choice\nmlp,genoa9654,1,sequential,100,one\n"
				      "mlp,genoa9654,2,sequential,55,two\nmlp,genoa9654,2,1f1b,55,two\n";
	bool over_hosts = argc > 1 && !strcmp(argv[1], "--hosts"), of_bytes = argc > 1 && !strcmp(argv[1], "--bytes");
	int at = over_hosts || of_bytes ? 2 : 1;
	bool tiny = argc > at && !strcmp(argv[at], "--tiny");
	FILE *in = argc > at + 1 ? NULL : tiny ? fmemopen((char *)(void *)made_up, sizeof(made_up) - 1, "r") : stdin;
	numbers *all = calloc(1, sizeof(*all));
	mr_status st = MR_OK;

	if (all)
		all->f = over_hosts ? &hosts : of_bytes ? &bytes : &one_machine;
	if (!all)
		st = mr_fail(MR_ERESOURCE, "no memory for numbers");
	else if (!in)
		st = mr_fail(MR_EUSAGE, "usage: scaling [--hosts|--bytes] [TEXT] <numbers.csv >scaling.svg");
	else
		st = read_numbers(in, all);
	if (st == MR_OK)
		st = draw(all, tiny ? "Three numbers that were made up." : argc > at ? argv[at] : "");
	if (st != MR_OK)
		fprintf(stderr, "scaling: %s\n", mr_error_text());
	free(all);
	return mr_status_exit_code(st);
}
