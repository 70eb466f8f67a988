/*
 * train.h - the course of a training: steps, evaluations, checkpoints, and the files written meanwhile.
 *
 * The caller's thread lets the executor run to the next due event (an evaluation, a checkpoint, the end of a traced
 * stretch, the last step) or until the caller asks for a pause, handles it, and continues. None of that changes a
 * number. Nothing is printed here: the command (cli/train_words.h) and the library (millrace/training.h) show what they
 * want by the hooks and the fields of mr_train.
 *
 *	mr_train_open -> mr_train_go, as often as wanted -> mr_train_end -> mr_train_close
 *
 * A training whose job names no folder (mr_train_opts.no_folder) writes no file; all else is the same.
 */
#ifndef MR_TRAINING_TRAIN_H
#define MR_TRAINING_TRAIN_H

#include "checkpoint/checkpoints.h"
#include "checkpoint/rundir.h"
#include "config/config.h"
#include "host/watch.h"
#include "logbook/tensorboard.h"
#include "observe/counted_report.h"
#include "observe/run_status.h"
#include "observe/worker_window.h"
#include "report/metrics_log.h"
#include "report/run_tables.h"
#include "costs/measured_machine.h"
#include "session/session.h"
#include "session/virtual.h"

typedef struct mr_train_opts {
	const char *resume;      /* NULL: from the start; "": from the newest checkpoint; or from the one of that name
	                            ("best", "step-00000100") */
	bool anew;               /* without resume: a run that ended before its first checkpoint begins anew */
	const char *init;        /* begin with the weights of these files (checkpoint/init_weights.h); NULL: random */
	bool init_anyway;        /* also if something of them has no place */
	const char *record;      /* racing systems, and W that any worker may take: write the order of the run to this
	                            file, as a plan; NULL: no */
	const char *plan;        /* train the plan in this file; NULL: the system's own, or with resume the run's */
	const char *replay;      /* carry out the record in this file; NULL: none */
	mr_ranks *ranks;         /* over which the training is spread; NULL: one process */
	bool counts;             /* count processor events */
	const mr_own_loss *own_loss; /* in place of the model's (stage/stage.h); NULL: none */
	const mr_values *virtual_time; /* simulate, with these MR_VIRTUAL_OPTIONS; NULL: real time */
	bool owns_process;       /* take the process's signals, and end it where work with files hangs */
	bool no_folder;          /* there is no folder of the run: no files, no saves */
} mr_train_opts;

/* What a training asks its caller and tells it meanwhile, on the caller's thread. Any function may be NULL. */
typedef struct mr_train_hooks {
	void *arg;
	/** A step was done. False: pause mr_train_lag steps behind it (mr_train_go, @obey), or soon. */
	bool (*step)(void *arg, const mr_step_rec *rec);
	/** Called about ten times a second. False: pause soon; an evaluation ends without a result. */
	bool (*goes_on)(void *arg);
	/** Is a new line of progress due at @step, @seconds after the start? NULL: once a second. */
	bool (*due)(void *arg, uint64_t step, double seconds);
	/** Show the progress; @force: an evaluation or the end. */
	void (*show)(void *arg, const mr_figures *p, double seconds, bool force);
	/** Lines of another kind follow. */
	void (*settle)(void *arg);
	/** The present status was asked for (SIGUSR2). */
	void (*status)(void *arg);
} mr_train_hooks;

#define MR_TRAIN_UNKNOWN UINT64_MAX

