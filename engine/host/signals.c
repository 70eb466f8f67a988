#include "host/signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "host/clock.h"

/* A signal this soon after the first one belongs to it: timeout(1) signals the process and then its group, systemd and
 * ending shells send SIGTERM and SIGHUP, or SIGHUP twice. A user's second Ctrl-C takes longer. */
#define BURST_NS (200 * UINT64_C(1000000))

/* Lock-free atomics are safe in handlers, and each of these is one word. */
static _Atomic int end_by;
static _Atomic int save_wanted;
static _Atomic int status_wanted;

/* No handler interrupts another one (sa_mask), and the main thread is the only one that has them. */
static void on_end(int sig)
{
	static uint64_t first_ns;
	uint64_t now = mr_clock_ns();

	if (!atomic_load_explicit(&end_by, memory_order_relaxed)) {
		first_ns = now;
		atomic_store_explicit(&end_by, sig, memory_order_relaxed);
	} else if (now - first_ns > BURST_NS) {
		_exit(128 + sig); /* the second signal: checkpoints are whole at every instant */
	}
}

/* Set while the signals are held. */
static mr_signals_undo *undo;
static const void *undo_arg;

static void on_end_of_start(int sig)
{
	if (undo)
		undo(undo_arg);
	_exit(128 + sig);
}

static void on_save(int sig)
{
	(void)sig;
	atomic_store_explicit(&save_wanted, 1, memory_order_relaxed);
}

static void on_status(int sig)
{
	(void)sig;
	atomic_store_explicit(&status_wanted, 1, memory_order_relaxed);
}

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};

static sigset_t set_of_ends(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&set, ends[i]);
	return set;
}

static void install(void (*end)(int))
{
	struct sigaction a = {.sa_handler = end, .sa_mask = set_of_ends(), .sa_flags = SA_RESTART};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct sigaction was;

		/* nohup: if the caller ignores SIGHUP, the run must outlive the terminal. (Shells ignore SIGINT for
		 * background jobs; that has no such meaning.) */
		if (ends[i] == SIGHUP && !sigaction(SIGHUP, NULL, &was) && was.sa_handler == SIG_IGN)
			continue;
		sigaction(ends[i], &a, NULL);
	}
	a.sa_handler = on_save;
	sigaction(SIGUSR1, &a, NULL);
	a.sa_handler = on_status;
	sigaction(SIGUSR2, &a, NULL);
}

static sigset_t mask_before_hold;

void mr_signals_hold(void)
{
	sigset_t set = set_of_ends();

	pthread_sigmask(SIG_BLOCK, &set, &mask_before_hold);
}

void mr_signals_let(void)
{
	pthread_sigmask(SIG_SETMASK, &mask_before_hold, NULL);
}

void mr_signals_start(mr_signals_undo *how, const void *arg)
{
	undo = how;
	undo_arg = arg;
	install(on_end_of_start);
}

void mr_signals_catch(void)
{
	install(on_end);
}

int mr_signals_end(void)
{
	return atomic_load_explicit(&end_by, memory_order_relaxed);
}

bool mr_signals_save(void)
{
	return atomic_exchange_explicit(&save_wanted, 0, memory_order_relaxed);
}

bool mr_signals_status(void)
{
	return atomic_exchange_explicit(&status_wanted, 0, memory_order_relaxed);
}

bool mr_signals_pending(void)
{
	return mr_signals_end() || atomic_load_explicit(&save_wanted, memory_order_relaxed);
}
