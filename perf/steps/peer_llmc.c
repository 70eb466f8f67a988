#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "host/clock.h"
#include "perf/steps/peer.h"

/* What its train_gpt2.c is written for; the case must be the same. */
enum { LAYERS = 12, WIDTH = 768, HEADS = 12, VOCAB = 50257, PADDED = 50304, CONTEXT = 1024 };
enum { CHECKPOINT_MAGIC = 20240326, CHECKPOINT_VERSION = 3, TOKENS_MAGIC = 20240520, TOKENS_VERSION = 1 };
enum { N_TOKENS = 20000, EVERY = 10 /* steps: validation or sampling comes first */ };

/* Where it runs, while it runs. A signal handler reads these: the folder's name is set before anything lies in it. */
static char folder[64], program[4096];

static const char *const files[] = {
	"gpt2_124M.bin",
	"dev/data/tinyshakespeare/tiny_shakespeare_train.bin",
	"dev/data/tinyshakespeare/tiny_shakespeare_val.bin",
};
static const char *const folders[] = {"dev", "dev/data", "dev/data/tinyshakespeare"};
enum { N_FILES = sizeof(files) / sizeof(files[0]), N_FOLDERS = sizeof(folders) / sizeof(folders[0]) };

static void inside(char path[256], const char *name)
{
	strcpy(path, folder);
	strcat(path, "/");
	strcat(path, name);
}

static void llmc_clean(void)
{
	char path[256];

	if (!*folder)
		return;
	for (int i = 0; i < N_FILES; i++) {
		inside(path, files[i]);
		unlink(path);
	}
	for (int i = N_FOLDERS; i-- > 0;) {
		inside(path, folders[i]);
		rmdir(path);
	}
	rmdir(folder);
	*folder = 0;
}

static mr_status cannot(const char *path)
{
	return mr_fail(MR_EIO, "%s: %s", path, strerror(errno));
}

static mr_status create(const char *name, const int32_t *header, size_t n_header, FILE **out)
{
	int32_t all[256] = {0};
	char path[256];

	inside(path, name);
	*out = fopen(path, "wbe");
	if (!*out)
		return cannot(path);
	memcpy(all, header, n_header * sizeof(*header));
	fwrite(all, sizeof(all), 1, *out);
	return MR_OK;
}

static mr_status finish(FILE *f)
{
	bool bad = ferror(f);

	return fclose(f) || bad ? cannot(folder) : MR_OK;
}

/* @n numbers around @mean, at most @spread off: weights that keep activations in the range that training has. */
static void put(FILE *f, uint32_t tensor, uint64_t n, float mean, float spread)
{
	float some[1024];

	for (uint64_t i = 0; i < n; i += 1024) {
		uint64_t m = n - i < 1024 ? n - i : 1024;

		for (uint64_t k = 0; k < m; k++) {
			double u = (double)mr_rng_u32(1, MR_RNG_TEST, tensor, 0, i + k) / 2147483648.0 - 1;

			some[k] = mean + spread * (float)u;
		}
		fwrite(some, sizeof(float), m, f);
	}
}

static mr_status write_checkpoint(void)
{
	const uint64_t c = WIDTH, l = LAYERS;
	const struct {
		uint64_t n;
		float mean, spread;
	} tensors[] = {
		{PADDED * c, 0, 0.03f},        {CONTEXT * c, 0, 0.03f}, /* wte, wpe */
		{l * c, 1, 0},                 {l * c, 0, 0},           /* ln_1 */
		{l * 3 * c * c, 0, 0.03f},     {l * 3 * c, 0, 0},       /* attn.c_attn */
		{l * c * c, 0, 0.006f},        {l * c, 0, 0},           /* attn.c_proj */
		{l * c, 1, 0},                 {l * c, 0, 0},           /* ln_2 */
		{l * 4 * c * c, 0, 0.03f},     {l * 4 * c, 0, 0},       /* mlp.c_fc */
		{l * 4 * c * c, 0, 0.006f},    {l * c, 0, 0},           /* mlp.c_proj */
		{c, 1, 0},                     {c, 0, 0},               /* ln_f */
	};
	const int32_t header[] = {CHECKPOINT_MAGIC, CHECKPOINT_VERSION, CONTEXT, VOCAB, LAYERS, HEADS, WIDTH, PADDED};
	FILE *f;

	MR_TRY(create(files[0], header, sizeof(header) / sizeof(header[0]), &f));
	for (uint32_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++)
		put(f, i, tensors[i].n, tensors[i].mean, tensors[i].spread);
	return finish(f);
}

