/*
 * run_status.h - the present state of a training, as a small file beside the run: status.json, replaced about once a
 * second and at the end. `millrace top` reads it, and so may other programs.
 *
 * It has all figures of report/figures.def; unknown ones are NAN, null in the file. Shares are of the time since the
 * status before, or of the training of the whole session where there was none, and after its end; so are rates then.
 */
#ifndef MR_OBSERVE_RUN_STATUS_H
#define MR_OBSERVE_RUN_STATUS_H

#include <stdio.h>

#include "observe/worker_window.h"
#include "report/figures.h"
#include "session/session.h"

#define MR_RUN_STATUS_FILE "status.json"

typedef struct mr_run_status_worker {
	mr_worker_row row;    /* stages "0, 3"; cores "0-7"; doing "B s0 m12": of stage 0 and micro-batch 12, or
	                         "F s1 m7 waits: upstream" */
	mr_times part;        /* of the time; waits that have ended */
} mr_run_status_worker;

typedef struct mr_run_status {
	mr_status_row row;
	mr_figures now;
	uint32_t n_workers, n_stages;
	mr_run_status_worker *worker; /* [n_workers] owned; of shares one each, worker by worker */
	mr_weights_row *stage;        /* [n_stages] owned */
} mr_run_status;

/** Fill @out with the present state of the started session @s, its figures @now, and the parts of the workers' time in
 * @w. Thread: the caller of the executor; workers may run. Errors: MR_ERESOURCE; @out is then empty. */
mr_status mr_run_status_take(const mr_session *s, const mr_figures *now, const mr_worker_window *w,
			     mr_run_status *out) MR_MUST_USE;
void mr_run_status_fini(mr_run_status *s);

/** Replace the file @path. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_run_status_write(const mr_run_status *s, const char *path) MR_MUST_USE;

/** Print as JSON; @judged: with two keys more, whether its process lives and how old it is. Errors: MR_EIO. */
mr_status mr_run_status_json(const mr_run_status *s, bool judged, FILE *out) MR_MUST_USE;

/** Read status.json of the run folder @path, or the file @path. Errors: MR_EDATA: there is none, or it is not one. */
mr_status mr_run_status_read(const char *path, mr_run_status *out) MR_MUST_USE;

/** Has the run ended, by its own word or since its process is gone? */
bool mr_run_status_over(const mr_run_status *s);

/** Print a screen of at most @columns x @rows (at least 20 x 1), without escapes, each line ended by a newline. What
 * does not fit is cut, from the right and from below. */
mr_status mr_run_status_screen(const mr_run_status *s, unsigned columns, unsigned rows, FILE *out) MR_MUST_USE;

#endif
