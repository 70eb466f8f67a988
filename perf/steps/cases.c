#include "perf/steps/cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "job/job.h"

#define MLP(hidden) {"model.name", "mlp"}, {"model.hidden", hidden}
#define DATA(features)                                                                                           \
	{"data.name", "synthetic"}, {"data.features", features}, {"data.classes", "10"}, {"data.samples", "4096"}
#define GPT(layers, width, heads, context)                                                                       \
	{"model.name", "gpt"}, {"model.layers", layers}, {"model.width", width}, {"model.heads", heads},         \
		{"model.context", context}
#define LLAMA(layers, width, heads, hidden, context)                                                             \
	{"model.name", "llama"}, {"model.layers", layers}, {"model.width", width}, {"model.heads", heads},       \
		{"model.kv_heads", "4"}, {"model.hidden", hidden}, {"model.context", context}, ADAMW
#define X6(w) "[" w "," w "," w "," w "," w "," w "]"
#define X16(w) "[" w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "]"
#define IMAGES(shape, classes, samples)                                                                          \
	{"data.name", "synthetic"}, {"data.image", shape}, {"data.classes", classes}, {"data.samples", samples}
#define SOURCES {"data.name", "sources"} /* of the current folder */
#define MOMENTUM {"optimizer.name", "momentum"}
#define ADAMW {"optimizer.name", "adamw"}
#define BIT(system) (1u << (system))

#define N_TOKENS 200000

#define MLP1024 "mlp 784-1024x6-10", {MLP(X6("1024")), DATA("784"), MOMENTUM}
#define MLP128 "mlp 128-128x16-10 (small operators)", {MLP(X16("128")), DATA("128"), MOMENTUM}
#define MLP256 "mlp 256-256x16-10 (small operators)", {MLP(X16("256")), DATA("256"), MOMENTUM}
#define GPT2(context) GPT("12", "768", "12", context), ADAMW
#define GPT2_RUN .vocab = 50257, .burst = 1, .big = true
#define TIED {"model.tied", "true"}
#define PIPELINES                                                                                                \
	(BIT(MR_A) | BIT(MR_A_AGAIN) | BIT(MR_1F1B) | BIT(MR_PIPEDREAM) | BIT(MR_DATA_PARALLEL) | BIT(MR_PLANNED))