typedef struct mr_train {
	mr_config *config;           /* borrowed */
	mr_train_opts opts;          /* borrows its strings */
	mr_train_hooks hooks;
	mr_session s;
	mr_virtual *clock;           /* of a simulated training; NULL: the real one */
	mr_rundir dir;               /* path NULL: there is none */
	char *own_plan;              /* path of the plan that the run was begun with; NULL: none, or opts.plan names
	                                one */
	char *resolved;              /* the configuration with all values; NULL: there is no folder. Owned */
	mr_metrics_log *metrics;
	uint64_t step, n_steps;
	uint64_t begun_step;         /* of this session */
	uint64_t target;             /* the present mr_train_go runs to this step */
	bool obeys;                  /* hooks.step is obeyed at its step */
	bool told_stop;              /* hooks.step has asked for a pause */
	bool halted;                 /* hooks.goes_on has */
	_Atomic uint64_t saved;      /* step of the newest checkpoint; 0: none, MR_TRAIN_UNKNOWN: it is being looked
	                                for. The watch reads it */
	mr_watch *watch;             /* of work with files; NULL: it has not begun */
	bool goes_on;                /* where the write of a checkpoint hangs */
	mr_checkpoint_writer *writer; /* writes checkpoints while the training goes on; NULL: it waits for them */
	mr_checkpoints_case writing; /* the checkpoint that it has under way, or will have: `copying` */
	bool postponed;              /* its save was postponed while the workers went on: they are to pause */
	mr_state_copying *copying;   /* the copy of its state that workers make as they pass its step; NULL: none */
	_Atomic bool ends_hung;      /* it hangs, and that ends the training; set by the watch */
	bool skips;                  /* it hangs, and checkpoints are skipped */
	uint64_t eval_every, save_every;
	uint64_t save_again;         /* a save was postponed until this step; 0: none */
	mr_checkpoints_guard guard;        /* the measure by which saves are judged */
	bool traced, trace_written;  /* the trace is still to be written; it has been written */
	uint64_t trace_first, trace_last;
	double best;                 /* lowest validation loss; NAN: none yet */
	mr_figures evaluation;       /* the last one; without one val_loss is NAN */
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
	uint64_t paused_ns;          /* end of the last mr_train_go, by the real clock */
	uint64_t begun_ns;           /* begin by the real clock, for how often progress is shown; 0: not begun */
	mr_step_rec last;            /* newest step record; step 0: none yet */
	double least;                /* lowest loss of an evaluation, of step least_step; NAN: none yet */
	uint64_t least_step;
	bool early;                  /* it ended before its last step (train.patience) */
	mr_figures normed;           /* of the newest whose gradient norm is known; step 0: none yet */
	uint64_t row_ns;             /* begin of the first step of the next metrics row */
	mr_run_facts facts;          /* run.json */
	uint64_t predicted_bytes;    /* of the process at its peak, as of the last pause */
	uint64_t peak_bytes;         /* of the process when the training ended, before its end was measured; 0: it goes
	                                on */
	mr_measured_machine here;    /* rates of the machine, when `measured`, which takes memory */
	bool measured;
	mr_events *events;           /* for TensorBoard, from the first row on; NULL: none yet, or not asked for */
	mr_worker_window window;     /* of bubble and waits in metrics rows */
	mr_worker_window shares;     /* of the workers in status.json */
	double virtual_bubble;       /* of a simulated training in the last stretch; NAN */
	mr_figures_sum sum;          /* of this session */
	mr_figures_sum since;        /* of its steps since the progress line was drawn */
	uint64_t drawn_ns, drawn_at_ns; /* end of the step that it showed last; when it did */
	mr_figures drawn;            /* what it showed */
	uint64_t status_ns;          /* time of the last status.json; 0: none yet */
	uint32_t n_cpus_lost;        /* CPUs of workers that were offline then */
	const char *state;           /* in it; NULL: none */
	size_t n_init;               /* tensors that opts.init gave */
	double search_s;             /* limit of the system's search in seconds, which became s.n_tries; 0: none */
	mr_status error;             /* what ended it; MR_OK: nothing has */
	char error_text[1024];
} mr_train;

/** Do these options go together? Before the configuration is read, which some of them have a part in. Errors:
 * MR_EUSAGE. */
mr_status mr_train_check(const mr_train_opts *o) MR_MUST_USE;

/**
 * Everything before the first step, and nothing printed but notices (base/notice.h): the session, the folder, the
 * executor, the state in a checkpoint, the files. A time limit of a search in @config is replaced by its number of
 * tries (search_limit.h). Borrows @config and what @opts and @hooks point to. The caller closes *@out, which is NULL
 * after an error: the folder then is as it was before. Errors: any of the codes of base/status.h, with a message.
 */
mr_status mr_train_open(mr_config *config, const mr_train_opts *opts, const mr_train_hooks *hooks,
			mr_train **out) MR_MUST_USE;

/** Of a training that goes on: take what it had from its folder, search limit and kernels. Before its session opens.
 * Errors: those of reading the folder. */
mr_status mr_train_take_up(mr_train *t) MR_MUST_USE;

/**
 * Train to step @until, with the evaluations, saves and files that are due on the way and at its end, or until a hook
 * or a signal asks for a pause; t->step says how far it came. @obey: hooks.step is obeyed at its step (mr_train_lag).
 * Errors: any, with a message that names the checkpoint from which the training can go on; only mr_train_close may
 * follow.
 */
mr_status mr_train_go(mr_train *t, uint64_t until, bool obey) MR_MUST_USE;

/** How many steps behind the one for which hooks.step returned false an obeyed mr_train_go pauses. */
uint32_t mr_train_lag(const mr_train *t);

/** Save a checkpoint of the present state now, and wait until the disk has it. Errors: MR_EINVAL: there is no folder,
 * or no step was made; those of mr_checkpoints_put. */
mr_status mr_train_save(mr_train *t) MR_MUST_USE;

/** The validation loss at the present weights, as the evaluations of the course have it; it changes nothing. Errors:
 * MR_EDATA: there are no validation samples; MR_ESTOPPED: hooks.goes_on has said so; those of the executor. */
mr_status mr_train_evaluate(mr_train *t, mr_figures *out) MR_MUST_USE;

