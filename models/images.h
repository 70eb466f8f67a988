/*
 * images.h - functions shared by the models of images. Private to this folder.
 */
#ifndef MR_MODELS_IMAGES_H
#define MR_MODELS_IMAGES_H

#include "models/compose.h"

/** MR_OK if the samples of @data are images and the targets classes. Errors: MR_ECONFIG with a message. */
mr_status mr_images_check(const mr_model_data *data) MR_MUST_USE;

/** Begin a graph over the images of @data. Errors: MR_ECONFIG as mr_images_check. */
mr_status mr_images_begin(mr_compose *m, const mr_model_data *data) MR_MUST_USE;

/** The configuration of a square window, for convolutions and pools; sizes in pixels. */
mr_layer_cfg mr_images_window(int64_t kernel, int64_t stride, int64_t pad);

/** Append "features.@at": a convolution with ReLU; one with batch normalisation, as the next feature, and ReLU; a max
 * pool with a square window; or any other layer. They and the two below read value @x and return the output's value. */
uint16_t mr_images_conv(mr_compose *m, int at, mr_layer_cfg cfg, uint16_t x);
uint16_t mr_images_conv_norm(mr_compose *m, int at, const mr_layer_cfg *cfg, uint16_t x);
uint16_t mr_images_max_pool(mr_compose *m, int at, int64_t kernel, int64_t stride, uint16_t x);
uint16_t mr_images_feature(mr_compose *m, int at, const char *layer, const mr_layer_cfg *cfg, uint16_t x);

/** Append "classifier.@at": a dropout; a linear layer. */
uint16_t mr_images_dropout(mr_compose *m, int at, double rate, uint16_t x);
uint16_t mr_images_linear(mr_compose *m, int at, const mr_layer_cfg *cfg, uint16_t x);

#endif
