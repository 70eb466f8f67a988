/*
 * layer_survey.h - measures the layers of a model on this machine before plans are predicted with them.
 *
 * What the model of costs (costs/cost_model.h) has for a layer follows from the peak of a core, which products of a
 * layer may reach to four fifths or to a fifth. So each layer is measured: by all cores with the whole batch, by teams
 * of an eighth of the cores, and so on down to one thread, with the micro-batches that as many workers as fit there
 * would have; and by each with a quarter of these samples. All take turns, three times unless that takes long. Other
 * shapes follow from these (costs/kept_layers.h).
 */
#ifndef MR_CHOOSE_LAYER_SURVEY_H
#define MR_CHOOSE_LAYER_SURVEY_H

#include "costs/kept_layers.h"
#include "session/session.h"

/**
 * Measure what @k does not have of the layers of @s with a batch of @batch samples, at least @seconds a shape, add it
 * to @k, and keep what was not disturbed for later predictions. A shape that cannot be measured (memory, say) is left
 * as modelled. @s has loaded its data, and its machine is the one at hand. *@n: shapes that were measured.
 */
void mr_layer_survey(const mr_session *s, int64_t batch, double seconds, mr_kept_layers *k, uint32_t *n);

#endif
