/*
 * compose.h - for a model's build function: append layers to a graph without a check after every line.
 *
 * Each call appends one layer and returns the value it writes. The first failure sticks: later calls do nothing, and
 * mr_compose_finish reports it, so a build function reads like the model's formula. Only for the files of this folder.
 */
#ifndef MR_MODELS_COMPOSE_H
#define MR_MODELS_COMPOSE_H

#include "models/model.h"

typedef struct mr_compose {
	mr_graph *graph;   /* owned until finish */
	mr_status status;  /* of the first failure; its message stays in mr_error_text */
	const char *stem;  /* prefix of each name, followed by a dot; NULL: none */
} mr_compose;

/** Begin a graph for samples like @data's. */
void mr_compose_init(mr_compose *m, const mr_model_data *data);

/** Append layer "<stem>.<name>" of kind @layer (a name in layers.def), reading @x. Returns the value that it writes. */
uint16_t mr_compose_add(mr_compose *m, const char *layer, const char *name, const mr_layer_cfg *cfg, uint16_t x);

/** The same for a layer of two inputs. */
uint16_t mr_compose_join(mr_compose *m, const char *layer, const char *name, uint16_t a, uint16_t b);

/** The same for a layer of @n inputs @x. */
uint16_t mr_compose_gather(mr_compose *m, const char *layer, const char *name, const mr_layer_cfg *cfg,
			   const uint16_t *x, uint32_t n);

/** Put the first of the @n values @v side by side, by layers join.0, join.1, ..., until one layer can read all. Returns
 * how many are left in @v. */
uint32_t mr_compose_narrow(mr_compose *m, uint16_t *v, uint32_t n);

/** Let the parameter called @param share the storage of @owner. */
void mr_compose_tie(mr_compose *m, const char *param, const char *owner);

/* The option of networks that end in mr_compose_classify. */
#define MR_COMPOSE_SMOOTHING                                                                                \
	{"smoothing", MR_OPT_FLOAT, "0", 0, 0.95, NULL, NULL,                                               \
	 "label smoothing: part of each target that is spread over all classes, in evaluations too; 0: none"}

/** Append the loss of a classifier whose scores are @x, with the smoothing of @values. Further fields of its
 * configuration come from @cfg. */
void mr_compose_classify(mr_compose *m, const mr_values *values, const mr_layer_cfg *cfg, uint16_t x);

/** Close the graph and hand it over, or destroy it and return the first failure. */
mr_status mr_compose_finish(mr_compose *m, mr_graph **out) MR_MUST_USE;

#endif
