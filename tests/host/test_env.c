/* The second start of the program, in children: /usr/bin/env takes the program's place and prints its environment. */
#include "host/env.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void tell(void *ctx, const char *line)
{
	dprintf(*(int *)ctx, "SAID %s\n", line);
}

/* Set @variables ("A=1;B=2") in a child, prepare it, and return what it and its second start print. */
static void in_child(const char *variables, bool shared, const char *exe, char *text, size_t size)
{
	int channel[2], status = 0;
	size_t used = 0;
	ssize_t n;
	pid_t child;

	CU_ASSERT_EQUAL_FATAL(pipe(channel), 0);
	fflush(NULL);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		char name[] = "env", copy[256], *rest = copy;
		char *const argv[] = {name, NULL};
		mr_env_params p = {.argv = argv, .exe = exe, .shared = shared, .say = tell, .ctx = &channel[1]};

		clearenv();
		snprintf(copy, sizeof(copy), "%s", variables);
		for (char *one; (one = strsep(&rest, ";")) != NULL;)
			if (*one)
				putenv(one);
		dup2(channel[1], STDOUT_FILENO);
		if (mr_env_prepare(&p) != MR_OK)
			dprintf(channel[1], "FAILED %s\n", mr_error_text());
		dprintf(channel[1], "RETURNED guard=%s bind=%s\n", getenv("MILLRACE_RESTARTED") ? "set" : "unset",
			getenv("OMP_PROC_BIND") ? "set" : "unset");
		_exit(0);
	}
	close(channel[1]);
	while (used + 1 < size && (n = read(channel[0], text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	close(channel[0]);
	waitpid(child, &status, 0);
	CU_ASSERT_EQUAL(status, 0);
}

static bool has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fprintf(stderr, "\nno \"%s\" in:\n%s", part, text);
	return strstr(text, part) != NULL;
}

static void test_clean_environment(void)
{
	char text[2048];

	in_child("HOME=/x;OMP_CANCELLATION=false", false, "/usr/bin/env", text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "RETURNED guard=unset bind=unset\n");
}

static void test_harmful_variables_go(void)
{
	char text[2048];

	in_child("HOME=/x;OMP_PROC_BIND=close;OMP_PLACES=cores;GOMP_SPINCOUNT=5;OMP_NUM_THREADS=3", false,
		 "/usr/bin/env", text, sizeof(text));
	CU_ASSERT_TRUE(has(text, "SAID environment: starting again, cleared OMP_PROC_BIND=close"));
	CU_ASSERT_TRUE(has(text, "\nHOME=/x\n"));
	CU_ASSERT_TRUE(has(text, "\nMILLRACE_RESTARTED=cleared OMP_PROC_BIND=close, cleared OMP_PLACES=cores, "
				 "cleared GOMP_SPINCOUNT=5, cleared OMP_NUM_THREADS=3\n"));
	CU_ASSERT_PTR_NULL(strstr(text, "\nOMP_"));
	CU_ASSERT_PTR_NULL(strstr(text, "\nGOMP_"));
	CU_ASSERT_PTR_NULL(strstr(text, "RETURNED"));
}

static void test_shared_cores_spin_shortly(void)
{
	char text[2048];

	in_child("HOME=/x", true, "/usr/bin/env", text, sizeof(text));
	CU_ASSERT_TRUE(has(text, "\n" MR_ENV_SPIN "=" MR_ENV_SHARED_SPIN "\n"));
	in_child(MR_ENV_SPIN "=" MR_ENV_SHARED_SPIN, true, "/usr/bin/env", text, sizeof(text));
	CU_ASSERT_TRUE(has(text, "RETURNED"));
	CU_ASSERT_PTR_NULL(strstr(text, "SAID"));
}

/* The second start never starts a third, even if a variable came back; it tells the story and removes it. */
static void test_once_only(void)
{
	char text[2048];

	in_child("MILLRACE_RESTARTED=cleared OMP_PLACES=x;OMP_PROC_BIND=true", false, "/usr/bin/env", text,
		 sizeof(text));
	CU_ASSERT_TRUE(has(text, "SAID environment: started again with cleared OMP_PLACES=x\n"));
	CU_ASSERT_TRUE(has(text, "RETURNED guard=unset bind=set\n"));
}

static void test_exec_fails(void)
{
	char text[2048];

	in_child("OMP_PROC_BIND=true", false, "/nonexistent/program", text, sizeof(text));
	CU_ASSERT_TRUE(has(text, "FAILED cannot start /nonexistent/program again (No such file"));
	CU_ASSERT_TRUE(has(text, "RETURNED guard=unset"));
}

void mr_suite_env(void); /* the runner declares it too */

void mr_suite_env(void)
{
	MR_SUITE("env");
	MR_TEST(test_clean_environment);
	MR_TEST(test_harmful_variables_go);
	MR_TEST(test_shared_cores_spin_shortly);
	MR_TEST(test_once_only);
	MR_TEST(test_exec_fails);
}
