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

bool mr_peer_start(mr_peer *p, const mr_case *c, unsigned precisions, int threads)
{
	*p->failed = 0;
	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
		snprintf(p->label[k], sizeof(p->label[k]), "%s", p->ops->name);
	return p->ops->start(p, c, precisions, threads) == MR_OK || drop(p);
}

bool mr_peer_burst(mr_peer *p, const mr_peer_work *w, double *ms)
{
	return p->ops->burst(p, w, ms) == MR_OK || drop(p);
}

void mr_peer_stop(mr_peer *p)
{
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

static mr_status python_ready(mr_peer *p)
{
	char setting[MR_N_BENCH_PRECISIONS][64] = {{0}}, line[512];
	const char *rest, *chosen;

	for (;;) {
		MR_TRY(hear(p, "ready", line, sizeof(line), &rest));
		if (rest)
			break;
		if (!strncmp(line, "trying ", 7))
			continue; /* a sign of life */
		if (strncmp(line, "setting ", 8) != 0)
			return unexpected(line, "ready");
		chosen = line + 8;
		take_setting(p, chosen, setting);
	}
	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
		snprintf(p->label[k], sizeof(p->label[k]), "%.60s%s", rest, setting[k]);
	return MR_OK;
}

static mr_status python_start(mr_peer *p, const mr_case *c, unsigned precisions, int threads)
{
	const char *source = getenv("MR_SOURCE"); /* ctest says where perf/ is */
	char script[4096], count[16], wanted[32] = "", room[32];
	const char *argv[] = {p->where, script, c->name, count, wanted, NULL};
	const char *const *env;
	double ms;

	snprintf(script, sizeof(script), "%s/perf/%s", source ? source : ".", p->ops->script);
	snprintf(count, sizeof(count), "%d", threads);
	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
		if (precisions & 1u << k) {
			strcat(wanted, *wanted ? "," : "");
			strcat(wanted, mr_bench_precision_name((mr_bench_precision)k));
		}
	env = mr_peer_env(threads, p->ops->preload ? MR_MKL_AMD : NULL, room);
	MR_TRY(mr_process_start(&p->process, &(mr_process_params){.argv = argv, .env = env}));
	MR_TRY(python_ready(p));
	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
		if (precisions & 1u << k && !c->long_steps) /* of those it has made some, to try its settings */
			MR_TRY(python_burst(p, &(mr_peer_work){(mr_bench_precision)k, c->burst, 0}, &ms));
	return MR_OK;
}

#define TORCH .start = python_start, .burst = python_burst, .script = "peer_torch.py"

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
	.start = python_start,
	.burst = python_burst,
	.script = "peer_jax.py",
	.missing = "MILLRACE_JAX names a Python that has jax",
};
