/*
 * layer_table.h - layers of a model as a table in text, measured or made up anywhere:
 *
 *	name,forward,backward,activation,weights,saved
 *	embed,1.5,3,4096,65536,8192
 *
 * A row a layer, in the model's order: seconds of a forward and of a backward pass of one micro-batch, bytes of the
 * output (as many as its gradient has), bytes of the weights, and bytes that a micro-batch keeps at the layer from its
 * forward to its backward pass. The last column may be absent: a layer then keeps its output. Any unit of time or
 * bytes will do, if it is the same throughout. Lines that begin with # and empty lines are skipped.
 *
 *	# levels 4@12e9,2@1.25e9
 *
 * among them names groups of workers on a machine, the lowest level first: parts of each, and bytes a unit of time
 * between two of them (level_partition.h).
 */
#ifndef MR_PLANNER_LAYER_TABLE_H
#define MR_PLANNER_LAYER_TABLE_H

#include <stdint.h>

#include "base/status.h"

typedef struct mr_layer_row {
	char name[64];
	double forward, backward;
	double activation, weights, saved;
} mr_layer_row;

#define MR_LAYER_TABLE_LEVELS "# levels "

/** Parse @text. The caller frees *@rows [*@n]. Errors: MR_ECONFIG with the line; MR_ERESOURCE. */
mr_status mr_layer_table_read(const char *text, mr_layer_row **rows, uint32_t *n) MR_MUST_USE;

#endif
