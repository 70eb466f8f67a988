/*
 * images_golden.h - the models of images against PyTorch's f64 numbers (tests/golden/torch/images.json): loss, logits
 * and gradients, from weights and inputs that both sides make from their names.
 */
#ifndef MR_TESTS_MODELS_IMAGES_GOLDEN_H
#define MR_TESTS_MODELS_IMAGES_GOLDEN_H

#include "nn/kernels.h"

/** Check network @name of the file on @k. A number may differ from the recorded one by at most @tolerance, relative to
 * the largest number of its tensor. */
void check_image_network(const char *name, const mr_kernels *k, double tolerance);

/** The same network layer by layer: each layer alone on @k, with the inputs and the gradients of outputs that the
 * network has in f64 (which check_image_network compares with PyTorch), against f64. For networks whose f32
 * ends far from f64 because a ReLU's input changes its sign, as happens with batch normalisation. */
void check_image_layers(const char *name, const mr_kernels *k, double tolerance);

#endif
