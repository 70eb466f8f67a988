/*
 * foreign_config.h - the config.json that Hugging Face puts beside weights, compared with the network that takes them:
 * what no tensor's shape shows (heads, epsilon, base of rotary positions, activation), and what it does.
 *
 * Of keys that are missing, transformers' defaults count where there are such. Networks that transformers does not have
 * are not compared.
 */
#ifndef MR_CHECKPOINT_FOREIGN_CONFIG_H
#define MR_CHECKPOINT_FOREIGN_CONFIG_H

#include "session/session.h"

/** Compare the model of @s with FOLDER/config.json, if there is one. Errors: MR_ECKPT with a message that names both
 * values of the first difference; MR_ERESOURCE. */
mr_status mr_foreign_config_check(const mr_session *s, const char *folder) MR_MUST_USE;

#endif
