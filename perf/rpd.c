/*
 * rpd.c - the published experiments on Randomized PipeDream, from this program's own arithmetic, in unit time.
 *
 *	perf_rpd [--tiny] [--out DIR] [--seeds N] [--stages S] [--text FILE] [--data DIR] [--seconds N]
 *	         [delays] [measured] [order] [local] [bound] [scaling] [lm] [wall] [published]
 *
 * Each word makes one table and one chart, DIR/<word>.csv and .svg (DIR: rpd); without any word, all of them. All but
 * `measured` and `wall`, which run the engine by the clock, run on one core and are pure functions of the seeds: the same
 * files on every run. `scaling` is the long one: --stages (default 16) and --seeds (default 10) say how long. `lm` and
 * `wall` need a text (--tiny has one of its own), and `wall` trains each of its five methods for --seconds (default 20) on
 * two workers; `published` needs the arrays behind the published figures. The heads of perf/rpd/<word>.c say what is
 * measured and how.
 */
#include <errno.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "perf/rpd/experiments.h"

static const struct {
	const char *name;
	void (*run)(const settings *s);
} experiments[] = {
	{"delays", experiment_delays}, {"measured", experiment_measured}, {"order", experiment_order},
	{"local", experiment_local},   {"bound", experiment_bound},       {"scaling", experiment_scaling},
	{"lm", experiment_lm},         {"wall", experiment_wall},         {"published", experiment_published},
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
	fprintf(stderr, "rpd: %s: expected --tiny, --out DIR, --seeds N, --stages S, --text FILE, --data DIR, --seconds N, or one of", word);
	for (size_t i = 0; i < N_EXPERIMENTS; i++)
		fprintf(stderr, " %s", experiments[i].name);
	fputs("\n", stderr);
	return 2;
}

/* A number from 1 to @most, or 0. */
static uint32_t number(const char *text, uint32_t most)
{
	char *end;
	unsigned long n = text ? strtoul(text, &end, 10) : 0;

	return n >= 1 && n <= most && !*end ? (uint32_t)n : 0;
}

/* A text for the tiny language model: so that it runs where nobody has given one. */
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
	settings s = {.out = "rpd", .seeds = 10, .stages = 16, .seconds = 20};
	bool wanted[N_EXPERIMENTS] = {false}, any = false;

	for (int i = 1; i < argc; i++) {
		size_t e = 0;

		while (e < N_EXPERIMENTS && strcmp(argv[i], experiments[e].name) != 0)
			e++;
		if (e < N_EXPERIMENTS)
			any = wanted[e] = true;
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
