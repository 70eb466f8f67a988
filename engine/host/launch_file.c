#include "host/launch_file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* On another host than that of `launch` it is not there, and stays so. All numbers are as long. */
static void put(long number)
{
	const char *path = getenv(MR_LAUNCH_FILE);
	FILE *f = path ? fopen(path, "r+e") : NULL;

	if (!f)
		return;
	fprintf(f, "%-20ld\n", number);
	fclose(f);
}

void mr_launch_begin(void)
{
	put(-(long)getpid());
}

void mr_launch_end(int code)
{
	put(code);
}

/* Of a process: "1234 (name) T ..." in its stat, where the name may have anything. */
static bool is_stopped(pid_t process)
{
	char path[64], text[256] = "", *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)process);
	f = fopen(path, "re");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	end = strrchr(text, ')');
	return end && !strncmp(end, ") T", 3);
}

mr_launch_state mr_launch_look(const char *path)
{
	mr_launch_state out = {.code = -1};
	FILE *f = fopen(path, "re");
	long number;

	if (!f)
		return out;
	if (fscanf(f, "%ld", &number) == 1) {
		out.code = number < 0 ? -1 : (int)number;
		out.process = number < 0 ? (pid_t)-number : 0;
	}
	fclose(f);
	out.stopped = out.process && is_stopped(out.process);
	return out;
}

/* Does the environment that @f shows have @token? Its variables end in a byte 0. */
static bool has_token(FILE *f, const char *token)
{
	size_t n = strlen(MR_LAUNCH_TOKEN), room = 0;
	char *line = NULL;
	bool found = false;

	while (!found && getdelim(&line, &room, 0, f) > 0)
		found = !strncmp(line, MR_LAUNCH_TOKEN, n) && line[n] == '=' && !strcmp(line + n + 1, token);
	free(line);
	return found;
}

void mr_launch_kill(pid_t process)
{
	const char *token = getenv(MR_LAUNCH_TOKEN);
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/environ", (long)process);
	f = token ? fopen(path, "re") : NULL;
	if (f && has_token(f, token))
		kill(process, SIGKILL);
	if (f)
		fclose(f);
}
