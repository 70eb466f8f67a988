/*
 * run_facts.h - run.json: what a report shows of a run beside its metrics. Written when training begins, and again with
 * times, staleness and a timeline when it ends. A resumed training keeps what the sessions before it left
 * (logbook/run_sessions.h): about, environment and machine are those of the last session.
 *
 * What it holds are records of report/figures.def, and
 *
 *	figures      of this session, folded over its steps and workers
 */
#ifndef MR_LOGBOOK_RUN_FACTS_H
#define MR_LOGBOOK_RUN_FACTS_H

#include "logbook/run_sessions.h"
#include "report/figures.h"
#include "report/roofline.h"
#include "session/session.h"

typedef struct mr_run_facts {
	const mr_session *s;  /* borrowed, as is the next */
	const char *path;     /* of run.json */
	double peak_gflops;   /* of the cores in use */
	const char *isa;      /* with which that was measured; NULL: configured */
	char begun[32];       /* time and date */
	mr_run_sessions sessions; /* the earlier ones */
	uint64_t train_ns;    /* at the end: time in steps; 0: not known yet */
	mr_figures figures;   /* at the end */
	mr_trace_rec *rec;    /* [n_rec] the timeline; owned */
	size_t n_rec;
	char what[700];       /* of the timeline */
	bool traced;          /* it was measured; rec->worker is then a row (mr_executor_rows) */
	mr_roofline roofline; /* at the end */
} mr_run_facts;

/** Before the first step, the one after @step: write the file. @s has been started. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_run_facts_begin(mr_run_facts *f, const mr_session *s, const char *path, uint64_t step, double peak_gflops,
			     const char *isa) MR_MUST_USE;

/** The workers' traces hold steps @first to @last: keep a part for the timeline. Errors: MR_ERESOURCE. */
mr_status mr_run_facts_trace(mr_run_facts *f, uint64_t first, uint64_t last) MR_MUST_USE;

/** After the last step, that of @figures, @train_ns spent in steps: write the file again. Without a trace the timeline
 * is the plan's, with the costs that a forecast would use. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_run_facts_end(mr_run_facts *f, const mr_figures *figures, uint64_t train_ns,
			   const mr_roofline *roofline) MR_MUST_USE;

void mr_run_facts_fini(mr_run_facts *f);

#endif
