/*
 * page.h - a report of runs as one HTML page: pictures, tables, configuration. No scripts and no network; light or dark
 * as the reader prefers, and printed on light ground.
 *
 * Above: what the runs have in common, their losses side by side. Then for each run its timeline, where the workers'
 * time went, staleness, memory, the machine, the roofline, configuration and environment. A part for which the folder
 * has no figures is a sentence that says what would make them.
 */
#ifndef MR_PAGE_PAGE_H
#define MR_PAGE_PAGE_H

#include <stdio.h>

#include "report/run_folder.h"

/** Write the page of @n > 0 runs, read by mr_run_folder_read_all. @title may be NULL. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_page_write(const mr_run_folder *runs, size_t n, const char *title, FILE *out) MR_MUST_USE;

#endif
