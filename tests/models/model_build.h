/*
 * model_build.h - the graph of a model by its name, options in words, and data of a kind.
 */
#ifndef MR_TESTS_MODEL_BUILD_H
#define MR_TESTS_MODEL_BUILD_H

#include "models/model.h"

/** Windows of @context tokens of @vocab kinds. */
mr_model_data data_text(int64_t context, int64_t vocab);
/** Pairs of sequences of @source and @target tokens. */
mr_model_data data_pairs(int64_t source, int64_t target, int64_t source_vocab, int64_t vocab);
/** Square images of @n classes. */
mr_model_data data_images(int64_t side, int64_t channels, int64_t n);

/** Build @model for @data with "key=value" settings, which NULL ends; the caller destroys *@out. */
mr_status build(const char *model, const char *const *settings, const mr_model_data *data, mr_graph **out);

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define DEFAULTS ((const char *const[]){NULL})

#endif
