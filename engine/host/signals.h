/*
 * signals.h - what the user asks of a training by signals.
 *
 * While it runs:
 *
 *	SIGINT, SIGTERM, SIGHUP, SIGXCPU   finish the step (an evaluation is broken off), save, end with 128 + n; a
 *	                                   second one ends at once (what comes within 0.2 s of the first belongs to it);
 *	                                   SIGHUP only if it was not ignored at the start (nohup)
 *	SIGUSR1                            save at the next step and go on
 *
 * Handlers only set flags; the training loop looks at them between steps. Threads of the engine have all signals
 * blocked.
 *
 * Before its first step, while data are read and memory is set up, there is nothing to finish: what asks to end does so
 * at once with 128 + n, and what the start has made is undone. SIGUSR1 is remembered.
 */
#ifndef MR_HOST_SIGNALS_H
#define MR_HOST_SIGNALS_H

#include <stdbool.h>

/* What a start has made and a signal is to undo. @arg is mr_signals_start's. It is called in a handler, so only of what
 * signal-safety(7) lists. */
typedef void mr_signals_undo(const void *arg);

/** The training is being set up: remember SIGUSR1, and let what asks to end call @undo (NULL: nothing) first. */
void mr_signals_start(mr_signals_undo *undo, const void *arg);

/** From hold to let, no signal that asks to end comes in. */
void mr_signals_hold(void);
void mr_signals_let(void);

/** The training runs. */
void mr_signals_catch(void);

/** The signal that asked to end, or 0. */
int mr_signals_end(void);

/** No signal has asked to end. For callers that need a callback; @arg is not looked at. */
bool mr_signals_go_on(void *arg);

/** Did SIGUSR1 come since the last call? */
bool mr_signals_save(void);

/** Has either been asked for (without forgetting it)? */
bool mr_signals_pending(void);

#endif
