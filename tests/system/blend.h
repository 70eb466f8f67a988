/*
 * blend.h - a layer of three inputs and four parameters, of one to four dimensions, that only tests know:
 *
 *	y = a * P + b * Q + c G + h
 *
 * P (four dimensions) and Q (three) have a number for each of a sample's, G is a matrix of columns, h a row. The three
 * inputs have one shape, which is also the output's. Computes in f64 and rounds to the run's type.
 */
#ifndef MR_TESTS_SYSTEM_BLEND_H
#define MR_TESTS_SYSTEM_BLEND_H

#include "nn/layer.h"

extern const mr_layer_ops blend;

#endif
