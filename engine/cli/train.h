/*
 * train.h - the course of a training: steps, evaluations, checkpoints, signals, and what is written meanwhile.
 *
 * The steering thread lets the executor run to the next thing that is due (an evaluation, a checkpoint, the end of a
 * traced stretch, the last step) or to where a signal asks it to pause, does what is due, and goes on. None of that
 * changes a number.
 */
#ifndef MR_CLI_TRAIN_H
#define MR_CLI_TRAIN_H

#include "config/config.h"
#include "session/rundir.h"
#include "session/checkpoints.h"
#include "session/session.h"
#include "session/virtual.h"
#include "report/metrics_log.h"
#include "report/progress.h"
#include "session/trajectory.h"

typedef struct mr_train_opts {
	const char *resume;      /* NULL: from the start; "": from the newest checkpoint; or from the one of that name
	                            ("best", "step-00000100") */
	const char *trajectory;  /* write the weights of every version there as JSON (tiny models); NULL: no */
	const char *record;      /* racing systems, and W that any worker may take: write the order that was taken
	                            there, as a plan; NULL: no */
	const char *plan;        /* train the plan in this file; NULL: the system's own, or with resume the run's */
	const char *replay;      /* carry out the record in this file; NULL: none */
	const mr_values *virtual_time; /* simulate, with these MR_VIRTUAL_OPTIONS; NULL: the clock tells the time */
} mr_train_opts;

typedef struct mr_train {
	const mr_config *config;     /* borrowed */
	mr_session s;
	mr_virtual *clock;           /* of a simulated training; NULL: the real one */
	mr_rundir dir;
	char *own_plan;              /* path of the plan that the run was begun with; NULL: none, or --plan names one */
	mr_metrics_log *metrics;
	mr_progress progress;
	uint64_t step, n_steps;
	uint64_t saved;              /* step of the newest checkpoint; 0: none */
	uint64_t eval_every, save_every;
	uint64_t save_again;         /* a save was put off until this step; 0: none */
	mr_checkpoints_guard guard;        /* what saves are judged by */
	bool traced, trace_written;  /* the trace is still to be written; it has been */
	uint64_t trace_first, trace_last;
	double best;                 /* lowest validation loss; NAN: none yet */
	double val_loss;             /* the last one; NAN */
	double perplexity;           /* its exponential, of tokens; NAN */
	mr_scores scores;            /* and how well classes were predicted; NAN */
	uint64_t val_step;           /* whose weights it is of */
	double peak_gflops;          /* of the cores in use, measured with the instructions of `isa`, or as configured
	                                */
	const char *isa;             /* NULL: configured */
	double flops;                /* of one sample's training step */
	double seconds_before;       /* of earlier sessions of this run */
	uint64_t start_ns, train_ns; /* this session: begin; time inside the executor's steps. Virtual where the
	                                training is */
	uint64_t eval_ns, save_ns;   /* in evaluations, and in saving checkpoints */
	uint64_t end_ns;             /* when the last of these had ended */
	uint64_t begun_ns;           /* begin by the real clock, for how often the progress line is drawn */
	mr_step_rec last;            /* newest step record; step 0: none yet */
	mr_step_rec normed;          /* the newest whose gradient norm is known; step 0: none yet */
	uint64_t row_ns;             /* when the step that the next metrics row is about began */
	/* window of the progress line */
	uint64_t drawn_ns, drawn_step, drawn_busy_ns;
	mr_progress_state drawn;     /* what it showed last */
	mr_trajectory *trajectory;   /* NULL: not wanted */
	mr_status error;             /* first failure of a callback */
	char error_text[512];
} mr_train;

/**
 * Train as @config and @opts say; a limit of time in it becomes what it has come to (budget.h). *@signal is the signal
 * that ended it, or 0. Errors: any of the codes of base/status.h, with a message; everything saved so far stays.
 */
mr_status mr_train_run(mr_config *config, const mr_train_opts *opts, int *signal) MR_MUST_USE;

/* --- train_start.c --- */

/**
 * All that comes before the first step: the session, the folder, the executor, what a checkpoint gives back, the files.
 * A signal that asks to end ends the program there and leaves the folder as it was; from the last files on it is
 * mr_signals_end's. Errors: any; the caller gives up.
 */
mr_status mr_train_start(mr_train *t, mr_config *config, const mr_train_opts *opts) MR_MUST_USE;

/** There was no step: the folder becomes what it was before. */
void mr_train_give_up(mr_train *t);

/* --- train_report.c: what the user sees before and after --- */
void mr_train_print_start(const mr_train *t);
void mr_train_print_end(const mr_train *t);
/** usage_report.c: versions and bytes in use at once, measured and predicted, to standard output and to memory.json.
 * Nothing of sequential. */
mr_status mr_train_report_usage(const mr_train *t) MR_MUST_USE;
/** The norm that @rec has, global or of the last stage; NAN: none. */
double mr_train_norm(const mr_step_rec *rec);
/** The trace of the run's workers between two steps as trace.json. */
mr_status mr_train_write_trace(const mr_train *t) MR_MUST_USE;

#endif
