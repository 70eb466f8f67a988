/*
 * rpd.c - the published experiments on Randomized PipeDream, from this program's own arithmetic, in unit time.
 *
 *	perf_rpd [--tiny] [--out DIR] [--seeds N] [--stages S] [--text FILE] [--data DIR] [--seconds N] [EXPERIMENT...]
 *
 * Each word makes its tables and charts, DIR/<word>.csv and .svg (DIR: rpd); without any word, all of them. perf_rpd
 * --help lists them with what they take. All but `measured`, `live`, `wall` and `ways`, which run the engine by the
 * clock, and `stable`, which runs it as well, run on one core; all but these four are pure functions of the seeds: the
 * same files on every run. The heads of perf/rpd/<word>.c say what is measured and how.
 */
#include <errno.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "perf/rpd/experiments.h"

static const struct {
	const char *name;
	void (*run)(const settings *s);
	const char *what, *takes; /* on one core of a present server, alone */
} experiments[] = {
	{"delays", experiment_delays, "1: delays of 1F1B for 2 to 64 stages: closed form, counted, with start-up; fits",
	 "2 s"},
	{"window", experiment_window, "1: a picture of where S^2 - S/2 comes from", "no time"},
	{"measured", experiment_measured, "1: the same in the running engine, by its commits, for 2 to 64 stages",
	 "1 min"},
	{"order", experiment_order, "2: PipeDream against RPD over delta; the two with equal delays", "40 s"},
	{"local", experiment_local, "3: PipeDream against LocalSGD over H", "25 s"},
	{"scaling", experiment_scaling, "4: what stages buy at fixed time, with and without injected noise",
	 "half an hour; 3 min with --stages 32, 1 min with 16"},
	{"lm", experiment_lm, "5: PipeDream against LocalSGD on a language model of 16 stages, in unit time (--text)",
	 "2 min"},
	{"live", experiment_live,
	 "5: PipeDream and RPD on that model in the running engine, 4 to 16 workers, 1,024 micro-batches (--text)",
	 "2 min on two cores"},
	{"wall", experiment_wall, "5: the same on two workers, by the clock, averaging included (--text)",
	 "5 times --seconds"},
	{"ways", experiment_ways, "RPD step by step, replayed and in parallel: the same weights, and how fast (--text)",
	 "30 s"},
	{"bound", experiment_bound, "6: the convergence bound and a sharper one beside measured gradients", "4 s"},
	{"law", experiment_law, "6: the stale term of the bound over 2 to 32 stages, with its exponents", "20 s"},
	{"stable", experiment_stable, "the largest stable rate of a stage, in the running engine, and PipeMare's bound",
	 "4 min on two cores"},
	{"published", experiment_published,
	 "recorded values of the published figures beside ours, from their arrays (--data)", "15 s"},
};

#define N_EXPERIMENTS (sizeof(experiments) / sizeof(experiments[0]))

const char *out_path(const settings *s, const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s", s->out, name);
	return path;
}

FILE *table_open(const settings *s, const char *name)
{
	FILE *f = fopen(out_path(s, name), "w");

	if (!f) {
		perror(out_path(s, name));
		exit(1);
	}
	return f;
}

void table_close(FILE *f)
{
	if (fclose(f)) {
		perror("a table");
		exit(1);
	}
}

const char *power_text(int power, char *text)
{
	snprintf(text, 16, "2^%d", power);
	return text;
}

static int usage(const char *word)
{
	static const char *const options[] = {"--out", "--text", "--data", "--seeds", "--seconds", "--stages"};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (!strcmp(word, options[i])) {
			fprintf(stderr,
				"perf_rpd: %s: no value, or one that it cannot have; --help says what is expected\n",
				word);
			return 2;
		}
	fprintf(stderr, "perf_rpd: %s: no experiment and no option; --help lists them\n", word);
	return 2;
}

