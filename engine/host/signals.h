/*
 * signals.h - the signals by which a user steers a training.
 *
 * While it runs:
 *
 *	SIGINT, SIGTERM, SIGHUP, SIGXCPU   finish the step (an evaluation is broken off), save, end with 128 + n; a
 *	                                   second signal ends at once (one within 0.2 s of the first belongs to it);
 *	                                   SIGHUP only if it was not ignored at the start (nohup); a save that hangs
 *	                                   is waited for within the limit of host/watch.h alone
 *	SIGUSR1                            save at the next step and go on
 *	SIGUSR2                            print the status and go on
 *
 * Handlers only set flags; the training loop looks at them between steps. Threads of the engine have all signals
 * blocked.
 *
 * Before its first step, while data are read and memory is set up, there is nothing to finish: a signal to end ends the
 * process at once with 128 + n, and undoes what the start has made. SIGUSR1 and SIGUSR2 are remembered.
 */
#ifndef MR_HOST_SIGNALS_H
#define MR_HOST_SIGNALS_H

#include <stdbool.h>

/* Undoes what a start has made. @arg is mr_signals_start's. It runs in a signal handler, so it may only call functions
 * that signal-safety(7) lists. */
typedef void mr_signals_undo(const void *arg);

/** The set-up of a training begins: remember SIGUSR1, and before a signal ends the process call @undo (NULL: none). */
void mr_signals_start(mr_signals_undo *undo, const void *arg);

/** Block the signals that end the process until mr_signals_let. */
void mr_signals_hold(void);
void mr_signals_let(void);

/** The training runs: from now on signals only set flags. */
void mr_signals_catch(void);

/** The signal to end that has come, or 0. */
int mr_signals_end(void);

/** Has SIGUSR1 come since the last call? */
bool mr_signals_save(void);

/** Has SIGUSR2 come since the last call? */
bool mr_signals_status(void);

/** Has a signal to end or SIGUSR1 come? Forgets neither. */
bool mr_signals_pending(void);

#endif
