#include "ranks/mpirun.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "host/launch_file.h"

#define WAIT_NS 100000000 /* between two looks at the launcher */
#define KILL_AFTER 5       /* looks after rank 0 has ended with a failure, or was killed */
#define MISSED 19          /* looks at a stopped rank 0 behind which the other ranks miss it */
#define KILL_STOPPED 30

/* The words of a command that is being made. */
typedef struct words {
	char **at; /* [n + 1], NULL at the end; all owned */
	size_t n;
	bool failed;
} words;

static void add(words *w, const char *text)
{
	char **grown = realloc(w->at, (w->n + 2) * sizeof(*grown)), *own = strdup(text);

	w->at = grown ? grown : w->at;
	if (!grown || !own) {
		w->failed = true;
		free(own);
		return;
	}
	w->at[w->n++] = own;
	w->at[w->n] = NULL;
}

static void fini(words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->at[i]);
	free(w->at);
}

/* What "--version" of @mpirun says: is it Open MPI's? Errors: MR_EIO it cannot be started. */
static mr_status ask_version(const char *mpirun, bool *open)
{
	char command[512], line[256] = "";
	FILE *f;
	int code;

	snprintf(command, sizeof(command), "'%s' --version 2>/dev/null", mpirun);
	f = popen(command, "r");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = 0;
	code = f ? pclose(f) : -1;
	if (code || !*line)
		return mr_fail(MR_EIO, "%s: it cannot be started, or says no version: install an MPI (Debian: "
				       "openmpi-bin or mpich), or name its mpirun by --mpirun", mpirun);
	*open = strstr(line, "Open MPI") || strstr(line, "OpenRTE") || strstr(line, "PRTE");
	return MR_OK;
}

/* millrace-mpi, which lies beside this program. */
static mr_status find_program(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 16);
	char *end;

	if (n <= 0)
		return mr_fail(MR_EIO, "/proc/self/exe cannot be read");
	path[n] = 0;
	end = strrchr(path, '/');
	snprintf(end ? end + 1 : path, 16, "millrace-mpi");
	if (access(path, X_OK))
		return mr_fail(MR_EIO, "%s: it is not there: this build has no MPI (README.md, Build)", path);
	return MR_OK;
}

static uint32_t count_hosts(const char *hosts)
{
	uint32_t n = 0;

	for (const char *at = hosts; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
		n++;
	return n;
}

/* "a:2,b:2" of "a,b" and 2: @sign and @end are ":" and ",". */
static void print_slots(const char *hosts, int64_t each, const char *sign, const char *end, mr_strbuf *out)
{
	while (*hosts) {
		size_t n = strcspn(hosts, ",");

		mr_strbuf_printf(out, "%.*s%s%lld%s", (int)n, hosts, sign, (long long)each, hosts[n] ? end : "");
		hosts += n + (hosts[n] == ',');
	}
}

/* The words of @text, which blanks separate. */
static void add_all(words *w, const char *text)
{
	char word[512];

	for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		snprintf(word, sizeof(word), "%.*s", (int)n, at);
		add(w, word);
		at += n;
	}
}

/* @slots goes to the file @path. Open MPI 5 finds too few where --host has this host's address. */
static mr_status write_slots(const char *path, const mr_strbuf *slots)
{
	FILE *f = fopen(path, "w");
	bool done = f && fprintf(f, "%s\n", mr_strbuf_text(slots)) > 0;

	if (f && fclose(f))
		done = false;
	return done ? MR_OK : mr_fail(MR_EIO, "%s: the hosts cannot be written", path);
}

/* @path: a file for the hosts. */
static mr_status add_launcher(const mr_mpirun *m, const char *path, words *w)
{
	mr_strbuf slots = {0};
	mr_status st;
	char n[24];
	bool open;

	MR_TRY(ask_version(m->mpirun, &open));
	if (open && strchr(m->hosts, '.')) { /* else ssh would get the first part of a name; 4 and 5 */
		setenv("OMPI_MCA_orte_keep_fqdn_hostnames", "1", 0);
		setenv("PRTE_MCA_prte_keep_fqdn_hostnames", "1", 0);
	}
	print_slots(m->hosts, m->each, open ? " slots=" : ":", open ? "\n" : ",", &slots);
	snprintf(n, sizeof(n), "%lld", (long long)m->each * count_hosts(m->hosts));
	st = open ? write_slots(path, &slots) : MR_OK;
	add(w, m->mpirun);
	add(w, open ? "--hostfile" : "-hosts");
	add(w, open ? path : mr_strbuf_text(&slots));
	if (*m->agent && open) {
		add(w, "--mca");
		add(w, "plm_rsh_agent");
		add(w, m->agent);
	} else if (*m->agent) {
		add(w, "-launcher"); /* as ssh it would get options */
		add(w, "rsh");
		add(w, "-launcher-exec");
		add(w, m->agent);
	}
	if (open) { /* MPICH's takes all variables along */
		add(w, "-x");
		add(w, MR_LAUNCH_TOKEN);
	}
	add_all(w, m->options);
	add(w, "-n");
	add(w, n);
	w->failed |= slots.failed;
	mr_strbuf_fini(&slots);
	return st;
}

