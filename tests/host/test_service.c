/* What a service manager hears, at sockets of both kinds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "host/service.h"

/* A socket at @name, where "@" begins an abstract one; the variable then names it. */
static int listen_at(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (name[0] == '/'));
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	memcpy(a.sun_path, name, strlen(name));
	if (name[0] == '@')
		a.sun_path[0] = 0;
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&a, len), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

/* The next message, or "" when there is none. */
static const char *heard(int fd)
{
	static char text[2048];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n < 0 ? 0 : n] = 0;
	return text;
}

static void test_both_kinds_of_sockets(void)
{
	char path[64], name[64];
	const char *names[] = {path, name};

	snprintf(path, sizeof(path), "/tmp/mr-service-%d", (int)getpid());
	snprintf(name, sizeof(name), "@mr-service-%d", (int)getpid());
	for (int i = 0; i < 2; i++) {
		int fd = listen_at(names[i]);

		mr_service_notify("READY=1\nSTATUS=step %d of %d", 3, 10);
		CU_ASSERT_STRING_EQUAL(heard(fd), "READY=1\nSTATUS=step 3 of 10");
		mr_service_notify("%01100d", 1); /* too long for a datagram of ours: not sent in part */
		CU_ASSERT_STRING_EQUAL(heard(fd), "");
		close(fd);
	}
	unlink(path);
}

static void test_nobody_listens(void)
{
	unsetenv("NOTIFY_SOCKET");
	mr_service_notify("READY=1");
	setenv("NOTIFY_SOCKET", "", 1);
	mr_service_notify("READY=1");
	setenv("NOTIFY_SOCKET", "relative", 1);
	mr_service_notify("READY=1");
	setenv("NOTIFY_SOCKET", "/tmp/mr-service-nobody-there", 1);
	mr_service_notify("READY=1");
	unsetenv("NOTIFY_SOCKET");
}

static void test_signs_of_life(void)
{
	char name[64], pid[32];
	int fd;

	snprintf(name, sizeof(name), "@mr-service-life-%d", (int)getpid());
	snprintf(pid, sizeof(pid), "%d", (int)getpid() + 1);
	fd = listen_at(name);
	unsetenv("WATCHDOG_USEC");
	mr_service_alive();
	CU_ASSERT_STRING_EQUAL(heard(fd), "");
	setenv("WATCHDOG_USEC", "400000000", 1);
	setenv("WATCHDOG_PID", pid, 1); /* another process is meant */
	mr_service_alive();
	CU_ASSERT_STRING_EQUAL(heard(fd), "");
	unsetenv("WATCHDOG_PID");
	mr_service_alive();
	CU_ASSERT_STRING_EQUAL(heard(fd), "WATCHDOG=1");
	mr_service_alive(); /* too early for another one */
	CU_ASSERT_STRING_EQUAL(heard(fd), "");
	setenv("WATCHDOG_USEC", "4000", 1);
	usleep(1100);
	mr_service_alive();
	CU_ASSERT_STRING_EQUAL(heard(fd), "WATCHDOG=1");
	unsetenv("WATCHDOG_USEC");
	unsetenv("NOTIFY_SOCKET");
	close(fd);
}

void mr_suite_service(void); /* the runner declares it too */

void mr_suite_service(void)
{
	MR_SUITE("service");
	MR_TEST(test_both_kinds_of_sockets);
	MR_TEST(test_nobody_listens);
	MR_TEST(test_signs_of_life);
}