static mr_status write_tokens(const char *name)
{
	const int32_t header[] = {TOKENS_MAGIC, TOKENS_VERSION, N_TOKENS};
	FILE *f;

	MR_TRY(create(name, header, 3, &f));
	for (uint64_t i = 0; i < N_TOKENS; i++) {
		uint16_t t = (uint16_t)(mr_rng_u32(1, MR_RNG_TEST, 0, 0, i) % VOCAB);

		fwrite(&t, sizeof(t), 1, f);
	}
	return finish(f);
}

static mr_status write_folder(void)
{
	char name[] = "/tmp/millrace-llmc-XXXXXX", path[256];

	if (!mkdtemp(name))
		return cannot(name);
	strcpy(folder, name);
	for (int i = 0; i < N_FOLDERS; i++) {
		inside(path, folders[i]);
		if (mkdir(path, 0700))
			return cannot(path);
	}
	MR_TRY(write_tokens(files[1]));
	MR_TRY(write_tokens(files[2]));
	return write_checkpoint();
}

/* Up to the line of the next step, whose number is *@step; then it stands still. */
static mr_status one_step(mr_peer *p, int *step)
{
	char line[256];

	mr_process_signal(&p->process, SIGCONT);
	do
		MR_TRY(mr_process_line(&p->process, p->patience_s, line, sizeof(line)));
	while (sscanf(line, "step %d:", step) != 1);
	mr_process_signal(&p->process, SIGSTOP);
	return MR_OK;
}

static mr_status llmc_start(mr_peer *p, const mr_case *c, int threads)
{
	const char *argv[] = {program, NULL};
	char room[32], here[4096], path[256];
	mr_process_params params = {
		.argv = argv,
		.env = mr_peer_env(threads, NULL, room),
		.dir = folder,
		.terminal = true,
	};
	int step;

	(void)c;
	if (!realpath(p->where, here))
		return cannot(p->where);
	snprintf(program, sizeof(program), "%.4000s/train_gpt2", here);
	if (access(program, X_OK))
		return mr_fail(MR_EIO, "%s: %s; build it there: make train_gpt2", program, strerror(errno));
	MR_TRY(write_folder());
	MR_TRY(mr_process_start(&p->process, &params));
	MR_TRY(one_step(p, &step));
	inside(path, files[0]); /* half a gigabyte that it has read */
	unlink(path);
	return MR_OK;
}

/* The first step finds caches that others used meanwhile, whatever @w says of it. */
static mr_status llmc_burst(mr_peer *p, const mr_peer_work *w, double *ms)
{
	uint64_t begin;
	bool counts = true;
	int step;

	MR_TRY(one_step(p, &step));
	begin = mr_clock_ns();
	for (int i = 0; i < w->steps; i++) {
		MR_TRY(one_step(p, &step));
		counts = counts && step % EVERY != 0;
	}
	*ms = counts ? (double)(mr_clock_ns() - begin) / 1e6 / w->steps : 0;
	return MR_OK;
}

static bool llmc_takes(const mr_case *c, mr_bench_precision precision)
{
	return precision == MR_BENCH_F32 && !strcmp(c->name, "gpt2-124m");
}

const mr_peer_ops mr_peer_llmc = {
	.name = "llm.c",
	.takes = llmc_takes,
	.start = llmc_start,
	.burst = llmc_burst,
	.clean = llmc_clean,
	.missing = "MILLRACE_LLMC names a checkout of it in which train_gpt2 is built",
};
