/*
 * train.h - the course of a training: steps, evaluations, checkpoints, signals, and the files written meanwhile.
 *
 * The caller's thread lets the executor run to the next due event (an evaluation, a checkpoint, the end of a
 * traced stretch, the last step) or until a signal requests a pause, handles it, and continues. None of that
 * changes a number.
 */
#ifndef MR_TRAINING_TRAIN_H
#define MR_TRAINING_TRAIN_H

#include "config/config.h"
#include "host/watch.h"
#include "observe/run_status.h"
#include "checkpoint/rundir.h"
#include "checkpoint/checkpoints.h"
#include "session/measured_machine.h"
#include "session/session.h"
#include "session/virtual.h"
#include "logbook/board.h"
#include "logbook/step_window.h"
#include "report/metrics_log.h"
#include "report/progress.h"
#include "session/trajectory.h"

typedef struct mr_train_opts {
	const char *resume;      /* NULL: from the start; "": from the newest checkpoint; or from the one of that name
	                            ("best", "step-00000100") */
	const char *init;        /* begin with the weights of these files (session/init_weights.h); NULL: random ones */
	bool init_anyway;        /* also if something of them has no place */
	const char *trajectory;  /* write the weights of every version to this file as JSON (tiny models); NULL: no */
	const char *record;      /* racing systems, and W that any worker may take: write the order of the run to this
	                            file, as a plan; NULL: no */
	const char *plan;        /* train the plan in this file; NULL: the system's own, or with resume the run's */
	const char *replay;      /* carry out the record in this file; NULL: none */
	bool counts;             /* count processor events */
	const mr_values *virtual_time; /* simulate, with these MR_VIRTUAL_OPTIONS; NULL: real time */
} mr_train_opts;

#define MR_TRAIN_UNKNOWN UINT64_MAX

typedef struct mr_train {
	const mr_config *config;     /* borrowed */
	mr_session s;
	mr_virtual *clock;           /* of a simulated training; NULL: the real one */
	mr_rundir dir;
	char *own_plan;              /* path of the plan that the run was begun with; NULL: none, or --plan names one */
	mr_metrics_log *metrics;
	mr_progress progress;
	uint64_t step, n_steps;
	uint64_t begun_step;         /* of this session */
	_Atomic uint64_t saved;      /* step of the newest checkpoint; 0: none, MR_TRAIN_UNKNOWN: it is being looked
	                                for. The watch reads it */
	mr_watch *watch;             /* of work with files; NULL: it has not begun */
	bool goes_on;                /* where the write of a checkpoint hangs */
	mr_checkpoint_writer *writer; /* writes checkpoints while the training goes on; NULL: it waits for them */
	mr_checkpoints_case writing; /* the checkpoint that it has under way */
	bool skips;                  /* it hangs, and checkpoints are skipped */
	uint64_t eval_every, save_every;
	uint64_t save_again;         /* a save was postponed until this step; 0: none */
	mr_checkpoints_guard guard;        /* the measure by which saves are judged */
	bool traced, trace_written;  /* the trace is still to be written; it has been written */
	uint64_t trace_first, trace_last;
	double best;                 /* lowest validation loss; NAN: none yet */
	double val_loss;             /* the last one; NAN */
	double perplexity;           /* its exponential, of tokens; NAN */
	mr_scores scores;            /* scores of its class predictions; NAN */
	uint64_t val_step;           /* the step of its weights */
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
	uint64_t row_ns;             /* begin of the first step of the next metrics row */
	mr_run_facts facts;          /* run.json */
	uint64_t predicted_bytes;    /* of the process at its peak, as of the last pause */
	uint64_t peak_bytes;         /* of the process when the training ended */
	mr_measured_machine here;    /* rates of the machine, when `measured`, which takes memory */
	bool measured;
	mr_events *events;           /* for TensorBoard, from the first row on; NULL: none yet, or not asked for */
	mr_step_window window;       /* of bubble and waits in metrics rows */
	/* window of the progress line */
	uint64_t drawn_ns, drawn_step, drawn_busy_ns;
	mr_progress_state drawn;     /* the state that it showed last */
	mr_run_status_before status_before;
	uint64_t status_ns;          /* time of the last status.json; 0: none yet */
	uint32_t n_cpus_lost;        /* CPUs of workers that were offline then */
	const char *state;           /* in it; NULL: none */
	mr_trajectory *trajectory;   /* NULL: not requested */
	mr_status error;             /* first failure of a callback */
	char error_text[512];
} mr_train;

/**
 * Train @config with @opts; a time limit of a search in it is replaced by its number of tries (search_limit.h).
 * *@signal is the signal that ended it, or 0. Errors: any of the codes of base/status.h, with a message; saved files
 * stay.
 */
mr_status mr_train_run(mr_config *config, const mr_train_opts *opts, int *signal) MR_MUST_USE;

/** The figures of the progress line at this moment. */
mr_progress_state mr_train_progress(const mr_train *t);

/* --- train_status.c --- */

/** Replace status.json if a second has gone since the last time, or @state is another; @error: why it failed, or NULL.
 * Not of a simulated training. */
void mr_train_tell_status(mr_train *t, const char *state, const char *error);
/** Print it to standard error. */
void mr_train_print_status(mr_train *t);

/** Warn of CPUs of workers that have gone offline since the last call (train_cpus.c). */
void mr_train_look_at_cpus(mr_train *t);
/** What the workers reached, at the end; empty of a simulated training. Measures the machine's bandwidths where
 * processor events were counted or the training was long; in a busy second the kept ones are taken, and the peak with
 * them where none is configured (session/measured_machine.h). */
mr_roofline mr_train_roofline(mr_train *t);
/** The table of --counters, and counters.json. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_train_report_counts(const mr_train *t) MR_MUST_USE;

/* --- train_start.c --- */

/**
 * Everything before the first step: the session, the folder, the executor, the state in a checkpoint, the files.
 * A signal to end ends the program there and leaves the folder as it was; once the last files exist, mr_signals_end
 * reports it. Errors: any; the caller then calls mr_train_give_up.
 */
mr_status mr_train_start(mr_train *t, mr_config *config, const mr_train_opts *opts) MR_MUST_USE;

/** No step was made: restore the folder to its former state. */
void mr_train_give_up(mr_train *t);

/* --- train_watch.c --- */

/** From now on work with files that hangs for machine.watchdog ends the process with exit code 8, or, where
 * checkpoint.hung says so and it is a checkpoint's, only the checkpoints. Errors: MR_ERESOURCE. */
mr_status mr_train_watch(mr_train *t) MR_MUST_USE;

/* --- train_report.c: the output before and after --- */
void mr_train_print_start(const mr_train *t);
void mr_train_print_end(const mr_train *t);
/** usage_report.c: versions and bytes in use at once, measured and predicted, to standard output and to memory.json. */
mr_status mr_train_report_usage(const mr_train *t) MR_MUST_USE;
/** The norm in @rec, global or of the last stage; NAN: none. */
double mr_train_norm(const mr_step_rec *rec);
/** The trace of the run's workers between two steps as trace.json. */
mr_status mr_train_write_trace(const mr_train *t) MR_MUST_USE;

#endif
