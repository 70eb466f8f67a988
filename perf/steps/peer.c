#include "perf/steps/peer.h"

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

bool mr_peer_start(mr_peer *p, const mr_case *c, int threads)
{
	*p->failed = 0;
	snprintf(p->label, sizeof(p->label), "%s", p->ops->name);
	return p->ops->start(p, c, threads) == MR_OK || drop(p);
}

bool mr_peer_burst(mr_peer *p, int steps, double *ms)
{
	return p->ops->burst(p, steps, ms) == MR_OK || drop(p);
}

void mr_peer_stop(mr_peer *p)
{
	mr_process_stop(&p->process);
	if (p->ops->clean)
		p->ops->clean();
}

const char *const *mr_peer_env(int threads, char room[32])
{
	static const char *env[8];

	snprintf(room, 32, "OMP_NUM_THREADS=%d", threads);
	env[0] = room;
	env[1] = "OMP_PROC_BIND=close";
	env[2] = "OMP_PLACES=cores";
	/* Without these glibc gives every large tensor back to the kernel, and each step faults its pages in anew. */
	env[3] = "MALLOC_MMAP_THRESHOLD_=4294967296";
	env[4] = "MALLOC_TRIM_THRESHOLD_=8589934592";
	env[5] = "MALLOC_TOP_PAD_=268435456";
	return env;
}

static bool torch_takes(const mr_case *c)
{
	(void)c;
	return true;
}

/* A line that begins with @word; *@rest is what follows it. */
static mr_status expect(mr_peer *p, const char *word, char *line, size_t size, const char **rest)
{
	size_t n = strlen(word);

	MR_TRY(mr_process_line(&p->process, p->patience_s, line, size));
	if (strncmp(line, word, n) != 0 || line[n] != ' ')
		return mr_fail(MR_EIO, "it said \"%.60s\" where \"%s ...\" was expected", line, word);
	*rest = line + n + 1;
	return MR_OK;
}

static mr_status torch_burst(mr_peer *p, int steps, double *ms)
{
	char line[256];
	const char *rest;

	snprintf(line, sizeof(line), "go %d", steps);
	MR_TRY(mr_process_say(&p->process, line));
	MR_TRY(expect(p, "ms", line, sizeof(line), &rest));
	*ms = strtod(rest, NULL);
	return *ms > 0 ? MR_OK : mr_fail(MR_EIO, "it said that a step takes \"%.60s\" ms", rest);
}

static mr_status torch_start(mr_peer *p, const mr_case *c, int threads)
{
	const char *source = getenv("MR_SOURCE"); /* ctest says where perf/ is */
	char script[4096], count[16], line[256], room[32];
	const char *argv[] = {p->where, script, c->name, count, NULL}, *rest;
	double ms;

	snprintf(script, sizeof(script), "%s/perf/peer_torch.py", source ? source : ".");
	snprintf(count, sizeof(count), "%d", threads);
	MR_TRY(mr_process_start(&p->process, &(mr_process_params){.argv = argv, .env = mr_peer_env(threads, room)}));
	MR_TRY(expect(p, "ready", line, sizeof(line), &rest));
	snprintf(p->label, sizeof(p->label), "%.63s", rest);
	return torch_burst(p, c->burst, &ms);
}

const mr_peer_ops mr_peer_torch = {
	.name = "PyTorch",
	.takes = torch_takes,
	.start = torch_start,
	.burst = torch_burst,
	.missing = "MILLRACE_PYTHON names a Python that has torch",
};
