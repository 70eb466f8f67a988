/*
 * class_weights.h - how often a training sample counts in the loss: the key train.class_weights.
 *
 * "balanced": class c, with n_c of the n training samples, has the weight n / (K n_c), K the number of classes that
 * occur (as scikit-learn's balanced class_weight): each class has the same part of the loss, and the mean weight is 1.
 */
#ifndef MR_SESSION_CLASS_WEIGHTS_H
#define MR_SESSION_CLASS_WEIGHTS_H

#include "session/session.h"

/** Weigh the classes of the session's graph as its job says; balanced weights are 1 until the data are loaded. Errors:
 * MR_ECONFIG a list that does not fit the classes, or a model without classes; MR_ERESOURCE. */
mr_status mr_session_weigh_classes(mr_session *s) MR_MUST_USE;

/** Fill in balanced weights: counts the loaded data. Does nothing where none are asked for. Errors: MR_EDATA a target
 * that is neither 0 nor 1, where classes are numbers; MR_ERESOURCE. */
mr_status mr_session_balance_classes(mr_session *s) MR_MUST_USE;

#endif
