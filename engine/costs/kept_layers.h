/*
 * kept_layers.h - what `profile` and `plan --auto --measure` measured on this machine, kept for predictions of other
 * models with layers like these.
 *
 * A row of the file is a layer: its kind, configuration and shapes, types, backend and optimizer as one key, the
 * samples of the micro-batch and the threads, and the seconds that F, I, W and U took. `plan` takes these for a layer
 * with the same key; for samples between those of two rows of as many threads, a power of the samples through both;
 * for other samples or threads, those of the nearest row times the ratio of what the cost model (cost_model.h) has for
 * both.
 * Layers without a row of nearly as many samples and threads are as modelled.
 *
 * The rows are for this processor, instruction set, library of kernels and program; store/kept_rows.h has the file.
 *
 * It serves predictions alone. Orders, cuts and weights of a training follow from its configuration and nominal costs,
 * or from the file of costs that the configuration names.
 */
#ifndef MR_COSTS_KEPT_LAYERS_H
#define MR_COSTS_KEPT_LAYERS_H

#include "costs/costs.h"
#include "store/kept_rows.h"

typedef struct mr_kept_layers mr_kept_layers;

/** Read what is kept for this machine and program; why a file is of no use is explained on standard error. NULL without
 * memory. */
mr_kept_layers *mr_kept_layers_open(void);
void mr_kept_layers_close(mr_kept_layers *k); /* accepts NULL */

/** What is kept of a layer like @node of @of: between two rows, or in the one with the nearest samples and threads,
 * which @out then has. False: nothing. @k may be NULL. One thread at a time. */
bool mr_kept_layers_find(mr_kept_layers *k, const mr_workload *of, uint32_t node, uint32_t threads,
			 mr_kept_layer *out);

/** Add @measured, the costs of the layers of @of, to @k alone. Errors: MR_ERESOURCE. */
mr_status mr_kept_layers_add(mr_kept_layers *k, const mr_workload *of, const mr_costs *measured) MR_MUST_USE;

/** Keep @measured, the costs of the layers of @of; where @anew, nothing else. *@n: rows in the file then. Errors:
 * MR_EIO with the reason, among them that there is no such folder; MR_ERESOURCE. */
mr_status mr_kept_layers_store(const mr_workload *of, const mr_costs *measured, bool anew, uint32_t *n) MR_MUST_USE;

#endif