static int help(void)
{
	puts("perf_rpd [OPTION...] [EXPERIMENT...]\n"
	     "Make the tables (CSV) and charts (SVG) of the published experiments on Randomized PipeDream; all of them "
	     "when none is named.\n");
	for (size_t i = 0; i < N_EXPERIMENTS; i++)
		printf("  %-10s %s; %s\n", experiments[i].name, experiments[i].what, experiments[i].takes);
	puts("\n  --out DIR    folder for the files (rpd)\n"
	     "  --stages S   scaling: the most stages, doubled from 2, to 256 (128, as published)\n"
	     "  --seeds N    scaling: runs of each method, to 64 (10)\n"
	     "  --text FILE  lm, live, wall, ways: a text to learn, such as tiny Shakespeare\n"
	     "  --seconds N  wall: of training for each of five methods (20)\n"
	     "  --data DIR   published: folder of the arrays that the authors' program writes (head of "
	     "perf/rpd/published.c)\n"
	     "  --tiny       sizes that take no time, to see that everything runs");
	return 0;
}

/* A number from 1 to @most, or 0. */
static uint32_t number(const char *text, uint32_t most)
{
	char *end;
	unsigned long n = text ? strtoul(text, &end, 10) : 0;

	return n >= 1 && n <= most && !*end ? (uint32_t)n : 0;
}

/* A text for the tiny language model: so that it runs where none is given. */
static const char *tiny_text(const settings *s)
{
	static char path[1024];
	FILE *f = table_open(s, "tiny.txt");

	for (int i = 0; i < 200; i++)
		fprintf(f, "line %d of a text that nobody has to learn, %d times %d being %d\n", i, i, i, i * i);
	table_close(f);
	snprintf(path, sizeof(path), "%s", out_path(s, "tiny.txt"));
	return path;
}

int main(int argc, char **argv)
{
	settings s = {.out = "rpd", .seeds = 10, .stages = 128, .seconds = 20};
	bool wanted[N_EXPERIMENTS] = {false}, any = false;

	for (int i = 1; i < argc; i++) {
		size_t e = 0;

		while (e < N_EXPERIMENTS && strcmp(argv[i], experiments[e].name) != 0)
			e++;
		if (e < N_EXPERIMENTS)
			any = wanted[e] = true;
		else if (!strcmp(argv[i], "--help"))
			return help();
		else if (!strcmp(argv[i], "--tiny"))
			s.tiny = true;
		else if (!strcmp(argv[i], "--out") && i + 1 < argc)
			s.out = argv[++i];
		else if (!strcmp(argv[i], "--text") && i + 1 < argc)
			s.text = argv[++i];
		else if (!strcmp(argv[i], "--data") && i + 1 < argc)
			s.data = argv[++i];
		else if (!strcmp(argv[i], "--seeds") && number(argv[i + 1], 64))
			s.seeds = number(argv[++i], 64);
		else if (!strcmp(argv[i], "--seconds") && number(argv[i + 1], 86400))
			s.seconds = number(argv[++i], 86400);
		else if (!strcmp(argv[i], "--stages") && number(argv[i + 1], 256))
			s.stages = number(argv[++i], 256);
		else
			return usage(argv[i]);
	}
	for (size_t e = 0; e < N_EXPERIMENTS; e++)
		if (wanted[e] && experiments[e].run == experiment_published && !s.data) {
			fprintf(stderr, "perf_rpd: published needs the arrays behind the figures: give their folder "
					"with --data DIR\n");
			return 2;
		}
	if (s.tiny) {
		s.seeds = 2;
		s.stages = 4;
	}
	if (mkdir(s.out, 0777) && errno != EEXIST) {
		perror(s.out);
		return 1;
	}
	if (s.tiny && !s.text)
		s.text = tiny_text(&s);
	for (size_t e = 0; e < N_EXPERIMENTS; e++)
		if (wanted[e] || !any)
			experiments[e].run(&s);
	return 0;
}
