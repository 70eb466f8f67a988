#include "checkpoint/foreign_config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

#define MOST_BYTES (16u << 20)

typedef struct comparison {
	const char *path; /* of config.json */
	const mr_json *root;
	const mr_values *model;
	const char *name; /* of the model */
} comparison;

static const mr_json *given(const comparison *c, const char *key)
{
	const mr_json *v = mr_json_get(c->root, key);

	return v && !mr_json_is_null(v) ? v : NULL;
}

static mr_status differs(const comparison *c, const char *key, const char *theirs, const char *ours)
{
	return mr_fail(MR_ECKPT, "%s: %s is %s, and %s", c->path, key, theirs, ours);
}

/* The number @key, @missing where it is not given, must be @ours, which is model.@our_key. */
static mr_status same(const comparison *c, const char *key, const mr_json *v, double missing, const char *our_key,
		      double ours)
{
	double theirs = v && mr_json_is_number(v) ? mr_json_double(v) : missing;
	char a[32], b[120];

	if (isnan(theirs) || fabs(theirs - ours) <= 1e-6 * fabs(ours))
		return MR_OK;
	snprintf(a, sizeof(a), "%.9g", theirs);
	snprintf(b, sizeof(b), "model.%s is %.9g", our_key, ours);
	return differs(c, key, a, b);
}

static mr_status same_int(const comparison *c, const char *key, const char *our_key)
{
	return same(c, key, given(c, key), (double)NAN, our_key, (double)mr_values_int(c->model, our_key));
}

/* The word @key must be one of @words (as "silu|swish"), which is what the network does. */
static mr_status is_word(const comparison *c, const char *key, const char *words)
{
	const char *word = mr_json_string(given(c, key));
	size_t len = word ? strlen(word) : 0;
	char ours[160];

	for (const char *at = words; word; at += strcspn(at, "|") + 1) {
		if (strcspn(at, "|") == len && !strncmp(at, word, len))
			return MR_OK;
		if (!strchr(at, '|'))
			break;
	}
	snprintf(ours, sizeof(ours), "%s has %s", c->name, words);
	return word ? differs(c, key, word, ours) : MR_OK;
}

/* What is true there has no counterpart here. */
static mr_status is_off(const comparison *c, const char *key)
{
	char ours[80];

	snprintf(ours, sizeof(ours), "%s has no such thing", c->name);
	return mr_json_bool(given(c, key)) ? differs(c, key, "true", ours) : MR_OK;
}

static mr_status check_gpt(const comparison *c)
{
	MR_TRY(is_word(c, "model_type", "gpt2"));
	MR_TRY(same_int(c, "n_layer", "layers"));
	MR_TRY(same_int(c, "n_head", "heads"));
	MR_TRY(same_int(c, "n_embd", "width"));
	MR_TRY(same(c, "layer_norm_epsilon", given(c, "layer_norm_epsilon"), 1e-5, "name is gpt, whose epsilon", 1e-5));
	MR_TRY(is_word(c, "activation_function", "gelu_new|gelu_pytorch_tanh"));
	MR_TRY(is_off(c, "scale_attn_by_inverse_layer_idx"));
	return is_off(c, "add_cross_attention");
}

/* Rotary positions: transformers 5 keeps them in a group of their own. */
static mr_status check_rope(const comparison *c)
{
	const mr_json *group = given(c, "rope_parameters"), *scaling = group ? group : given(c, "rope_scaling");
	const mr_json *theta = group ? mr_json_get(group, "rope_theta") : given(c, "rope_theta");
	const char *type = mr_json_string(mr_json_get(scaling, "rope_type"));

	type = type ? type : mr_json_string(mr_json_get(scaling, "type"));
	if (type && strcmp(type, "default") != 0)
		return differs(c, "rope_type", type, "llama has the positions called default");
	return same(c, "rope_theta", theta ? theta : given(c, "rope_theta"), 10000, "rope_theta",
		    mr_values_float(c->model, "rope_theta"));
}