const mr_case mr_cases[] = {
	{"mlp1024-b32", MLP1024, .batch = 32, .micro = 2, .burst = 20},
	{"mlp1024-b128", MLP1024, .batch = 128, .micro = 8, .burst = 8},
	{"mlp128-b8", MLP128, .batch = 8, .micro = 2, .burst = 400},
	{"mlp128-b16", MLP128, .batch = 16, .micro = 2, .burst = 400},
	{"mlp128-b32", MLP128, .batch = 32, .micro = 2, .burst = 300},
	{"mlp256-b16", MLP256, .batch = 16, .micro = 2, .burst = 150},
	{"gpt128-b16", "gpt 4 layers, 128 wide, context 128", {GPT("4", "128", "4", "128"), SOURCES, ADAMW},
	 .batch = 16, .micro = 4, .burst = 4},
	{"gpt256-b8", "gpt 4 layers, 256 wide, context 128, vocabulary 512", {GPT("4", "256", "4", "128"), ADAMW},
	 .vocab = 512, .batch = 8, .micro = 4, .burst = 3},
	{"gpt2-124m", "GPT-2 124M, context 64, tied head", {GPT2("64"), TIED}, GPT2_RUN, .batch = 4, .micro = 4,
	 .rounds = 5, .systems = BIT(MR_A) | BIT(MR_A_AGAIN) | BIT(MR_GPIPE) | BIT(MR_1F1B)},
	{"gpt2-untied", "GPT-2 with a head of its own (163M), context 64", {GPT2("64")}, GPT2_RUN, .batch = 4,
	 .micro = 4, .rounds = 5, .systems = BIT(MR_A) | BIT(MR_A_AGAIN) | BIT(MR_PIPEDREAM) | BIT(MR_VERTICAL)},
	{"gpt2-4x256", "GPT-2 124M, context 256, tied head", {GPT2("256"), TIED}, GPT2_RUN, .batch = 4, .micro = 4,
	 .rounds = 5, .long_steps = true, .systems = BIT(MR_A) | BIT(MR_1F1B)},
	{"gpt2-16x256", "GPT-2 124M, context 256, tied head", {GPT2("256"), TIED}, GPT2_RUN, .batch = 16, .micro = 8,
	 .whole = 4, .rounds = 3, .long_steps = true, .apart = true, .systems = BIT(MR_A) | BIT(MR_1F1B)},
	{"lstm512-b16", "awd_lm 3 x 512, context 64, tied head, vocabulary 512",
	 {{"model.name", "awd_lm"}, {"model.layers", "3"}, {"model.embed", "512"}, {"model.width", "512"},
	  {"model.context", "64"}, ADAMW},
	 .vocab = 512, .batch = 16, .micro = 4, .burst = 2,
	 .systems = BIT(MR_A) | BIT(MR_A_AGAIN) | BIT(MR_1F1B) | BIT(MR_DATA_PARALLEL) | BIT(MR_PLANNED)},
	{"gnmt512-b32", "gnmt 4 + 4 layers of 512, sentences of 21 to 29 tokens, vocabulary 4000",
	 {{"model.name", "gnmt"}, {"model.layers", "4"}, {"model.width", "512"}, {"data.name", "reversal"},
	  {"data.letters", "3996"}, {"data.shortest", "20"}, {"data.longest", "28"}, ADAMW},
	 .batch = 32, .micro = 4, .burst = 1, .systems = PIPELINES},
	{"dlrm-b128", "DLRM, 13 numbers, 8 tables of 1000 rows, 16 wide",
	 {{"model.name", "dlrm"}, {"data.name", "clicks"}, {"optimizer.name", "sgd"}},
	 .batch = 128, .micro = 4, .burst = 300, .systems = PIPELINES},
	{"llama256-b8", "llama 4 layers, 256 wide, context 128, vocabulary 512",
	 {LLAMA("4", "256", "8", "688", "128")}, .vocab = 512, .batch = 8, .micro = 4, .burst = 3,
	 .systems = PIPELINES},
	{"llama768-b4", "llama 12 layers, 768 wide, context 64, tied head (114M)",
	 {LLAMA("12", "768", "12", "2048", "64"), TIED}, .vocab = 50257, .burst = 1, .big = true, .batch = 4,
	 .micro = 4, .rounds = 5, .systems = BIT(MR_A) | BIT(MR_A_AGAIN) | BIT(MR_1F1B) | BIT(MR_PLANNED)},
	{"vgg16-b32", "VGG-16 on images of 32 x 32 (15.2M)",
	 {{"model.name", "vgg16"}, {"model.form", "cifar_deep"}, IMAGES("[32, 32, 3]", "10", "512"), MOMENTUM},
	 .batch = 32, .micro = 4, .burst = 2, .systems = PIPELINES},
	{"resnet18-b32", "ResNet-18 on images of 32 x 32 (11.2M)",
	 {{"model.name", "resnet18"}, IMAGES("[32, 32, 3]", "10", "512"), MOMENTUM},
	 .batch = 32, .micro = 4, .burst = 1, .systems = PIPELINES},
	{"resnet50-b8", "ResNet-50 on images of 224 x 224 (25.6M)",
	 {{"model.name", "resnet50"}, {"model.form", "imagenet"}, IMAGES("[224, 224, 3]", "1000", "32"), MOMENTUM},
	 .batch = 8, .micro = 4, .burst = 1, .rounds = 5, .big = true, .long_steps = true, .systems = PIPELINES},
	{"vit384-b16", "vision transformer, 6 layers of 384, patches of 4 x 4 of images of 32 x 32 (10.7M)",
	 {{"model.name", "vit"}, {"model.layers", "6"}, {"model.width", "384"}, {"model.heads", "6"},
	  {"model.patch", "4"}, IMAGES("[32, 32, 3]", "10", "512"), ADAMW},
	 .batch = 16, .micro = 4, .burst = 1, .systems = PIPELINES},
	{"attention-2048", "attention of GPT-2 alone, 12 heads of 64, 2048 positions", .attention = {1, 2048, 12, 64},
	 .batch = 1, .micro = 1, .burst = 2, .apart = true, .systems = BIT(MR_A) | BIT(MR_A_AGAIN)},
	{0},
};

const mr_case mr_case_tiny = {"tiny", "mlp 8-16x4-10", {MLP("[16, 16, 16, 16]"), DATA("8"), MOMENTUM},
			      .backend = "reference", .batch = 8, .micro = 2, .burst = 3};

#define CASES .workers = 2, .threads = 1, .micro = MR_MICRO_CASE
#define TWO .workers = 2, .threads = 1