/** After the last step of this session: what was reached is measured, and the files of the end are written (run.json,
 * memory.json, counters.json and record). Does nothing where no step was made. Errors: MR_EIO,
 * MR_ERESOURCE. */
mr_status mr_train_end(mr_train *t) MR_MUST_USE;

/** Give up the folder of a training without a step, write the last status, close everything and free @t. After
 * MR_ESTALLED a thread hangs: its memory stays. Accepts NULL. Errors: MR_EIO, MR_ERESOURCE of files that are closed. */
mr_status mr_train_close(mr_train *t) MR_MUST_USE;

/** Has a session of this run a step to its name, so that its folder stays? */
bool mr_train_is_begun(const mr_train *t);

/** The figures of the present state: of the steps since the line of progress; where there is none since then, or rates
 * would be of less than @least_ns, those of that line. */
mr_figures mr_train_progress(const mr_train *t, uint64_t least_ns);
/** Each figure as it is now: of the last step, of the last evaluation, or of the present state. */
mr_figures mr_train_figures(const mr_train *t);
/** The figures of this session, folded over its steps; those of the workers' time are of its training. While paused. */
mr_figures mr_train_result(mr_train *t);

/** @st with its text, which mr_train_close returns. */
mr_status mr_train_keep(mr_train *t, mr_status st);
/** No step was made: restore the folder to its former state. */
void mr_train_give_up(mr_train *t);

/** The time; of a simulated training, the time of its last step. */
uint64_t mr_train_now_ns(const mr_train *t);

/* --- train_save.c --- */

/** Wait for the checkpoint that is being written. Errors: those of mr_checkpoint_writer_wait. */
mr_status mr_train_finish_save(mr_train *t) MR_MUST_USE;
/** Save now. @can_wait: it may be postponed; @behind: the training goes on, and need not wait for the disk. Errors:
 * those of mr_train_finish_save and mr_checkpoints_put. */
mr_status mr_train_save_now(mr_train *t, bool can_wait, bool behind) MR_MUST_USE;
/** While the workers run: let them copy the state of the next save as they pass its step, and write what they have
 * copied. Errors: those of mr_train_save_now. */
mr_status mr_train_save_passing(mr_train *t) MR_MUST_USE;
/** The workers pause, or the run has failed with @st: write what they have copied, or give it up. Returns @st with its
 * text, or the error of that. */
mr_status mr_train_save_passed(mr_train *t, mr_status st) MR_MUST_USE;
/** The next step behind @step at which an event is due. */
uint64_t mr_train_next_stop(const mr_train *t, uint64_t step);

/* --- train_status.c --- */

/** Replace status.json if a second has gone since the last time, or @state is another; @error: why it failed, or NULL.
 * Not of a simulated training. */
void mr_train_tell_status(mr_train *t, const char *state, const char *error);
/** Warn of CPUs of workers that have gone offline since the last call (train_cpus.c). */
void mr_train_look_at_cpus(mr_train *t);
/** The present status, which the caller frees by mr_run_status_fini. Errors: MR_ERESOURCE. */
mr_status mr_train_status(mr_train *t, mr_run_status *out) MR_MUST_USE;
/** What the workers reached, at the end; empty of a simulated training. Measures the machine's bandwidths where
 * processor events were counted or the training was long; in a busy second the kept ones are taken, and the peak with
 * them where none is configured (costs/measured_machine.h). */
mr_roofline mr_train_roofline(mr_train *t);
/** What was counted, a row each stage and operation; the caller frees *@rows, which is NULL where nothing was to be
 * counted. @missing: what is not known, "" if nothing. Errors: MR_ERESOURCE. */
mr_status mr_train_counts(const mr_train *t, mr_counted_row **rows, uint32_t *n, const char **missing) MR_MUST_USE;
/** counters.json, if something was counted. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_train_write_counts(const mr_train *t) MR_MUST_USE;

/* --- train_watch.c --- */

/** From now on work with files that hangs for machine.watchdog ends the process with exit code 8 where the training
 * owns it; a checkpoint's ends only the checkpoints where checkpoint.hung says so, and elsewhere the training. Errors:
 * MR_ERESOURCE. */
mr_status mr_train_watch(mr_train *t) MR_MUST_USE;

/* --- train_files.c --- */

/** The trace of the run's workers between two steps as trace.json. */
mr_status mr_train_write_trace(const mr_train *t) MR_MUST_USE;
/** Versions and bytes in use at once, measured and predicted, a row each stage and pipe; the caller frees *@rows.
 * Errors: MR_ERESOURCE. */
mr_status mr_train_usage(const mr_train *t, mr_usage_row **rows, uint32_t *n) MR_MUST_USE;
/** memory.json, if there are rows. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_train_write_usage(const mr_train *t) MR_MUST_USE;

#endif
