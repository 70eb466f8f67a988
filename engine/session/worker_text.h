/*
 * worker_text.h - what a worker has, in a few characters for tables: its stages, their layers and its cores.
 */
#ifndef MR_SESSION_WORKER_TEXT_H
#define MR_SESSION_WORKER_TEXT_H

#include "exec/run.h"

/** "0, 3": the stages that worker @w has in any pipe of @p. */
void mr_worker_stages_text(const mr_plan *p, uint16_t w, char *text, size_t size);

/** "h.2.ln_1 .. loss", or the one layer of @stage. */
void mr_stage_layers_text(const mr_graph *g, const mr_partition *p, uint16_t stage, char *text, size_t size);

/** "0-7,16": the Linux CPUs of @w; "0-14:2" every second one. */
void mr_worker_cores_text(const mr_place_worker *w, char *text, size_t size);

#endif
