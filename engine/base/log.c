#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 1000
#define UNREAD (-1)

static const char *const words[] = {[MR_LOG_WARN] = "warn", [MR_LOG_INFO] = "info", [MR_LOG_DEBUG] = "debug"};

/* The level named by the value of MR_LOG; UNREAD for an unknown name. */
static int level_called(const char *s)
{
	for (int i = 0; s && i < (int)(sizeof(words) / sizeof(words[0])); i++)
		if (!strcmp(s, words[i]))
			return i;
	return UNREAD;
}

static int level_from_environment(void)
{
	int level = level_called(getenv("MR_LOG"));

	return level == UNREAD ? MR_LOG_WARN : level;
}

void mr_log_warn_unknown(void)
{
	const char *s = getenv("MR_LOG");

	if (s && *s && level_called(s) == UNREAD)
		mr_log(MR_LOG_WARN, "log", "MR_LOG: expected warn, info or debug, got \"%.60s\"", s);
}

bool mr_log_wants(mr_log_level level)
{
	return (int)level <= level_from_environment();
}

void mr_log(mr_log_level level, const char *module, const char *fmt, ...)
{
	static const char *const prefix[] = {"warning: ", "", ""};
	char line[LINE_BYTES];
	int saved = errno;
	struct timespec now;
	struct tm tm;
	va_list ap;
	size_t n, end;

	if (!mr_log_wants(level))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	n = strftime(line, sizeof(line), "%H:%M:%S", &tm);
	n += (size_t)snprintf(line + n, sizeof(line) - n, ".%03d %.40s: %s", (int)(now.tv_nsec / 1000000), module,
			      prefix[level]);
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n, fmt, ap);
	va_end(ap);
	end = strlen(line);
	for (size_t i = n; i < end; i++)
		if (line[i] == '\n')
			line[i] = ' ';
	line[end] = '\n'; /* in the NUL's place */
	while (write(STDERR_FILENO, line, end + 1) < 0 && errno == EINTR)
		;
	errno = saved;
}
