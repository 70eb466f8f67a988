/*
 * run_sessions.h - the earlier sessions of a run, in run.json as a resumed training finds it. Times of workers and
 * counts of stale gradients are sums over all sessions, if these have as many workers or stages; a timeline and a
 * roofline stay until a session has one of its own.
 */
#ifndef MR_LOGBOOK_RUN_SESSIONS_H
#define MR_LOGBOOK_RUN_SESSIONS_H

#include "report/records.h"

typedef struct mr_run_sessions {
	mr_json *earlier; /* run.json as this session found it; NULL: it is the first; owned */
	uint64_t from;    /* the step at which this session began */
} mr_run_sessions;

/** Read run.json at @path of a run that continues at step @from; from 0: there is nothing to read. A file that is
 * damaged counts as none. */
void mr_run_sessions_open(mr_run_sessions *r, const char *path, uint64_t from);
void mr_run_sessions_fini(mr_run_sessions *r);

/** Add to @to what worker @w of @n spent in earlier sessions. */
void mr_run_sessions_add_times(const mr_run_sessions *r, uint32_t n, uint32_t w, mr_times *to);

/** The gradients of stage @s of @n that were @k commits behind in earlier sessions; *@bins how many such counts there
 * are. */
uint64_t mr_run_sessions_stale(const mr_run_sessions *r, uint32_t n, uint32_t s, uint32_t k, uint32_t *bins);

/** Has the earlier file a timeline of steps as they were measured? */
bool mr_run_sessions_traced(const mr_run_sessions *r);

/** Write what the earlier file has under @key; without it nothing. */
void mr_run_sessions_keep(const mr_run_sessions *r, const char *key, mr_json_writer *w);

/** Write `sessions`: the earlier ones and @now. */
void mr_run_sessions_put(const mr_run_sessions *r, const mr_session_row *now, mr_json_writer *w);

#endif
