/*
 * test_watched_races.c - the thread sanitizer sees a race on what an operation of the reference kernels reads or
 * writes, though it does not look at their loops (nn/kernels/reference/reference_watched.inc).
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "nn/kernels.h"

#ifdef __SANITIZE_THREAD__
enum { SEEN = 66 }; /* its exit code */
#else
enum { SEEN = 0 };
#endif

static double a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 1, 1, 1, 1, 1}, c[4], d[4];

static void *writes(void *at)
{
	*(double *)at = 2;
	return NULL;
}

/* A process in which a thread writes *@at, and another computes c = a b + d; with @joined the one after the other. */
static int exit_code(double *at, bool joined)
{
	mr_gemm g = {.m = 2, .n = 2, .k = 3, .addend = d};
	const mr_kernels *k = mr_kernels_find("reference", MR_F64);
	pthread_t thread;
	mr_kctx *kc;
	int status = -1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			exit(1);
		if (k->ctx_create(k, 1, &kc) != MR_OK || pthread_create(&thread, NULL, writes, at) != 0)
			exit(1);
		if (joined)
			pthread_join(thread, NULL);
		if (k->gemm(kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .c = c}) != MR_OK)
			exit(1);
		if (!joined)
			pthread_join(thread, NULL);
		k->ctx_destroy(kc);
		exit(0);
	}
	CU_ASSERT_FATAL(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void each_operand_is_watched(void)
{
	double *const operand[] = {&a[5], &b[0], &b[5], &c[0], &c[3], &d[3]};

	for (size_t i = 0; i < sizeof(operand) / sizeof(operand[0]); i++) {
		CU_ASSERT_EQUAL(exit_code(operand[i], false), SEEN);
		CU_ASSERT_EQUAL(exit_code(operand[i], true), 0);
	}
}

void mr_suite_watched_races(void)
{
	MR_SUITE("watched_races");
	MR_TEST(each_operand_is_watched);
}
