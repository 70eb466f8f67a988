/*
 * trained.h - a trained model, from its checkpoint alone: the configuration and the form of its data stand there. The
 * model runs on one worker that has all cores, in batches as large as memory allows.
 *
 *	MR_TRY(mr_trained_find(&t, "runs/iris", "", NULL, 0));	configuration and form are known
 *	MR_TRY(mr_trained_open(&t, 0));				weights are loaded, threads are there
 *	MR_TRY(mr_trained_predict(&t, input, n, value));	probabilities, or numbers in the target's unit
 *	mr_trained_close(&t);
 *
 * One thread at a time.
 */
#ifndef MR_TRAINED_TRAINED_H
#define MR_TRAINED_TRAINED_H

#include "config/config.h"
#include "reader/form.h"
#include "session/logits.h"

typedef struct mr_trained {
	char *path;          /* of the checkpoint */
	bool with_data;      /* the data of the training are open: s.data */
	uint64_t step;       /* of it, from open on */
	mr_config *config;
	mr_form form;
	mr_session s;        /* from open on, like all that follows */
	mr_logits *model;
	int64_t batch;       /* samples at once */
	size_t input_bytes;  /* of a sample */
	size_t width;        /* values of a sample that enter the loss */
	bool classes;        /* predictions are probabilities of classes, else one number; not of a language model */
	size_t n_values;     /* numbers of a prediction */
	double temperature;  /* that divides the scores of classes; 0: none does */
} mr_trained;

/** Read configuration and form of the checkpoint @name of @run, the folder of a run: "best", "last", "step-00000100";
 * "": the best, or the newest where none was evaluated. @run may be a checkpoint, too. @set: keys of the configuration
 * in place of what it says. Close @t also after an error. Errors: MR_ECKPT, MR_EUSAGE, MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_trained_find(mr_trained *t, const char *run, const char *name, const char *const *set,
			  size_t n_sets) MR_MUST_USE;

/** The same of the best checkpoint of @run, where open is to read the data of the training, too, which need no form.
 * Errors: as above; of open: also those of reading, and MR_EDATA when the data are not those of the training. */
mr_status mr_trained_find_with_data(mr_trained *t, const char *run, const char *const *set, size_t n_sets) MR_MUST_USE;

/** Load the weights, for up to @batch samples at once; 0: as many as memory allows. Errors: MR_ECKPT, MR_ERESOURCE. */
mr_status mr_trained_open(mr_trained *t, int64_t batch) MR_MUST_USE;

/** From now on probabilities of classes are calibrated (temperature.h), of a model that is open. Errors: MR_EUSAGE it
 * predicts no classes; MR_ECKPT nobody has calibrated it, or the file is damaged; MR_ERESOURCE. */
mr_status mr_trained_calibrate(mr_trained *t) MR_MUST_USE;

/** Predict the @n samples at @input, at most t->batch: @value [n][n_values]. Not of a language model. Errors: MR_EDNN,
 * MR_ERESOURCE. */
mr_status mr_trained_predict(mr_trained *t, const void *input, int64_t n, double *value) MR_MUST_USE;

void mr_trained_close(mr_trained *t);

#endif
