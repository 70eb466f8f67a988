/*
 * blocks.h - shared by the objectives of the theory: coordinates cut into blocks, one layer each. Only for this folder.
 *
 *	x [d] --> block.0 --> block.1 --> ... --> block.B-1 --> loss          sum so far, and the columns still needed
 *
 * Block b owns d / B coordinates in order, the first d mod B blocks one more; its parameter is block.b.weight. The
 * model may be cut in front of every block. nn/layers/margin.c describes the values between the blocks.
 */
#ifndef MR_MODELS_BLOCKS_H
#define MR_MODELS_BLOCKS_H

#include "models/compose.h"

#define MR_BLOCKS_OPTIONS                                                                                     \
	{"blocks", MR_OPT_INT, "4", 1, 10000, NULL, NULL,                                                     \
	 "blocks that the coordinates are cut into; a stage owns one or several"},                            \
	{"noise", MR_OPT_FLOAT, "0", 0, 1e6, NULL, NULL,                                                      \
	 "standard deviation of the normal noise added to each coordinate of every micro-batch's gradient"}

/** For mr_model_ops.features: at least one coordinate for each block. */
int64_t mr_blocks_features(const mr_values *values);

/** Build the whole graph, which ends in the loss layer called @loss, with the penalty (@l2 / 2) |w|^2. The caller
 * destroys *@out. Errors: MR_ECONFIG data that do not fit; MR_ERESOURCE. */
mr_status mr_blocks_build(const mr_values *values, const mr_model_data *data, double l2, const char *loss,
			  mr_graph **out) MR_MUST_USE;

#endif
