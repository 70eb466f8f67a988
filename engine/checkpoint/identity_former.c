/* identity_former.c - the identities of older builds, so that their checkpoints can be resumed: frozen, never extended.
 */
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "checkpoint/identity.h"
#include "session/former_head.h"

/* The options ("plug-in.option") and fields of layers of that time. Manifests name the options of systems. */
static const char known[] =
	" "
	"mlp.hidden mlp.width mlp.depth mlp.activation gpt.layers gpt.width gpt.heads gpt.context gpt.dropout "
	"gpt.tied gpt.init_std gpt.embed_std chain.depth chain.init quadratic.blocks quadratic.noise "
	"logistic.blocks logistic.noise logistic.l2 text.path text.vocab text.validation sources.root "
	"sources.vocab sources.validation tokens.path tokens.validation_path tokens.validation tokens.format "
	"tokens.vocab mnist.images mnist.labels mnist.validation_images mnist.validation_labels mnist.validation "
	"mnist.classes mnist.mean mnist.std numbers.x numbers.y numbers.validation synthetic.features "
	"synthetic.classes synthetic.samples synthetic.noise synthetic.validation generated.kind generated.rows "
	"generated.features generated.shift generated.condition generated.seed generated.validation formula.rows "
	"formula.features formula.target formula.validation arrays.matrix arrays.targets arrays.rows "
	"arrays.features arrays.validation_matrix arrays.validation_targets arrays.validation_rows "
	"arrays.validation arrays.numbers libsvm.path libsvm.features libsvm.labels libsvm.validation_path "
	"libsvm.validation sgd.weight_decay momentum.mu momentum.nesterov momentum.weight_decay adam.beta1 "
	"adam.beta2 adam.eps adam.weight_decay adamw.beta1 adamw.beta2 adamw.eps adamw.weight_decay nadam.beta1 "
	"nadam.beta2 nadam.psi nadam.eps nadam.weight_decay nadamw.beta1 nadamw.beta2 nadamw.psi nadamw.eps "
	"nadamw.weight_decay muon.mu muon.nesterov muon.ns_steps muon.adamw_rate muon.beta1 muon.beta2 muon.eps "
	"muon.weight_decay ema.mu ema.nesterov ema.weight_decay lion.beta1 lion.beta2 lion.weight_decay "
	"gap_aware.memory dc_asgd.lambda dc_asgd.adaptive dc_asgd.memory delayed_nesterov.limit "
	"delayed_nesterov.t1_steps spike_compensation.predict layer.out layer.vocab layer.context layer.heads "
	"layer.act layer.no_bias layer.transposed layer.eps layer.rate layer.std layer.value layer.first layer.l2 "
	"layer.noise ";

/* The data that layers and kernels saved when slots were number 2. */
static const char *const saved[] = {
	"slope of GELU",
	"argument of GELU",
	"dz",
	"largest scaled scores and 1 / sums of exponentials, a row of each for every head",
	"probabilities",
	"mean of each row",
	"1 / deviation of each row",
	"1 / root of the mean square of each row",
	"gradient of the penalty",
};

