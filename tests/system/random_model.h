/*
 * random_model.h - models of random layers that are joined at random.
 *
 * A model is a row of segments. Inside one, layers read any value of the segment, unread ones first; at its end
 * all values that no layer has read are added up. Residuals thus join branches of any age, one value has many readers,
 * and sums stand in sums. One kind of layer has three inputs and four parameters, one has two or four outputs, which
 * are narrower than the other values and are read by layers of any kind, several times or together. One model in four
 * ties two weights.
 */
#ifndef MR_TESTS_SYSTEM_RANDOM_MODEL_H
#define MR_TESTS_SYSTEM_RANDOM_MODEL_H

#include "planner/graph.h"

#define RANDOM_WIDTH 4

/** Model @number, whose input and target have shape @shape, RANDOM_WIDTH columns. It ends in a mean squared error. */
mr_graph *random_model(uint64_t number, mr_shape shape);

/** The next random number of the last model, below @n. */
uint32_t random_below(uint32_t n);

#endif
