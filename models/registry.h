/*
 * registry.h - the models of this build, by name and in the order of models.def. Tables are constant; any
 * thread may read.
 */
#ifndef MR_MODELS_REGISTRY_H
#define MR_MODELS_REGISTRY_H

#include "models/model.h"

/** Model number @i from 0; NULL beyond the last. */
const mr_model_ops *mr_model_at(uint32_t i);

/** The model called @name, or NULL. */
const mr_model_ops *mr_model_find(const char *name);

/** Tokens of a sample that the model needs with these options; 0 if it takes no sequences. */
int64_t mr_model_context(const mr_model_ops *ops, const mr_values *values);

/** Columns that a sample of numbers must have at least with these options. */
int64_t mr_model_features(const mr_model_ops *ops, const mr_values *values);

/** The graph of @ops with @values on data like @data; the caller destroys it. Errors: MR_ECONFIG with a message that
 * begins with the model's name, MR_ERESOURCE. */
mr_status mr_model_build(const mr_model_ops *ops, const mr_values *values, const mr_model_data *data,
			 mr_graph **out) MR_MUST_USE;

#endif
