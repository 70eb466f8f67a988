/*
 * model.h - what a model is: a name, a table of options, and a function that turns options and the data's shapes into a
 * graph.
 *
 * A model is one file in this folder that defines `const mr_model_ops mr_model_<id>`, and one line in models.def. It
 * builds a graph and nothing else: it owns no tensor, and depends on no stage and no backend. Names of parameters are
 * part of the checkpoint format, so they follow the published ones where there are such (GPT-2).
 */
#ifndef MR_MODELS_MODEL_H
#define MR_MODELS_MODEL_H

#include "base/option.h"
#include "base/status.h"
#include "planner/graph.h"

/* Shapes of the model's input and target, and the range of the targets, as the data source reports them. */
typedef struct mr_model_data {
	mr_shape input;   /* of one sample */
	mr_shape image;   /* the same numbers as an image of [height, width, channels]; n_dims 0: they are none */
	mr_shape target;
	int64_t classes;  /* classes or vocabulary; 0: the targets are numbers (regression) */
	bool columns;     /* samples of a column follow each other: a state can be carried (nn/layer.h) */
	int64_t frames;   /* frames with captions (data/dataset.h); 0: the samples are none */
	int64_t source_classes; /* pairs of sequences: vocabulary of the source; 0: the samples are no pairs. The input
	                           is the source, padded, and then as many tokens as the target has */
	double target_low, target_high; /* least and greatest target if it is one number; else 0 */
	int64_t numbers;  /* of tokens: the first columns of a row that are numbers (data/dataset.h) */
	const int64_t *values; /* of the categories behind them; NULL: not known (data/dataset.h) */
} mr_model_data;

typedef struct mr_model_ops {
	const char *name;
	const char *summary;
	const mr_option *options;
	/** Tokens of a sample that the model needs; 0 if it takes no sequences. NULL: 0. */
	int64_t (*context)(const mr_values *values);
	/** Columns that a sample of numbers must have at least; NULL: 1. */
	int64_t (*features)(const mr_values *values);
	/** Columns of categories that the model reads in samples of numbers and categories. -1, or NULL: it takes no
	 * such samples. */
	int64_t (*categories)(const mr_values *values);
	/** An image that the model is made for; it may take others. NULL: it takes no images. */
	mr_shape (*image)(const mr_values *values);
	bool pairs; /* takes pairs of sequences alone */
	bool captions; /* takes frames with captions alone */
	/** A finished graph; the caller destroys it. Layers and their names depend on the options alone, only sizes on
	 * @data. Errors: MR_ECONFIG with a message, which begins with "KEY: " when it is about one option;
	 * MR_ERESOURCE. */
	mr_status (*build)(const mr_values *values, const mr_model_data *data, mr_graph **out);
} mr_model_ops;

#endif
