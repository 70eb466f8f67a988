#include "perf/steps/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool drop(mr_peer *p)
{
	snprintf(p->failed, sizeof(p->failed), "%s", mr_error_text());
	printf("  %s is left out of this case: %s\n", p->ops->name, p->failed);
	fflush(stdout);
	mr_peer_stop(p);
	return false;
}

void mr_peer_start(mr_peer *p, const mr_case *c, unsigned precisions, int threads)
{
	*p->failed = 0;
	p->precisions = precisions;
	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
		snprintf(p->label[k], sizeof(p->label[k]), "%s", p->ops->name);
	if (p->ops->start(p, c, threads) != MR_OK)
		drop(p);
}

void mr_peer_built(mr_peer *p)
{
	if (p->precisions && p->ops->built && p->ops->built(p) != MR_OK)
		drop(p);
}

void mr_peer_choose(mr_peer *p)
{
	if (p->precisions && p->ops->choose && p->ops->choose(p) != MR_OK)
		drop(p);
}

bool mr_peer_burst(mr_peer *p, const mr_peer_work *w, double *ms)
{
	return p->ops->burst(p, w, ms) == MR_OK || drop(p);
}

void mr_peer_end(mr_peer *p)
{
	if (p->precisions && (!p->ops->end || p->ops->end(p) != MR_OK))
		mr_peer_stop(p);
	p->precisions = 0;
}

void mr_peer_stop(mr_peer *p)
{
	p->precisions = 0;
	mr_process_stop(&p->process);
	if (p->ops->clean)
		p->ops->clean();
}

const char *const *mr_peer_env(int threads, const char *preload, char room[32])
{
	static const char *env[9];
	static char loaded[4096];

	snprintf(room, 32, "OMP_NUM_THREADS=%d", threads);
	env[0] = room;
	env[1] = "OMP_PROC_BIND=close";
	env[2] = "OMP_PLACES=cores";
	/* Without these glibc gives every large tensor back to the kernel, and each step faults its pages in anew. */
	env[3] = "MALLOC_MMAP_THRESHOLD_=4294967296";
	env[4] = "MALLOC_TRIM_THRESHOLD_=8589934592";
	env[5] = "MALLOC_TOP_PAD_=268435456";
	env[6] = "TORCHINDUCTOR_COMPILE_THREADS=1"; /* no processes beside it that would count as others */
	snprintf(loaded, sizeof(loaded), "LD_PRELOAD=%s", preload ? preload : "");
	env[7] = preload ? loaded : NULL;
	return env;
}

bool mr_peer_is_amd(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];
	bool amd = false;

	while (f && !amd && fgets(line, sizeof(line), f))
		amd = !strncmp(line, "vendor_id", 9) && strstr(line, "AuthenticAMD");
	if (f)
		fclose(f);
	return amd;
}

static bool torch_takes(const mr_case *c, mr_bench_precision precision)
{
	(void)c;
	(void)precision;
	return true;
}

/* Products of bf16 go by oneDNN, whatever MKL takes the processor for. */
static bool torch_amd_takes(const mr_case *c, mr_bench_precision precision)
{
	(void)c;
	return precision == MR_BENCH_F32;
}

/* It has the perceptrons alone. */
static bool jax_takes(const mr_case *c, mr_bench_precision precision)
{
	(void)precision;
	return !strcmp(c->name, mr_case_tiny.name) || !strncmp(c->name, "mlp", 3);
}

/* The next line. If it begins with @word, *@rest is what follows that, else NULL. */
static mr_status hear(mr_peer *p, const char *word, char *line, size_t size, const char **rest)
{
	size_t n = strlen(word);

	MR_TRY(mr_process_line(&p->process, p->patience_s, line, size));
	*rest = strncmp(line, word, n) != 0 || line[n] != ' ' ? NULL : line + n + 1;
	return MR_OK;
}

static mr_status unexpected(const char *line, const char *word)
{
	return mr_fail(MR_EIO, "it said \"%.60s\" where \"%s ...\" was expected", line, word);
}

static mr_status python_burst(mr_peer *p, const mr_peer_work *w, double *ms)
{
	char line[256];
	const char *rest;

	snprintf(line, sizeof(line), "go %d %s %d", w->steps, mr_bench_precision_name(w->precision), w->warm);
	MR_TRY(mr_process_say(&p->process, line));
	MR_TRY(hear(p, "ms", line, sizeof(line), &rest));
	if (!rest)
		return unexpected(line, "ms");
	*ms = strtod(rest, NULL);
	return *ms > 0 ? MR_OK : mr_fail(MR_EIO, "it said that a step takes \"%.60s\" ms", rest);
}

