/*
 * share_graph.h - what one share of a worker computes of a model (nn/share.h; tensor parallelism).
 *
 * Cut are pairs of linear layers with nothing between them but layers that take each column, or each head, by itself:
 * the first by the columns of its output, the second by the rows of its input, so that a share needs nothing of the
 * others until the second has multiplied (Shoeybi et al.: "Megatron-LM", 2019, section 3):
 *
 *	x -> share_in -> fc (columns q) -> gelu -> proj (rows q) -> share_out -> y
 *
 * An embedding, and a head, of many classes are cut by columns, which share_cat joins. If they share their weights,
 * both are cut by words: share_out sums what the shares look up, each in its own rows of the table. All else each share
 * computes whole, with the bits of every other: norms, sums and the loss.
 * Between the two of a pair stand attention, with rope in front of it or not, whose heads must divide among the
 * shares, swiglu, gelu and activations. Of fewer heads of keys and values than shares, as rope reads them, each share
 * has a copy of one, and those that have the same sum its gradient (nn/part_grads.h). What the shares do not divide, or
 * what meets another layer on the way, stays whole.
 *
 * Norms, sums and other layers that take each row by itself may instead be computed by each share for its own rows of
 * every sample (nn/share.h), where a chain of them ends at a layer that is cut:
 *
 *	x (own rows) -> layer_norm -> share_in -> fc (columns q) -> gelu -> proj (rows q) -> share_out -> (+ x) -> y
 *
 * share_in then puts the rows of all together, and share_out leaves the own rows of the sum. Between such a chain and
 * layers that are whole stand share_rows and share_join.
 *
 * The graphs of all shares have the same nodes and parameters, of the same sizes, in the order of the whole model:
 * parameter p of a share is the whole one or a part of parameter p of the model (mr_param.cut), under its name. The
 * second layer of a pair adds its bias in share 0 alone.
 */
#ifndef MR_PLANNER_SHARE_GRAPH_H
#define MR_PLANNER_SHARE_GRAPH_H

#include "planner/graph.h"

/**
 * The graph of share @self of @n of the finished model @whole, with its frozen layers and class weights; the caller
 * destroys *@out. @by_rows: norms and the like are computed by rows. Errors: MR_ECONFIG no layer can be cut into @n
 * shares, or none computed by rows; MR_ERESOURCE.
 */
mr_status mr_share_graph(const mr_graph *whole, uint32_t n, uint32_t self, bool by_rows, mr_graph **out) MR_MUST_USE;

#endif
