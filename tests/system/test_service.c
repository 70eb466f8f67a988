/* The program under a service manager: it says when it trains and how far it is, and SIGTERM saves. */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static const char config[] =
	"model = { name = \"mlp\"; hidden = [8]; };\n"
	"data = { name = \"synthetic\"; features = 4; classes = 2; samples = 100; };\n"
	"optimizer = { name = \"adamw\"; lr = 0.001; }; system = { name = \"1f1b\"; };\n"
	"train = { steps = 1000000000; batch = 4; };\n"
	"machine = { workers = 2; threads = 1; peak_gflops = 1.0; };\n"
	"backend = \"reference\";\n";

static char dir[64], socket_path[100];

static int open_receiver(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", socket_path);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static pid_t start_program(int slow_ms)
{
	pid_t pid = fork();
	char program[4096];

	if (pid)
		return pid;
	snprintf(program, sizeof(program), "%s/millrace", getenv("MR_BUILD") ? getenv("MR_BUILD") : ".");
	setenv("NOTIFY_SOCKET", socket_path, 1);
	setenv("WATCHDOG_USEC", slow_ms ? "2000000" : "800000", 1);
	if (slow_ms) {
		snprintf(program, sizeof(program), "checkpoint.rename.before:%d", slow_ms);
		setenv("MR_SLOW", program, 1);
		snprintf(program, sizeof(program), "%s/millrace", getenv("MR_BUILD") ? getenv("MR_BUILD") : ".");
	}
	if (chdir(dir) || !freopen("out", "w", stdout))
		_exit(99);
	execl(program, program, "train", "job.cfg", "--continue", slow_ms ? "--set" : NULL, "checkpoint.every=5",
	      (char *)NULL);
	_exit(98);
}

/* Read messages until one has @text; false after 60 s without any. *@n counts the others that have "WATCHDOG=1". */
static bool wait_for(int fd, const char *text, int *n)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char message[2048];

	while (poll(&p, 1, 60000) > 0) {
		ssize_t len = recv(fd, message, sizeof(message) - 1, 0);

		message[len < 0 ? 0 : len] = 0;
		if (strstr(message, text))
			return true;
		*n += strstr(message, "WATCHDOG=1") != NULL;
	}
	return false;
}

/* What one life has sent is not taken for the next one's. */
static void forget_messages(int fd)
{
	char message[2048];

	while (recv(fd, message, sizeof(message), MSG_DONTWAIT) >= 0)
		;
}

/* One life of the service: it gets ready, shows signs of life, and ends by SIGTERM. A start that reads a file while the
 * watch looks shows one earlier, which a manager that does not wait for READY=1 needs. */
static void live(int fd, const char *first)
{
	pid_t pid = start_program(0);
	int status = 0, alive = 0;

	CU_ASSERT_TRUE_FATAL(wait_for(fd, first, &alive));
	CU_ASSERT_TRUE(wait_for(fd, "STATUS=step ", &alive));
	CU_ASSERT_TRUE(wait_for(fd, "WATCHDOG=1", &alive));
	CU_ASSERT_TRUE(wait_for(fd, "WATCHDOG=1", &alive));
	kill(pid, SIGTERM);
	CU_ASSERT_TRUE(wait_for(fd, "STOPPING=1", &alive));
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_TRUE(WIFEXITED(status));
	CU_ASSERT_EQUAL(WEXITSTATUS(status), 128 + SIGTERM);
	forget_messages(fd);
}

#ifdef MR_FAULTS
/* While the training waits for a save that does not end there are signs of life, too: the first save is that of step 5,
 * the next one is due at once and waits for it. Signs come twice a second, so most of these are sent meanwhile. */
static void live_slowly(int fd)
{
	pid_t pid = start_program(600000);
	int status = 0, alive = 0;

	CU_ASSERT_TRUE_FATAL(wait_for(fd, "READY=1", &alive));
	for (int n = 0; n < 20; n++)
		CU_ASSERT_TRUE_FATAL(wait_for(fd, "WATCHDOG=1", &alive));
	kill(pid, SIGKILL);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
}
#endif

static void test_train_as_a_service(void)
{
	char path[128], command[128];
	FILE *f;
	int fd;

	snprintf(dir, sizeof(dir), "/tmp/mr-service-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/job.cfg", dir);
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(config, f);
	fclose(f);
	snprintf(socket_path, sizeof(socket_path), "%s/notify", dir);
	fd = open_receiver();
	live(fd, "READY=1\nSTATUS=training from step 0 ");
	snprintf(path, sizeof(path), "%s/runs/job/checkpoints/LATEST", dir);
	CU_ASSERT_EQUAL(access(path, R_OK), 0);
	/* the same command line goes on from what was saved */
	{
		char text[64] = "";

		f = fopen(path, "r");
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(fscanf(f, "%63s", text), 1);
		fclose(f);
		snprintf(path, sizeof(path), "STATUS=training from step %lld ",
			 strtoll(strrchr(text, '-') ? strrchr(text, '-') + 1 : "", NULL, 10));
		live(fd, path);
	}
#ifdef MR_FAULTS
	live_slowly(fd);
#endif
	close(fd);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CU_ASSERT_EQUAL(system(command), 0);
}

void mr_suite_service(void); /* the runner declares it too */

void mr_suite_service(void)
{
	MR_SUITE("service");
	MR_TEST(test_train_as_a_service);
}
