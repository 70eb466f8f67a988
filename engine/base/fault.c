#include "base/fault.h"

#ifdef MR_FAULTS

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"

#define NAME_BYTES 64
#define SPIN_NS 20000 /* a sleep costs the scheduler's slack of about 50 us, so short waits spin */

struct trap {
	char name[NAME_BYTES]; /* "" = not set */
	uint64_t nth;
	int what; /* errno, or signal */
	_Atomic uint64_t passed; /* relaxed: a counter that guards nothing */
};

/* Written once from the environment or by a setter while no other thread is in here, then only read. */
static struct trap kill_trap, signal_trap, fail_trap;
static struct {
	uint32_t max_us, one_in;
	uint64_t seed;
} delay;
static struct {
	char name[NAME_BYTES]; /* "" = not set */
	uint32_t ms;
} slow;
static struct {
	char name[NAME_BYTES]; /* "" = not set */
	uint32_t us;
} late;
static uint32_t hurry = 1, block;
static int list_fd = -1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static _Noreturn void refuse(const char *variable, const char *value, const char *expected)
{
	fprintf(stderr, "%s: expected %s, got \"%s\"\n", variable, expected, value);
	exit(2);
}

/* Errors that a disk or a memory limit can cause, and signals that a user sends. */
static int number_of(const char *s)
{
	static const struct {
		const char *name;
		int number;
	} known[] = {
		{"ENOSPC", ENOSPC}, {"EIO", EIO},	{"EACCES", EACCES}, {"EROFS", EROFS},
		{"EDQUOT", EDQUOT}, {"ENOMEM", ENOMEM}, {"EINTR", EINTR},
		{"ENOENT", ENOENT}, {"EMFILE", EMFILE}, {"EFBIG", EFBIG},
		{"INT", SIGINT},    {"TERM", SIGTERM},	{"HUP", SIGHUP},    {"USR1", SIGUSR1},
		{"USR2", SIGUSR2},
	};
	char *end;
	long n = strtol(s, &end, 10);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(s, known[i].name))
			return known[i].number;
	return end != s && !*end && n > 0 && n < 4096 ? (int)n : 0;
}

/* "name:n" or "name:n:WHAT" */
static void read_trap(const char *variable, bool with_what, const char *expected, struct trap *t)
{
	const char *s = getenv(variable);
	char name[NAME_BYTES], what[16] = "";
	uint64_t nth;
	int n_fields, used = 0;

	if (!s)
		return;
	n_fields = sscanf(s, "%63[^:]:%" SCNu64 "%n:%15s%n", name, &nth, &used, what, &used);
	if (n_fields != 2 + with_what || s[used] || !nth || (with_what && !number_of(what)))
		refuse(variable, s, expected);
	memcpy(t->name, name, NAME_BYTES);
	t->nth = nth;
	t->what = with_what ? number_of(what) : 0;
}

static void read_slow(void)
{
	const char *s = getenv("MR_SLOW");
	int used = 0;

	if (s && (sscanf(s, "%63[^:]:%" SCNu32 "%n", slow.name, &slow.ms, &used) != 2 || s[used]))
		refuse("MR_SLOW", s, "name:ms");
}

static void read_late(void)
{
	const char *s = getenv("MR_LATE");
	int used = 0;

	if (s && (sscanf(s, "%63[^:]:%" SCNu32 "%n", late.name, &late.us, &used) != 2 || s[used]))
		refuse("MR_LATE", s, "name:us");
}

static void read_number(const char *variable, uint32_t *n)
{
	const char *s = getenv(variable);
	int used = 0;

	if (s && (sscanf(s, "%" SCNu32 "%n", n, &used) != 1 || s[used] || !*n))
		refuse(variable, s, "n >= 1");
}

