/*
 * signals.h - what the user asks of a running training by signals.
 *
 *	SIGINT, SIGTERM, SIGHUP, SIGXCPU   finish the step (an evaluation is broken off), save, end with 128 + n; a second
 *	                                   one ends at once (what comes within 0.2 s of the first belongs to it); SIGHUP only
 *	                                   if it was not ignored at the start (nohup)
 *	SIGUSR1                            save at the next step and go on
 *
 * Handlers only set flags; the training loop looks at them between steps. Threads of the engine have all signals blocked.
 */
#ifndef MR_CLI_SIGNALS_H
#define MR_CLI_SIGNALS_H

#include <stdbool.h>

/** Install the handlers. */
void mr_signals_catch(void);

/** The signal that asked to end, or 0. */
int mr_signals_end(void);

/** No signal has asked to end. For those who ask with a callback; @arg is not looked at. */
bool mr_signals_go_on(void *arg);

/** Did SIGUSR1 come since the last call? */
bool mr_signals_save(void);

/** Has either been asked for (without forgetting it)? */
bool mr_signals_pending(void);

#endif
