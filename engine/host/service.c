#include "host/service.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/clock.h"

/* A leading "@" stands for the zero byte of an abstract address, whose length counts exactly. */
static bool address_of(const char *name, struct sockaddr_un *a, socklen_t *len)
{
	size_t n = strlen(name);

	if ((name[0] != '/' && name[0] != '@') || n < 2 || n >= sizeof(a->sun_path))
		return false;
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(a->sun_path, name, n);
	if (name[0] == '@')
		a->sun_path[0] = 0;
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (name[0] == '/'));
	return true;
}

void mr_service_notify(const char *fmt, ...)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a;
	char text[1024];
	socklen_t len;
	va_list args;
	int fd, n;

	if (!name || !address_of(name, &a, &len))
		return;
	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (n > 0 && (size_t)n < sizeof(text))
		(void)!sendto(fd, text, (size_t)n, MSG_NOSIGNAL, (const struct sockaddr *)&a, len);
	close(fd);
}

/* Nanoseconds that the manager waits for a sign of life of this process; 0: it does not. */
static uint64_t patience_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && strtoll(pid, NULL, 10) != getpid()))
		return 0;
	return strtoull(usec, NULL, 10) * 1000;
}

void mr_service_alive(void)
{
	static _Atomic uint64_t sent_ns; /* relaxed: a sign too many or too few does no harm */
	uint64_t patience = patience_ns(), now, sent;

	if (!patience)
		return;
	now = mr_clock_ns();
	sent = atomic_load_explicit(&sent_ns, memory_order_relaxed);
	if (sent && (int64_t)(now - sent) < (int64_t)(patience / 4))
		return;
	atomic_store_explicit(&sent_ns, now, memory_order_relaxed);
	mr_service_notify("WATCHDOG=1");
}
