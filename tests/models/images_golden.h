/*
 * images_golden.h - the models of images against PyTorch's f64 numbers (tests/golden/torch/images.json): loss, logits
 * and gradients, from weights and inputs that both sides make from their names.
 */
#ifndef MR_TESTS_MODELS_IMAGES_GOLDEN_H
#define MR_TESTS_MODELS_IMAGES_GOLDEN_H

#include "nn/kernels.h"

/** Network @name of the file on @k; the largest distance of a number from the recorded one to fail the test is
 * @tolerance, relative to the largest number of its tensor. */
void check_image_network(const char *name, const mr_kernels *k, double tolerance);

#endif
