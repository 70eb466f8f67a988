/*
 * Kill at every point of a save, and let every call of a save fail: what was announced before must load afterwards.
 *
 * The points are not listed here. A process of its own (this program, started again) saves once and writes down what it
 * passed. At every line of that list a forked child is then killed, and in this process every call is made to fail.
 * Needs a build with fault points; others have nothing to test.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "check.h"
#include "ckpt_help.h"

#ifdef MR_FAULTS

/* More than two blocks, so that a save is killed between the writes of one file. */
#define BALLAST (2 * MR_CRC_BLOCK + 1000)
#define MAX_POINTS 200

typedef struct point {
	char name[64];
	uint64_t times;
} point;

static point points[MAX_POINTS];
static size_t n_points;
static char order[256]; /* first letter of each call of the save, syncdir as 's', rmdir as 'd' */
static char dir[512];

/* The save under test: into a folder that holds checkpoints 1 (the best) and 2. With keep = 1 it deletes both. */
static mr_status save_three(bool again)
{
	return ckpt_help_save(dir, again ? 2 : 3, true, 1, BALLAST, NULL);
}

static void prepare(void)
{
	ckpt_help_folder(dir);
	MR_CHECK_OK(ckpt_help_save(dir, 1, true, 0, 0, NULL));
	MR_CHECK_OK(ckpt_help_save(dir, 2, false, 0, 0, NULL));
}

static void note(const char *line)
{
	static const char *const calls[] = {"mkdir", "open",   "allocate", "write", "fsync",
					    "syncdir", "rename", "unlink", "rmdir"};
	size_t n = strlen(order);

	for (int i = 0; i < 9; i++)
		if (!strncmp(line + strlen("checkpoint."), calls[i], strlen(calls[i])) && strstr(line, ".before") &&
		    n < 255)
			order[n++] = "moawfsrud"[i];
	order[n] = '\0';
	for (size_t i = 0; i < n_points; i++)
		if (!strcmp(points[i].name, line)) {
			points[i].times++;
			return;
		}
	CU_ASSERT_FATAL(n_points < MAX_POINTS);
	snprintf(points[n_points].name, sizeof(points[0].name), "%s", line);
	points[n_points++].times = 1;
}

static void enumerate(void)
{
	char list[600], line[64];
	pid_t child;
	int status;
	FILE *f;

	prepare();
	snprintf(list, sizeof(list), "%s/points", dir);
	child = fork();
	if (child == 0) {
		setenv("MR_KILL_LIST", list, 1);
		setenv("MR_TEST_CHECKPOINT_DIR", dir, 1);
		execl("/proc/self/exe", "test_run", "checkpoint_faults", (char *)NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	CU_ASSERT_FATAL(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	f = fopen(list, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	n_points = 0;
	order[0] = '\0';
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		note(line);
	}
	fclose(f);
	/* What a power cut needs: each file written and fsynced, then the folder, then renamed, then the folder above;
	 * BEST and LATEST likewise; only then two old checkpoints lose their names and are emptied. */
	CU_ASSERT_STRING_EQUAL(order, "mm" "owf" "owf" "oawwf" "owf" "s" "rs" "owfrs" "owfrs" "ruuud" "ruuud");
	CU_ASSERT_EQUAL(n_points, 18); /* nine kinds of calls, before and after */
	for (size_t i = 0; i < n_points; i++)
		if (!strcmp(points[i].name, "checkpoint.write.before"))
			CU_ASSERT_EQUAL(points[i].times, 7); /* whole pages and the rest, 3 small files, BEST, LATEST */
	ckpt_help_remove(dir);
}

/* Kill a child at the @n-th pass through @name; what did it leave? Returns the step that is then the latest. */
static int64_t kill_at(const char *name, uint64_t n, bool again)
{
	int64_t latest;
	pid_t child;
	int status;

	prepare();
	child = fork();
	if (child == 0) {
		mr_fault_set_kill(name, n);
		_exit(save_three(again) == MR_OK ? 0 : 1);
	}
	waitpid(child, &status, 0);
	CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	latest = ckpt_help_latest(dir);
	/* The next start: sweep, look again, go on. */
	mr_checkpoint_sweep(dir);
	CU_ASSERT_EQUAL(ckpt_help_count(dir, ".tmp-"), 0);
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), latest);
	MR_CHECK_OK(ckpt_help_save(dir, 4, false, 2, 0, NULL));
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 4);
	CU_ASSERT(ckpt_help_count(dir, "step-") <= 3);
	ckpt_help_remove(dir);
	return latest;
}