static mr_status check_bias(const comparison *c)
{
	const char *ours = mr_values_string(c->model, "bias"), *type = mr_json_string(given(c, "model_type"));
	bool qwen = type && !strcmp(type, "qwen2"), all = !qwen && mr_json_bool(given(c, "attention_bias"));
	const char *theirs = qwen ? "qkv" : all ? "attention" : "none";
	char text[80], key[80];

	if (!strcmp(ours, theirs))
		return MR_OK;
	snprintf(text, sizeof(text), "model.bias is %s, not %s", ours, theirs);
	snprintf(key, sizeof(key), "%s", qwen ? "model_type" : "attention_bias");
	return differs(c, key, qwen ? "qwen2" : all ? "true" : "false", text);
}

static mr_status check_llama(const comparison *c)
{
	int64_t heads = mr_values_int(c->model, "heads"), kv = mr_values_int(c->model, "kv_heads");
	int64_t width = mr_values_int(c->model, "width"), context = mr_values_int(c->model, "context");
	const mr_json *window = given(c, "sliding_window"), *uses = given(c, "use_sliding_window");
	const mr_json *theirs = given(c, "num_attention_heads");

	MR_TRY(is_word(c, "model_type", "llama|mistral|qwen2"));
	MR_TRY(same_int(c, "num_hidden_layers", "layers"));
	MR_TRY(same_int(c, "num_attention_heads", "heads"));
	MR_TRY(same(c, "num_key_value_heads", given(c, "num_key_value_heads"),
		    theirs ? mr_json_double(theirs) : (double)NAN, "kv_heads", (double)(kv ? kv : heads)));
	MR_TRY(same_int(c, "hidden_size", "width"));
	if (mr_values_int(c->model, "hidden"))
		MR_TRY(same_int(c, "intermediate_size", "hidden"));
	MR_TRY(same(c, "head_dim", given(c, "head_dim"), (double)NAN, "width / heads",
		    (double)width / (double)heads));
	MR_TRY(same(c, "rms_norm_eps", given(c, "rms_norm_eps"), 1e-6, "eps", mr_values_float(c->model, "eps")));
	MR_TRY(check_rope(c));
	MR_TRY(is_word(c, "hidden_act", "silu|swish"));
	MR_TRY(is_off(c, "mlp_bias"));
	MR_TRY(check_bias(c));
	if (window && (!uses || mr_json_bool(uses)) && mr_json_double(window) < (double)context) {
		char a[32], b[80];

		snprintf(a, sizeof(a), "%.0f", mr_json_double(window));
		snprintf(b, sizeof(b), "model.context is %lld", (long long)context);
		return differs(c, "sliding_window", a, b);
	}
	return MR_OK;
}

mr_status mr_foreign_config_check(const mr_session *s, const char *folder)
{
	comparison c = {.model = s->job->model.values, .name = s->job->model.name};
	mr_status (*check)(const comparison *) = !strcmp(c.name, "gpt")     ? check_gpt
						 : !strcmp(c.name, "llama") ? check_llama
									    : NULL;
	mr_json *root = NULL;
	mr_status st;
	char *path;

	if (!check)
		return MR_OK;
	if (asprintf(&path, "%s/config.json", folder) < 0)
		return mr_fail(MR_ERESOURCE, "%s: no memory", folder);
	if (access(path, F_OK)) {
		free(path);
		return MR_OK;
	}
	c.path = path;
	st = mr_json_read_file(path, MOST_BYTES, &root);
	if (st != MR_OK && st != MR_ERESOURCE)
		st = mr_fail(MR_ECKPT, "%s", mr_error_text());
	c.root = root;
	if (st == MR_OK && !mr_json_is_object(root))
		st = mr_fail(MR_ECKPT, "%s: is %s, expected an object", path, mr_json_kind(root));
	if (st == MR_OK)
		st = check(&c);
	mr_json_destroy(root);
	free(path);
	return st;
}