const mr_system mr_line_up[MR_N_SYSTEMS] = {
	[MR_ONE_THREAD] = {.label = "1 thread", .system = "sequential", .workers = 1, .threads = 1},
	[MR_A] = {.label = "A", .system = "sequential", .workers = 1, .threads = 2, .bf16 = true, .short_list = true},
	[MR_A_AGAIN] = {.label = "A again", .system = "sequential", .workers = 1, .threads = 2, .bf16 = true},
	[MR_GPIPE] = {.label = "gpipe", .system = "gpipe", CASES},
	[MR_1F1B] = {.label = "1f1b", .system = "1f1b", CASES, .bf16 = true},
	[MR_MERGED] = {"1f1b, merged W", "1f1b", {"system.merge_w", "4"}, CASES, .bf16 = true},
	[MR_PIPEDREAM] = {.label = "pipedream", .system = "pipedream", TWO, .bf16 = true, .short_list = true},
	[MR_VERTICAL] = {"pipedream, vertical sync", "pipedream", {"system.vertical_sync", "true"}, TWO},
	[MR_DATA_PARALLEL] = {.label = "data_parallel", .system = "data_parallel", TWO, .micro = MR_MICRO_DEFAULT,
			      .bf16 = true, .short_list = true},
	[MR_JOINT] = {"data_parallel, joint", "data_parallel", {"system.gradients", "joint"}, TWO,
		      .micro = MR_MICRO_DEFAULT, .bf16 = true, .short_list = true},
	[MR_PLANNED] = {.label = "planner's choice", .system = "sequential", .workers = 1, .threads = 2, .bf16 = true,
			.short_list = true},
};

bool mr_case_has(const mr_case *c, int system, mr_bench_precision precision, bool all)
{
	return (all || mr_line_up[system].short_list) && (!c->systems || (c->systems & BIT(system))) &&
	       (precision != MR_BENCH_BF16 || mr_line_up[system].bf16);
}

const char *mr_bench_precision_name(mr_bench_precision precision)
{
	return precision == MR_BENCH_BF16 ? "bf16" : "f32";
}

const char *mr_case_backend(const mr_case *c, mr_bench_precision precision)
{
	static const char *const order[] = {"auto", "fused", "onednn"};
	mr_dtype dtype = precision == MR_BENCH_BF16 ? MR_BF16 : MR_F32;

	for (size_t i = 0; !c->backend && i < sizeof(order) / sizeof(*order); i++)
		if (mr_kernels_find(order[i], dtype))
			return order[i];
	return c->backend ? c->backend : order[0];
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

static mr_status set_data(mr_job *j, const mr_case *c, const char *tokens)
{
	if (!c->vocab)
		return MR_OK;
	MR_TRY(mr_job_choose(j, MR_JOB_DATA, "tokens"));
	MR_TRY(mr_values_set_string(j->data.values, "format", "nanogpt"));
	MR_TRY(mr_values_set_int(j->data.values, "vocab", c->vocab));
	return mr_values_set_string(j->data.values, "path", tokens);
}

static int micro_of(const mr_case *c, const mr_system *s)
{
	return s->micro == MR_MICRO_CASE ? c->micro : s->micro == MR_MICRO_DEFAULT ? 0 : c->whole ? c->whole : 1;
}

static mr_status fill(mr_job *j, const mr_case *c, const mr_system *s, mr_bench_precision precision, int threads,
		      const char *tokens)
{
	for (const mr_setting *set = c->set; set->key; set++)
		MR_TRY(mr_job_set(j, set->key, set->value));
	MR_TRY(set_data(j, c, tokens));
	MR_TRY(mr_job_choose(j, MR_JOB_SYSTEM, s->system));
	if (s->extra.key)
		MR_TRY(mr_job_set(j, s->extra.key, s->extra.value));
	j->name = c->name;
	j->backend = mr_case_backend(c, precision);
	j->precision = precision == MR_BENCH_BF16 ? MR_PRECISION_BF16 : MR_PRECISION_F32;
	j->train.steps = 1000000;
	j->train.batch = c->batch;
	j->train.microbatches = micro_of(c, s);
	MR_TRY(mr_job_set(j, "optimizer.lr", "1e-4"));
	j->machine.workers = s->workers;
	j->machine.threads = threads;
	return mr_job_check(j);
}

mr_status mr_case_job(const mr_case *c, const mr_system *s, mr_bench_precision precision, int threads,
		      const char *tokens, mr_job *out)
{
	mr_status st;

	MR_TRY(mr_job_init(out));
	st = fill(out, c, s, precision, threads, tokens);
	if (st != MR_OK)
		mr_job_fini(out);
	return st == MR_OK ? st : mr_fail_in(st, "%s", s->label);
}
