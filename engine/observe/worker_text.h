/*
 * worker_text.h - what a worker has, in a few characters for tables: its stages and its cores.
 */
#ifndef MR_OBSERVE_WORKER_TEXT_H
#define MR_OBSERVE_WORKER_TEXT_H

#include "exec/run.h"

/** "0, 3": the stages that worker @w has in any pipe. */
void mr_worker_stages_text(const mr_run *run, uint16_t w, char *text, size_t size);

/** "0-7,16": the Linux CPUs of @w. */
void mr_worker_cores_text(const mr_place_worker *w, char *text, size_t size);

#endif
