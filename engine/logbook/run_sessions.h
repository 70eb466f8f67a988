/*
 * run_sessions.h - the earlier sessions of a run, in run.json as a resumed training finds it. Times of workers and
 * counts of stale gradients are sums over all sessions, if these have as many workers or stages; a timeline and a
 * roofline stay until a session has one of its own.
 *
 *	sessions    [{begun, host, from, to, seconds, busy}, ...]: time and date, machine, the step at which it began
 *	            and the one at which it ended, seconds in steps, and the part of them in which workers computed. The
 *	            last three are there when it ended in order.
 */
#ifndef MR_LOGBOOK_RUN_SESSIONS_H
#define MR_LOGBOOK_RUN_SESSIONS_H

#include "base/json.h"

typedef struct mr_run_sessions {
	mr_json *earlier; /* run.json as this session found it; NULL: it is the first; owned */
	uint64_t from;    /* the step at which this session began */
} mr_run_sessions;

/* What becomes of this session's entry. */
typedef struct mr_run_session {
	const char *begun, *host;
	uint64_t to;
	double seconds, busy; /* seconds 0: it has not ended; busy NAN: unknown */
} mr_run_session;

/** Read run.json at @path of a run that continues at step @from; from 0: there is nothing to read. A file that is
 * damaged counts as none. */
void mr_run_sessions_open(mr_run_sessions *r, const char *path, uint64_t from);
void mr_run_sessions_fini(mr_run_sessions *r);

/** The seconds that worker @w of @n spent in earlier sessions: @key "elapsed" or "busy", or a cause of waiting with
 * @waits. */
double mr_run_sessions_seconds(const mr_run_sessions *r, uint32_t n, uint32_t w, bool waits, const char *key);

/** The gradients of stage @s of @n that were @k commits behind in earlier sessions; *@bins how many such counts there
 * are. */
uint64_t mr_run_sessions_stale(const mr_run_sessions *r, uint32_t n, uint32_t s, uint32_t k, uint32_t *bins);

/** Has the earlier file a timeline of steps as they were measured? */
bool mr_run_sessions_traced(const mr_run_sessions *r);

/** Write what the earlier file has under @key; without it nothing. */
void mr_run_sessions_keep(const mr_run_sessions *r, const char *key, mr_json_writer *w);

/** Write `sessions`: the earlier ones and @now. */
void mr_run_sessions_put(const mr_run_sessions *r, const mr_run_session *now, mr_json_writer *w);

#endif