static mr_status make_words(const mr_mpirun *m, bool again, const char *path, words *w)
{
	char program[4096];
	bool continues = false;

	MR_TRY(find_program(program, sizeof(program)));
	MR_TRY(add_launcher(m, path, w));
	add(w, program);
	for (uint32_t i = 0; i < m->n_words; i++) {
		add(w, m->word[i]);
		continues |= !strcmp(m->word[i], "--continue");
	}
	if (again && !continues)
		add(w, "--continue");
	return w->failed ? mr_fail(MR_ERESOURCE, "no memory for a command") : MR_OK;
}

/* What is known of a launch. */
typedef struct watch {
	mr_launch_state last;
	int ended, stopped; /* looks since rank 0 has ended with a failure; since it was stopped */
} watch;

/*
 * A launcher may wait for ever for a host that does not answer any more, and for seconds for a rank 0 that is stopped:
 * the other ranks have ended for that, and the launcher lets it go on, to end it gently. Both are killed then.
 */
static void look(watch *w, const char *path, pid_t launcher)
{
	w->last = mr_launch_look(path);
	w->stopped = w->last.stopped || w->stopped >= MISSED ? w->stopped + 1 : 0;
	if (w->stopped == KILL_STOPPED)
		mr_launch_kill(w->last.process);
	if (w->stopped == KILL_STOPPED + KILL_AFTER || (w->last.code > 0 && ++w->ended == KILL_AFTER))
		kill(launcher, SIGKILL);
}

/* Wait for the launcher @pid; the training's exit code. */
static int wait_for(pid_t pid, const char *path)
{
	watch w = {.last.code = -1};
	int how;

	while (waitpid(pid, &how, WNOHANG) == 0) {
		nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
		look(&w, path, pid);
	}
	w.last = mr_launch_look(path);
	if (w.last.code >= 0)
		return w.last.code;
	if (w.stopped >= KILL_STOPPED)
		return mr_status_exit_code(MR_ESTALLED);
	return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

/* A new empty file at @path, whose end becomes its own. */
static mr_status make_file(char *path)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return mr_fail(MR_EIO, "%s: a file for what is launched cannot be made", path);
	close(fd);
	return MR_OK;
}

/* A new token for each launch, so that what an earlier one has left does not take part in this one. */
static mr_status make_token(void)
{
	uint64_t random[2];
	char token[33];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return mr_fail(MR_EIO, "no random bits for a token");
	snprintf(token, sizeof(token), "%016llx%016llx", (unsigned long long)random[0], (unsigned long long)random[1]);
	setenv(MR_LAUNCH_TOKEN, token, 1);
	return MR_OK;
}

mr_status mr_mpirun_run(const mr_mpirun *m, bool again, int *code)
{
	char path[] = "/tmp/millrace-launch-XXXXXX", hosts[] = "/tmp/millrace-hosts-XXXXXX";
	words w = {0};
	mr_status st;
	pid_t pid;

	MR_TRY(make_token());
	MR_TRY(make_file(path));
	setenv(MR_LAUNCH_FILE, path, 1);
	st = make_file(hosts);
	if (st == MR_OK)
		st = make_words(m, again, hosts, &w);
	*code = -1;
	if (st == MR_OK) {
		pid = fork();
		if (pid == 0) {
			execvp(w.at[0], w.at);
			_exit(127);
		}
		if (pid < 0)
			st = mr_fail(MR_EIO, "%s cannot be started", w.at[0]);
		else
			*code = wait_for(pid, path);
	}
	unlink(path);
	unlink(hosts);
	fini(&w);
	return st;
}
