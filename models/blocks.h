/*
 * blocks.h - what the objectives of the theory share: coordinates cut into blocks, a layer each. Only for this folder.
 *
 *	x [d] --> block.0 --> block.1 --> ... --> block.B-1 --> loss          sum so far, and the columns still needed
 *
 * Block b owns d / B coordinates in order, the first d mod B blocks one more; its parameter is block.b.weight. Every
 * block is a legal cut. See nn/layers/margin.c for what flows.
 */
#ifndef MR_MODELS_BLOCKS_H
#define MR_MODELS_BLOCKS_H

#include "models/compose.h"

#define MR_BLOCKS_OPTIONS                                                                                     \
	{"blocks", MR_OPT_INT, "4", 1, 10000, NULL, NULL,                                                     \
	 "blocks that the coordinates are cut into; a stage owns one or several"},                            \
	{"noise", MR_OPT_FLOAT, "0", 0, 1e6, NULL, NULL,                                                      \
	 "standard deviation of the normal noise added to each coordinate of every micro-batch's gradient"}

/** As mr_model_ops.features: a coordinate for each block. */
int64_t mr_blocks_features(const mr_values *values);

/** The whole graph, ending in the loss layer called @loss; @l2: penalty (l2 / 2) |w|^2. */
mr_status mr_blocks_build(const mr_values *values, const mr_model_data *data, double l2, const char *loss,
			  mr_graph **out) MR_MUST_USE;

#endif