/* "bf16 compiled: what it tried" is how it will run in that precision: printed, and its name goes into @setting. */
static void take_setting(const mr_peer *p, const char *rest, char setting[MR_N_BENCH_PRECISIONS][64])
{
	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++) {
		const char *name = mr_bench_precision_name((mr_bench_precision)k);
		size_t n = strlen(name);

		if (!strncmp(rest, name, n) && rest[n] == ' ')
			snprintf(setting[k], sizeof(setting[k]), ", %.*s", (int)strcspn(rest + n + 1, ":"),
				 rest + n + 1);
	}
	printf("  %s %s\n", p->ops->name, rest);
	fflush(stdout);
}

static mr_status python_launch(mr_peer *p, int threads)
{
	const char *source = getenv("MR_SOURCE"); /* ctest says where perf/ is */
	char script[4096], count[16], room[32];
	const char *argv[] = {p->where, script, count, NULL};
	const char *const *env = mr_peer_env(threads, p->ops->preload ? MR_MKL_AMD : NULL, room);

	snprintf(script, sizeof(script), "%s/perf/%s", source ? source : ".", p->ops->script);
	snprintf(count, sizeof(count), "%d", threads);
	return mr_process_start(&p->process, &(mr_process_params){.argv = argv, .env = env});
}

static mr_status python_start(mr_peer *p, const mr_case *c, int threads)
{
	char line[128];

	if (!p->process.pid)
		MR_TRY(python_launch(p, threads));
	snprintf(line, sizeof(line), "case %s", c->name);
	for (int k = 0, n = 0; k < MR_N_BENCH_PRECISIONS; k++)
		if (p->precisions & 1u << k) {
			strcat(line, n++ ? "," : " ");
			strcat(line, mr_bench_precision_name((mr_bench_precision)k));
		}
	return mr_process_say(&p->process, line);
}

static mr_status python_built(mr_peer *p)
{
	char line[512];
	const char *rest;

	MR_TRY(hear(p, "process", line, sizeof(line), &rest));
	if (!rest)
		return unexpected(line, "process");
	p->process.at_work = (pid_t)atol(rest);
	do
		MR_TRY(mr_process_line(&p->process, p->patience_s, line, sizeof(line)));
	while (!strncmp(line, "trying ", 7));
	return strcmp(line, "built") != 0 ? unexpected(line, "built") : MR_OK;
}

static mr_status python_choose(mr_peer *p)
{
	char setting[MR_N_BENCH_PRECISIONS][64] = {{0}}, line[512];
	const char *rest;

	MR_TRY(mr_process_say(&p->process, "choose"));
	for (;;) {
		MR_TRY(hear(p, "ready", line, sizeof(line), &rest));
		if (rest)
			break;
		if (!strncmp(line, "trying ", 7))
			continue; /* a sign of life */
		if (strncmp(line, "setting ", 8) != 0)
			return unexpected(line, "ready");
		take_setting(p, line + 8, setting);
	}
	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
		snprintf(p->label[k], sizeof(p->label[k]), "%.60s%s", rest, setting[k]);
	return MR_OK;
}

static mr_status python_end(mr_peer *p)
{
	p->process.at_work = 0;
	return mr_process_say(&p->process, "end");
}

#define PYTHON                                                                                                   \
	.start = python_start, .built = python_built, .choose = python_choose, .burst = python_burst, .end = python_end
#define TORCH PYTHON, .script = "peer_torch.py"

const mr_peer_ops mr_peer_torch = {
	.name = "PyTorch",
	.takes = torch_takes,
	TORCH,
	.missing = "MILLRACE_PYTHON names a Python that has torch",
};

const mr_peer_ops mr_peer_torch_amd = {
	.name = "PyTorch, MKL for AMD",
	.takes = torch_amd_takes,
	TORCH,
	.preload = true,
	.missing = "MILLRACE_PYTHON names a Python that has torch, on a processor of AMD or with --preload",
};

const mr_peer_ops mr_peer_jax = {
	.name = "JAX",
	.takes = jax_takes,
	PYTHON,
	.script = "peer_jax.py",
	.missing = "MILLRACE_JAX names a Python that has jax",
};
