/*
 * temperature.h - calibration of the probabilities of classes by one number (Guo et al.: "On Calibration of Modern
 * Neural Networks", 2017): softmax of the scores divided by T, where T minimises the mean of -log of the target's
 * probability over samples that the training has not seen. T above 1: the model was too sure of itself. Which class is
 * the most probable stays, and so does the accuracy.
 *
 * T stands beside the weights, in calibration.json of the folder of the checkpoint.
 */
#ifndef MR_TRAINED_TEMPERATURE_H
#define MR_TRAINED_TEMPERATURE_H

#include "base/str.h"
#include "trained/class_samples.h"

typedef struct mr_calibration {
	double temperature;
	uint64_t samples;                 /* that it was fitted to */
	double loss, calibrated_loss;     /* means of -log of the target's probability, without and with it */
	double error, calibrated_error;   /* expected calibration errors (class_scores.h) */
} mr_calibration;

/** Fit a temperature from 1/100 to 100 to @s, which were predicted without one. Errors: MR_EDATA there are none;
 * MR_ERESOURCE. */
mr_status mr_temperature_fit(const mr_class_samples *s, mr_calibration *out) MR_MUST_USE;

/** The probabilities @p [n], of a model without a temperature, become those with @temperature. */
void mr_temperature_apply(double *p, size_t n, double temperature);

/** Fit to @s, and write the result beside the weights of @checkpoint, too. Errors: of both. */
mr_status mr_calibration_keep(const mr_class_samples *s, const char *checkpoint, mr_calibration *out) MR_MUST_USE;

/** Append a line about it, without its end. */
void mr_calibration_print(const mr_calibration *c, mr_strbuf *out);

/** Write @c beside the weights of @checkpoint, a folder; or read it. Errors: MR_EIO, MR_ERESOURCE; MR_ECKPT it is not
 * there, or damaged. */
mr_status mr_calibration_write(const char *checkpoint, const mr_calibration *c) MR_MUST_USE;
mr_status mr_calibration_read(const char *checkpoint, mr_calibration *out) MR_MUST_USE;

#endif