static void read_environment(void)
{
	const char *list = getenv("MR_KILL_LIST"), *s = getenv("MR_DELAY");
	int n_fields, used = 0;

	read_slow();
	read_late();
	read_number("MR_HURRY", &hurry);
	read_number("MR_BLOCK", &block);
	read_trap("MR_KILL_AT", false, "name:n with n >= 1", &kill_trap);
	read_trap("MR_SIGNAL_AT", true, "name:n:SIGNAL with n >= 1", &signal_trap);
	read_trap("MR_FAIL_AT", true, "name:n:ERRNO with n >= 1", &fail_trap);
	if (list) {
		list_fd = open(list, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		if (list_fd < 0)
			refuse("MR_KILL_LIST", list, "a file that can be written");
	}
	if (!s)
		return;
	n_fields = sscanf(s, "%" SCNu32 ":%" SCNu32 ":%" SCNu64 "%n", &delay.max_us, &delay.one_in, &delay.seed, &used);
	if (n_fields != 3 || s[used])
		refuse("MR_DELAY", s, "max_us:one_in:seed");
}

static bool springs(struct trap *t, const char *name)
{
	if (!t->name[0] || strcmp(t->name, name) != 0)
		return false;
	return atomic_fetch_add_explicit(&t->passed, 1, memory_order_relaxed) + 1 == t->nth;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}

void mr_fault_slow(const char *name)
{
	pthread_once(&once, read_environment);
	if (slow.name[0] && !strcmp(slow.name, name))
		sleep_ns((uint64_t)slow.ms * 1000000u);
}

uint64_t mr_fault_late_ns(const char *name)
{
	pthread_once(&once, read_environment);
	return strcmp(late.name, name) ? 0 : late.us * UINT64_C(1000);
}

uint64_t mr_fault_hurry(uint64_t n)
{
	pthread_once(&once, read_environment);
	return n / hurry;
}

uint64_t mr_fault_block(uint64_t n)
{
	pthread_once(&once, read_environment);
	return block ? block : n;
}

void mr_fault_point(const char *name)
{
	char line[NAME_BYTES + 1];

	pthread_once(&once, read_environment);
	if (list_fd >= 0) {
		int n = snprintf(line, sizeof(line), "%.*s\n", NAME_BYTES - 1, name);

		if (write(list_fd, line, (size_t)n) != n)
			refuse("MR_KILL_LIST", getenv("MR_KILL_LIST"), "a file that can be written");
	}
	mr_fault_slow(name);
	if (springs(&kill_trap, name)) {
		kill(getpid(), SIGKILL);
		for (;;) /* the signal is on its way; nothing after this point may happen */
			pause();
	}
	if (springs(&signal_trap, name))
		raise(signal_trap.what); /* whose handler has run when this returns */
}

bool mr_fault_io(const char *name, int *err)
{
	pthread_once(&once, read_environment);
	if (!springs(&fail_trap, name))
		return false;
	*err = errno = fail_trap.what;
	return true;
}

uint64_t mr_fault_delay_ns(uint32_t worker, uint64_t n)
{
	uint64_t us; /* in parts of 2^32: nanoseconds of them are beyond 64 bits from 4.3 s on */
	uint32_t w[4];

	pthread_once(&once, read_environment);
	if (!delay.one_in)
		return 0;
	mr_rng_block(delay.seed, MR_RNG_DELAY, n, worker, 0, w);
	if (w[0] % delay.one_in)
		return 0;
	us = (uint64_t)w[1] * delay.max_us;
	return (us >> 32) * 1000 + ((us & UINT32_MAX) * 1000 >> 32);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void mr_fault_delay(uint32_t worker, uint64_t n)
{
	uint64_t ns = mr_fault_delay_ns(worker, n), start;

	if (!ns)
		return;
	if (ns > SPIN_NS) {
		sleep_ns(ns);
		return;
	}
	start = now_ns();
	while (now_ns() - start < ns)
		;
}

void mr_fault_set_delay(uint32_t max_us, uint32_t one_in, uint64_t seed)
{
	pthread_once(&once, read_environment);
	delay.max_us = max_us;
	delay.one_in = one_in;
	delay.seed = seed;
}

static void set_trap(struct trap *t, const char *name, uint64_t nth, int what)
{
	pthread_once(&once, read_environment);
	snprintf(t->name, NAME_BYTES, "%s", name ? name : "");
	t->nth = nth;
	t->what = what;
	atomic_store_explicit(&t->passed, 0, memory_order_relaxed);
}

void mr_fault_set_kill(const char *name, uint64_t nth)
{
	set_trap(&kill_trap, name, nth, 0);
}

void mr_fault_set_fail(const char *name, uint64_t nth, int err)
{
	set_trap(&fail_trap, name, nth, err);
}

#else

/* An empty file is not C. */
typedef int mr_fault_points_are_off;

#endif
