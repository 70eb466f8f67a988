/*
 * run_folder.h - reads what a training left in its folder, for pictures, tables and reports.
 */
#ifndef MR_REPORT_RUN_FOLDER_H
#define MR_REPORT_RUN_FOLDER_H

#include "base/json.h"
#include "report/metrics_log.h"

#define MR_RUN_FOLDERS_MAX 16 /* runs that one picture shows */

typedef struct mr_run_folder {
	char *name;           /* of the folder */
	mr_figures *rows; /* [n_rows], at least one */
	size_t n_rows;
	/* Of mr_run_folder_read_all; NULL: the folder has no such file. */
	char *config;         /* resolved.cfg */
	mr_json *memory;      /* memory.json */
	mr_json *facts;       /* run.json */
	char *roofline;       /* roofline.svg */
	mr_json *errors;      /* errors.json */
	char *no_errors;      /* what the caller knows of why there is none, or an old one; NULL: nothing. Owned */
} mr_run_folder;

/** Read the metrics of the run in the folder @path, or in the file metrics.jsonl itself. The caller calls
 * mr_run_folder_fini, also after an error. Errors: MR_EDATA with the path; MR_ERESOURCE. */
mr_status mr_run_folder_read(const char *path, mr_run_folder *out) MR_MUST_USE;

/** The same with the other files. Errors: also MR_EDATA when run.json or memory.json is damaged. */
mr_status mr_run_folder_read_all(const char *path, mr_run_folder *out) MR_MUST_USE;

/** The folder of the run @path, which may name its file metrics.jsonl; the caller frees it. NULL: no memory. */
char *mr_run_folder_path(const char *path) MR_MUST_USE;

void mr_run_folder_fini(mr_run_folder *r);

#endif