static void kill_everywhere(void)
{
	int old = 0, new = 0;

	CU_ASSERT_FATAL(n_points > 0);
	for (size_t i = 0; i < n_points; i++)
		for (uint64_t n = 1; n <= points[i].times; n++) {
			int64_t latest = kill_at(points[i].name, n, false);

			CU_ASSERT(latest == 2 || latest == 3);
			old += latest == 2;
			new += latest == 3;
		}
	CU_ASSERT(old > 30 && new > 10);
	fprintf(stderr, "[%d kills left the old checkpoint, %d the new] ", old, new);
}

static void kill_everywhere_over_the_same_step(void)
{
	for (size_t i = 0; i < n_points; i++)
		for (uint64_t n = 1; n <= points[i].times; n++)
			CU_ASSERT_EQUAL(kill_at(points[i].name, n, true), 2);
}

/* Let the @n-th call of @call fail with @err. */
static void fail_at(const char *call, uint64_t n, int err)
{
	bool deletes = !strcmp(call, "checkpoint.unlink") || !strcmp(call, "checkpoint.rmdir") ||
		       (!strcmp(call, "checkpoint.rename") && n > 3);
	int64_t latest;
	mr_status st;

	prepare();
	mr_fault_set_fail(call, n, err);
	st = save_three(false);
	mr_fault_set_fail(NULL, 0, 0);
	latest = ckpt_help_latest(dir);
	if (err == EINTR || deletes) {
		CU_ASSERT_EQUAL(st, MR_OK); /* repeated, or only a warning */
		CU_ASSERT_EQUAL(latest, 3);
	} else {
		CU_ASSERT_EQUAL(st, err == ENOSPC || err == EDQUOT ? MR_ERESOURCE : MR_EIO);
		CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), strerror(err)));
		CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), dir));
		CU_ASSERT(ckpt_help_exists(dir, "step-00000001") && ckpt_help_exists(dir, "step-00000002"));
		CU_ASSERT(latest == 2 || (latest == 3 && !strcmp(call, "checkpoint.syncdir")));
		CU_ASSERT_EQUAL(ckpt_help_count(dir, ".tmp-"), 0);
	}
	mr_checkpoint_sweep(dir);
	MR_CHECK_OK(ckpt_help_save(dir, 4, false, 1, 0, NULL));
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 4);
	CU_ASSERT_EQUAL(ckpt_help_count(dir, ".tmp-"), 0);
	ckpt_help_remove(dir);
}

static void fail_everywhere(void)
{
	static const int errors[] = {ENOSPC, EIO, EROFS, EDQUOT, EINTR};
	int tried = 0;

	CU_ASSERT_FATAL(n_points > 0);
	ckpt_help_quiet(true);
	for (size_t i = 0; i < n_points; i++) {
		char call[64], *suffix;

		snprintf(call, sizeof(call), "%.63s", points[i].name);
		suffix = strstr(call, ".before");
		if (!suffix)
			continue;
		*suffix = '\0';
		for (uint64_t n = 1; n <= points[i].times; n++)
			for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++, tried++)
				fail_at(call, n, errors[e]);
	}
	ckpt_help_quiet(false);
	CU_ASSERT(tried > 150);
}

/* Each of the first @times calls "@call" gives @error, and all three saves succeed. */
static void survives(const char *call, uint64_t times, int error)
{
	for (uint64_t n = 1; n <= times; n++) {
		prepare();
		mr_fault_set_fail(call, n, error);
		MR_CHECK_OK(save_three(false));
		mr_fault_set_fail(NULL, 0, 0);
		CU_ASSERT_EQUAL(ckpt_help_latest(dir), 3);
		ckpt_help_remove(dir);
	}
}

static void short_writes(void)
{
	survives("checkpoint.short", 8, EIO);
}

static void folders_that_cannot_be_synced(void)
{
	survives("checkpoint.syncdir", 4, EINVAL);
}

void mr_suite_checkpoint_faults(void);
void mr_suite_checkpoint_faults(void)
{
	MR_SUITE("checkpoint_faults");
	const char *given = getenv("MR_TEST_CHECKPOINT_DIR");

	if (given) { /* we are the process that enumerates */
		snprintf(dir, sizeof(dir), "%s", given);
		_exit(save_three(false) == MR_OK ? 0 : 1);
	}
	MR_TEST(enumerate);
	MR_TEST(kill_everywhere);
	MR_TEST(kill_everywhere_over_the_same_step);
	MR_TEST(fail_everywhere);
	MR_TEST(short_writes);
	MR_TEST(folders_that_cannot_be_synced);
}

#else

static void built_without_fault_points(void)
{
	CU_PASS("nothing to inject");
}

void mr_suite_checkpoint_faults(void);
void mr_suite_checkpoint_faults(void)
{
	MR_SUITE("checkpoint_faults");
	MR_TEST(built_without_fault_points);
}

#endif
