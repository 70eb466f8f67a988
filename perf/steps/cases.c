#include "perf/steps/cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/str.h"

#define MLP(hidden) "name = \"mlp\"; hidden = " hidden ";"
#define DATA(features) "name = \"synthetic\"; features = " features "; classes = 10; samples = 4096;"
#define GPT(layers, width, heads, context) \
	"name = \"gpt\"; layers = " layers "; width = " width "; heads = " heads "; context = " context ";"
#define X6(w) "[" w "," w "," w "," w "," w "," w "]"
#define X16(w) "[" w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "]"
#define SOURCES "name = \"sources\"; root = "
#define MOMENTUM "name = \"momentum\";"
#define ADAMW "name = \"adamw\";"
#define BIT(system) (1u << (system))

#define N_TOKENS 200000

#define MLP1024 "mlp 784-1024x6-10", MLP(X6("1024")), DATA("784"), MOMENTUM, "dnnl"
#define MLP128 "mlp 128-128x16-10 (small operators)", MLP(X16("128")), DATA("128"), MOMENTUM, "dnnl"
#define MLP256 "mlp 256-256x16-10 (small operators)", MLP(X16("256")), DATA("256"), MOMENTUM, "dnnl"
#define GPT2 GPT("12", "768", "12", "64")
#define GPT2_RUN .optimizer = ADAMW, .backend = "dnnl", .vocab = 50257, .batch = 4, .micro = 4, .burst = 1, .big = true

const mr_case mr_cases[] = {
	{"mlp1024-b32", MLP1024, .batch = 32, .micro = 2, .burst = 20},
	{"mlp1024-b128", MLP1024, .batch = 128, .micro = 8, .burst = 8},
	{"mlp128-b8", MLP128, .batch = 8, .micro = 2, .burst = 400},
	{"mlp128-b16", MLP128, .batch = 16, .micro = 2, .burst = 400},
	{"mlp128-b32", MLP128, .batch = 32, .micro = 2, .burst = 300},
	{"mlp256-b16", MLP256, .batch = 16, .micro = 2, .burst = 150},
	{"gpt128-b16", "gpt 4 layers, 128 wide, context 128", GPT("4", "128", "4", "128"), SOURCES, ADAMW, "dnnl",
	 .batch = 16, .micro = 4, .burst = 4},
	{"gpt256-b8", "gpt 4 layers, 256 wide, context 128, vocabulary 512", GPT("4", "256", "4", "128"), NULL, ADAMW,
	 "dnnl", .vocab = 512, .batch = 8, .micro = 4, .burst = 3},
	{"gpt2-124m", "GPT-2 124M, context 64, tied head", GPT2 " tied = true;", GPT2_RUN, .rounds = 5,
	 .systems = BIT(MR_ONE_THREAD) | BIT(MR_A) | BIT(MR_A_AGAIN) | BIT(MR_GPIPE) | BIT(MR_1F1B)},
	{"gpt2-untied", "GPT-2 with a head of its own (163M), context 64", GPT2, GPT2_RUN, .rounds = 5,
	 .systems = BIT(MR_A) | BIT(MR_A_AGAIN) | BIT(MR_PIPEDREAM) | BIT(MR_VERTICAL)},
	{0},
};

const mr_case mr_case_tiny = {"tiny", "mlp 8-16x4-10", MLP("[16, 16, 16, 16]"), DATA("8"), MOMENTUM, "reference",
			      .batch = 8, .micro = 2, .burst = 3};

const mr_system mr_line_up[MR_N_SYSTEMS] = {
	[MR_ONE_THREAD] = {.label = "1 thread", .system = "sequential", .workers = 1, .threads = 1},
	[MR_A] = {.label = "A", .system = "sequential", .workers = 1, .threads = 2},
	[MR_A_AGAIN] = {.label = "A again", .system = "sequential", .workers = 1, .threads = 2},
	[MR_GPIPE] = {.label = "gpipe", .system = "gpipe", .workers = 2, .threads = 1, .micro = true},
	[MR_1F1B] = {.label = "1f1b", .system = "1f1b", .workers = 2, .threads = 1, .micro = true},
	[MR_MERGED] = {"1f1b, merged W", "1f1b", "merge_w = 4;", .workers = 2, .threads = 1, .micro = true},
	[MR_PIPEDREAM] = {.label = "pipedream", .system = "pipedream", .workers = 2, .threads = 1},
	[MR_VERTICAL] = {"pipedream, vertical sync", "pipedream", "vertical_sync = true;", .workers = 2, .threads = 1},
};

bool mr_case_has(const mr_case *c, int system)
{
	return !c->systems || (c->systems & BIT(system));
}

static mr_status temporary(char path[64], FILE **out)
{
	int fd = mkstemp(strcpy(path, "/tmp/millrace-steps-XXXXXX"));

	*out = fd < 0 ? NULL : fdopen(fd, "w");
	return *out ? MR_OK : mr_fail(MR_EIO, "%s: cannot be written: %s", path, strerror(errno));
}

static mr_status finish(FILE *f, const char *path)
{
	bool bad = ferror(f);

	return fclose(f) || bad ? mr_fail(MR_EIO, "%s: cannot be written: %s", path, strerror(errno)) : MR_OK;
}

mr_status mr_case_tokens(const mr_case *c, char path[64])
{
	FILE *f;

	MR_TRY(temporary(path, &f));
	for (uint64_t i = 0; i < N_TOKENS; i++) {
		uint16_t t = (uint16_t)(mr_rng_u32(1, MR_RNG_TEST, 0, 0, i) % (uint32_t)c->vocab);

		fwrite(&t, sizeof(t), 1, f);
	}
	return finish(f, path);
}

mr_status mr_case_config(const mr_case *c, const mr_system *s, int threads, const char *tokens, mr_config **out)
{
	char path[64], cwd[4000] = "";
	mr_strbuf mistakes;
	mr_status st;
	FILE *f;

	if (c->data && !strcmp(c->data, SOURCES) && !getcwd(cwd, sizeof(cwd)))
		return mr_fail(MR_EIO, "the current folder has no name: %s", strerror(errno));
	MR_TRY(temporary(path, &f));
	fprintf(f, "backend = \"%s\";\nmodel = { %s };\noptimizer = { %s };\n", c->backend, c->model, c->optimizer);
	if (c->data)
		fprintf(f, "data = { %s %s%s%s };\n", c->data, *cwd ? "\"" : "", cwd, *cwd ? "\";" : "");
	else
		fprintf(f, "data = { name = \"tokens\"; format = \"nanogpt\"; vocab = %d; path = \"%s\"; };\n",
			c->vocab, tokens);
	fprintf(f, "system = { name = \"%s\"; %s };\n", s->system, s->extra ? s->extra : "");
	fprintf(f, "train = { steps = 1000000; batch = %d; microbatches = %d; lr = 1e-4; };\n", c->batch,
		s->micro ? c->micro : 1);
	fprintf(f, "machine = { workers = %d; threads = %d; };\n", s->workers, threads);
	st = finish(f, path);
	mr_strbuf_init(&mistakes);
	if (st == MR_OK && mr_config_load(path, NULL, 0, &mistakes, out) != MR_OK)
		st = mr_fail(MR_ECONFIG, "%s: %s", s->label, mr_strbuf_text(&mistakes));
	mr_strbuf_fini(&mistakes);
	unlink(path);
	return st;
}