uint64_t mr_identity_former(const mr_session *s)
{
	/* its name in older checkpoints */
	const char *name = s->kernels->name, *backend = strcmp(name, "fused") ? name : "dnnl";
	const mr_job_train *train = &s->job->train;
	uint64_t facts[] = {
		s->data->fingerprint,
		(uint64_t)train->seed,
		(uint64_t)s->samples,
		s->n_micro,
		s->sum,
		s->kernels->dtype,
		s->plan_hash,
	};
	const mr_optim *o = &s->optim;
	double rates[] = {o->mu,           o->b1,       o->b2,     o->eps,       o->psi,
			  o->weight_decay, o->nesterov, o->rounds, o->rest_rate, train->clip};
	uint64_t h = mr_hash64(mr_hash64(0, facts, sizeof(facts)), rates, sizeof(rates));

	h = mr_hash64(h, backend, strlen(backend));
	h = mr_hash64(h, s->optim.ops->name, strlen(s->optim.ops->name));
	if (mr_session_is_mitigated(s)) {
		const mr_mitigate *m = &s->mitigate;
		double set[] = {m->strength, m->memory, m->limit, m->adaptive, m->slow_start, m->predicts};

		h = mr_hash64(mr_hash64(h, m->ops->name, strlen(m->ops->name)), set, sizeof(set));
	}
	for (uint32_t i = 0; i < s->graph->n_nodes; i++) {
		const mr_node *n = &s->graph->nodes[i];

		h = mr_hash64(h, n->name, strlen(n->name));
		h = mr_hash64(h, n->ops->name, strlen(n->ops->name));
		h = mr_hash64(h, &n->cfg.act, sizeof(n->cfg.act));
		h = mr_hash64(h, &n->cfg.heads, sizeof(n->cfg.heads));
		h = mr_hash64(h, &n->cfg.rate, sizeof(n->cfg.rate));
		h = mr_hash64(h, &n->cfg.eps, sizeof(n->cfg.eps));
		h = mr_hash64(h, &n->cfg.l2, sizeof(n->cfg.l2));
		h = mr_hash64(h, &n->cfg.noise, sizeof(n->cfg.noise));
	}
	for (uint32_t i = 0; i < s->graph->n_params; i++) { /* two dimensions where there are no more, as older builds
	                                                       have it */
		const int64_t *now = s->graph->params[i].dim, then[2] = {now[1], now[0]};
		const int64_t *dim = i == mr_former_head_param(s) ? then : now;

		h = mr_hash64(h, dim, (s->graph->params[i].rank > 2 ? MR_MAX_DIMS : 2) * sizeof(*dim));
	}
	return mr_hash64(h, s->partition.first, (s->partition.n_stages + 1u) * sizeof(*s->partition.first));
}

static bool was_there(const char *plugin, const char *option)
{
	char word[130];

	snprintf(word, sizeof(word), " %.60s.%.60s ", plugin, option);
	return strstr(known, word);
}

/* Called with options that are not at their defaults. */
static mr_status check_option(void *plugin, const mr_option *o, const char *text)
{
	if (was_there(plugin, o->name))
		return MR_OK;
	return mr_fail(MR_ECKPT, "it was made before %s had the option %s and cannot be resumed with %s = %s",
		       (const char *)plugin, o->name, o->name, text);
}

static mr_status check_layers(const mr_graph *g)
{
	for (uint32_t i = 0; i < g->n_nodes; i++)
		for (const mr_field *f = mr_layer_cfg_fields; f->name; f++)
			if (!mr_field_is_zero(f, &g->nodes[i].cfg) && !was_there("layer", f->name))
				return mr_fail(MR_ECKPT, "it was made before layers had %s, which %s has", f->name,
					       g->nodes[i].name);
	return MR_OK;
}

mr_status mr_identity_former_has_all(const mr_session *s)
{
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		const mr_choice *c = mr_job_choice_of(s->job, (mr_job_group)g);

		if (c && g != MR_JOB_SYSTEM && (g != MR_JOB_MITIGATION || mr_session_is_mitigated(s)))
			MR_TRY(mr_values_each_changed(c->values, check_option, (void *)c->name));
	}
	return check_layers(s->graph);
}

static bool was_saved(const mr_saved *what)
{
	for (uint32_t i = 0; i < what->n; i++) {
		bool found = false;

		for (size_t j = 0; j < sizeof(saved) / sizeof(saved[0]); j++)
			found = found || !strcmp(what->piece[i].what, saved[j]);
		if (!found)
			return false;
	}
	return true;
}

bool mr_identity_former_slots(const mr_session *s)
{
	for (uint32_t i = 0; i < s->graph->n_nodes; i++) {
		const mr_node *n = &s->graph->nodes[i];
		mr_layer_needs z = {0};

		n->ops->needs(&n->cfg, n->in_shape, s->samples, s->kernels, &z);
		if (!was_saved(&z.aux_i) || !was_saved(&z.aux_w) || !was_saved(&z.kept))
			return false;
	}
	return true;
}
