#include "checkpoint/run_manifest.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "checkpoint/identity.h"
#include "ir/endless.h"
#include "session/average_trigger.h"
#include "costs/costs.h"
#include "session/objective_report.h"

#define OPTION_ROOM 128 /* of one system option's value as text */

static const char *const keys[MR_RUN_MANIFEST_MOST] = {
#define MR_FACT(name) [MR_FACT_##name] = #name,
	MR_RUN_MANIFEST(MR_FACT)
#undef MR_FACT
};

static void put(mr_run_manifest *f, mr_fact fact, const char *fmt, ...) MR_PRINTF(3, 4);

static void put(mr_run_manifest *f, mr_fact fact, const char *fmt, ...)
{
	va_list ap;

	assert(f->n < MR_RUN_MANIFEST_MOST); /* else a fact was put twice */
	va_start(ap, fmt);
	vsnprintf(f->text[f->n], sizeof(f->text[f->n]), fmt, ap);
	va_end(ap);
	f->at[f->n].key = keys[fact];
	f->at[f->n].value = f->text[f->n];
	f->n++;
}

/* A long fact, which stays where it is; NULL: there is none. */
static void point(mr_run_manifest *f, mr_fact fact, const char *text)
{
	if (text)
		f->at[f->n++] = (mr_saved_text){keys[fact], text};
}

/* "cosine 0.003 to 0.0003 over 1000 steps, warm-up 10" */
const char *mr_run_manifest_rate(const mr_lr *lr, char *text, size_t size)
{
	static const char *const kinds[] = {
		[MR_LR_CONSTANT] = "constant", [MR_LR_COSINE] = "cosine", [MR_LR_LINEAR] = "linear",
		[MR_LR_STEP] = "step", [MR_LR_ONE_CYCLE] = "one-cycle", [MR_LR_INVERSE_SQRT] = "inverse-sqrt",
		[MR_LR_WSD] = "wsd"};
	static const char *const curves[] = {
		[MR_LR_COOL_LINEAR] = "line", [MR_LR_COOL_COSINE] = "cosine", [MR_LR_COOL_SQRT] = "1 - sqrt"};
	bool falls = lr->kind != MR_LR_CONSTANT && lr->kind != MR_LR_STEP && lr->kind != MR_LR_INVERSE_SQRT;
	mr_strbuf s = {0};

	mr_strbuf_printf(&s, "%s %g", kinds[lr->kind], lr->base);
	if (falls)
		mr_strbuf_printf(&s, " to %g over %" PRIu64 " steps", lr->base * lr->min_ratio, lr->total);
	if (lr->kind == MR_LR_ONE_CYCLE)
		mr_strbuf_printf(&s, " from %g", lr->base * lr->start_ratio);
	if (lr->kind == MR_LR_WSD)
		mr_strbuf_printf(&s, ", the last %" PRIu64 " along a %s", lr->cooldown, curves[lr->curve]);
	if (lr->kind == MR_LR_STEP)
		mr_strbuf_printf(&s, " times %g", lr->gamma);
	for (uint32_t i = 0; i < lr->n_milestones; i++)
		mr_strbuf_printf(&s, "%s %" PRIu64, i ? "," : " behind", lr->milestone[i]);
	if (lr->every)
		mr_strbuf_printf(&s, "%s every %" PRIu64, lr->n_milestones ? " and" : "", lr->every);
	if (lr->warmup)
		mr_strbuf_printf(&s, ", warm-up %" PRIu64, lr->warmup);
	snprintf(text, size, "%s", s.failed ? "unknown" : mr_strbuf_text(&s));
	mr_strbuf_fini(&s);
	return text;
}

/* "backward=lifo waves=2", or "none". */
static const char *options_text(const mr_session *s, char *text, size_t size)
{
	const mr_sched_ops *ops = mr_job_system(s->job);
	const mr_option *o = ops->options;
	size_t n = 0;

	snprintf(text, size, "none");
	for (; o && o->name && n < size; o++) {
		char value[OPTION_ROOM];

		mr_values_print(s->job->system.values, o->name, value, sizeof(value));
		n += (size_t)snprintf(text + n, size - n, "%s%s=%s", n ? " " : "", o->name, value);
	}
	return text;
}

const char *mr_run_manifest_kernels(const mr_session *s, char *text, size_t size)
{
	mr_dtype t = s->kernels->types.weights;

	if (mr_dtype_is_narrow(t) && strcmp(s->kernels->name, "reference") != 0)
		snprintf(text, size, "%s, %s by %s", mr_kernels_library(), mr_dtype_name(t), mr_kernels_isa(t));
	else
		snprintf(text, size, "%s", mr_kernels_library());
	return text;
}

mr_status mr_run_manifest_collect(const mr_session *s, double val_loss, mr_run_manifest *f)
{
	char rate[MR_RATE_ROOM], library[128], options[sizeof(f->text[0])], averaging[sizeof(f->text[0])];
	uint64_t identity, elastic;

	MR_TRY(mr_identity(s, mr_identity_isa(s), &identity));
	MR_TRY(mr_identity_elastic(s, mr_identity_isa(s), &elastic));
	f->n = 0;
	put(f, MR_FACT_millrace, "%s", MR_VERSION);
	put(f, MR_FACT_model, "%s", s->job->model.name);
	put(f, MR_FACT_system, "%s", s->job->system.name);
	put(f, MR_FACT_optimizer, "%s", s->optim.ops->name);
	if (s->optim.form)
		put(f, MR_FACT_state, "%s", s->optim.form->name);
	put(f, MR_FACT_mitigation, "%s", s->mitigate.ops->name);
	put(f, MR_FACT_precision, "%s", mr_types_name(&s->kernels->types));
	put(f, MR_FACT_backend, "%s", s->kernels->name);
	if (s->kernels->choices)
		put(f, MR_FACT_choices, "%016" PRIx64, mr_choices_hash(s->kernels->choices));
	if (*mr_identity_isa(s))
		put(f, MR_FACT_isa, "%s", mr_identity_isa(s));
	put(f, MR_FACT_kernels, "%s", mr_run_manifest_kernels(s, library, sizeof(library)));
	put(f, MR_FACT_slots, "%016" PRIx64, mr_identity_slots(s));
	put(f, MR_FACT_stages, "%u", s->partition.n_stages);
	put(f, MR_FACT_workers, "%u", s->place.n_workers);
	put(f, MR_FACT_threads, "%u", s->place.worker[0].n_threads);
	put(f, MR_FACT_seed, "%lld", (long long)s->job->train.seed);
	put(f, MR_FACT_batch, "%llu", (unsigned long long)s->samples * s->n_micro);
	put(f, MR_FACT_microbatches, "%u", s->n_micro);
	put(f, MR_FACT_parameters, "%llu", (unsigned long long)mr_graph_n_params(mr_session_model(s)));
	put(f, MR_FACT_clip, "%g", s->job->train.clip);
	put(f, MR_FACT_learning_rate, "%s", mr_run_manifest_rate(&s->lr, rate, sizeof(rate)));
	put(f, MR_FACT_options, "%s", options_text(s, options, sizeof(options)));
	if (s->costs)
		put(f, MR_FACT_costs, "%016" PRIx64, s->costs->hash);
	else
		put(f, MR_FACT_costs, "none");
	put(f, MR_FACT_plan, "%016" PRIx64, s->plan_hash);
	put(f, MR_FACT_identity, "%016" PRIx64, identity);
	if (elastic)
		put(f, MR_FACT_elastic, "%016" PRIx64, elastic);
	put(f, MR_FACT_data, "%016" PRIx64, s->data->fingerprint);
	put(f, MR_FACT_vocabulary, "%s", s->data->alphabet ? s->data->alphabet : MR_NO_VOCABULARY);
	if (s->known && s->known->f) {
		put(f, MR_FACT_smoothness, "%.17g (L)", s->known->smoothness);
		put(f, MR_FACT_minimum, "%.17g (f*)", s->known->minimum);
	}
	if (s->known)
		put(f, MR_FACT_gradient, "%.17g at most, of one block (G)", mr_objective_report_largest(s));
	if (isfinite(val_loss))
		put(f, s->data->trains_only ? MR_FACT_best_train_loss : MR_FACT_best_val_loss, "%.17g", val_loss);
	if (*mr_average_fact(s, averaging, sizeof(averaging)))
		put(f, MR_FACT_averaging, "%s", averaging);
	point(f, MR_FACT_configuration, s->resolved);
	point(f, MR_FACT_form, s->form);
	return MR_OK;
}

/* --- comparing --- */

#define OTHER_IDENTITY "other options of the model, the optimizer or the mitigation, or another cut into stages"

/* Facts that must be equal in a checkpoint and its resumption; the first difference is reported, so causes stand before
 * effects. */
static const struct {
	const char *fact;
	const char *other; /* the message if the values themselves tell nothing; NULL: "@name X, ..., @name Y" */
	const char *name;
} common[] = {
	{"model", NULL, "model"},
	{"backend", NULL, "backend"},
	{"choices", "another table of choices (machine.choices)", NULL}, /* of backend auto alone */
	{"precision", NULL, "precision"},
	{"optimizer", NULL, "optimizer"},
	{"state", NULL, "optimizer.state"}, /* f32 if it is not there */
	{"mitigation", NULL, "mitigation"},
	{"seed", NULL, "train.seed"},
	{"batch", NULL, "train.batch"},
	{"system", NULL, "system"},
	{"microbatches", NULL, "train.microbatches"},
	{"workers", NULL, "machine.workers"},
	{"stages", NULL, "stages"},
	{"data", "other data", NULL},
	{"parameters", NULL, "model parameters"},
	{"clip", NULL, "train.clip"},
	{"options", NULL, NULL}, /* compared one by one */
	{"plan", NULL, NULL}, /* see plan_fits */
	{"identity", NULL, NULL}, /* see identity_fits */
};

static const char *fact_now(const mr_run_manifest *f, const char *key)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->at[i].key, key))
			return f->at[i].value;
	return NULL;
}

/* The place of "@name=" in @text, a list in the form of options_text; NULL: it is not there. */
static const char *find_option(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
		if ((at == text || at[-1] == ' ') && at[n] == '=')
			return at;
	return NULL;
}

static mr_status options_fit(const mr_session *s, const char *then)
{
	const mr_sched_ops *ops = mr_job_system(s->job);

	for (const mr_option *o = ops->options; o && o->name; o++) {
		const mr_values *v = s->job->system.values;
		const char *old = find_option(then, o->name);
		char value[OPTION_ROOM];
		size_t n;

		if (!old)
			return mr_fail(MR_ECKPT, "its manifest does not say system.%s", o->name);
		mr_values_print(v, o->name, value, sizeof(value));
		n = strlen(value);
		old += strlen(o->name) + 1;
		if (strncmp(old, value, n) != 0 || (old[n] != ' ' && old[n]))
			return mr_fail(MR_ECKPT, "it was made with system.%s = %.*s and cannot be resumed with %s",
				       o->name, (int)strcspn(old, " "), old, value);
	}
	return MR_OK;
}

/* Everything else that decides a plan is equal. Other costs with the same order are no difference. */
static mr_status plan_fits(const mr_checkpoint *ck, const mr_run_manifest *now)
{
	const char *plan = mr_checkpoint_fact(ck, "plan"), *costs = mr_checkpoint_fact(ck, "costs");

	if (!plan)
		return mr_fail(MR_ECKPT, "its manifest does not say plan");
	if (!strcmp(plan, fact_now(now, "plan")))
		return MR_OK;
	if (!costs || strcmp(costs, fact_now(now, "costs")))
		return mr_fail(
			MR_ECKPT,
			"it was made with an order for other costs and cannot be resumed with this configuration");
	return mr_fail(MR_ECKPT, "it was made with another build's plan %s and cannot be resumed with %s", plan,
		       fact_now(now, "plan"));
}

/* Compare identities as if the instructions of the checkpoint computed @s: others are allowed, with a warning. */
static mr_status identity_fits(const mr_session *s, const mr_checkpoint *ck, const char *then)
{
	const char *isa = mr_checkpoint_fact(ck, "isa");
	uint64_t identity;
	char now[20];

	MR_TRY(mr_identity(s, isa ? isa : "", &identity));
	snprintf(now, sizeof(now), "%016" PRIx64, identity);
	if (!strcmp(then, now))
		return MR_OK;
	return mr_fail(MR_ECKPT, "it was made with " OTHER_IDENTITY " and cannot be resumed with this configuration");
}

/* Facts about who computes what and when: a run that goes on elastically may have others. */
static bool is_of_plan(const char *fact)
{
	static const char *const of_plan[] = {"system", "workers", "stages", "options", "plan", "identity"};

	for (size_t i = 0; i < sizeof(of_plan) / sizeof(of_plan[0]); i++)
		if (!strcmp(fact, of_plan[i]))
			return true;
	return false;
}

/* Does another plan of @s end with the same weights from @ck on? */
static mr_status is_elastic(const mr_session *s, const mr_checkpoint *ck, bool *out)
{
	const char *isa = mr_checkpoint_fact(ck, "isa"), *then = mr_checkpoint_fact(ck, "elastic");
	uint64_t elastic;
	char now[20];

	MR_TRY(mr_identity_elastic(s, isa ? isa : "", &elastic));
	snprintf(now, sizeof(now), "%016" PRIx64, elastic);
	*out = elastic && then && !strcmp(then, now);
	return MR_OK;
}

mr_status mr_run_manifest_fit(const mr_session *s, const mr_checkpoint *ck)
{
	mr_run_manifest f;
	bool elastic;

	MR_TRY(mr_run_manifest_collect(s, NAN, &f));
	MR_TRY(is_elastic(s, ck, &elastic));
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		const char *then = mr_checkpoint_fact(ck, common[i].fact), *now = fact_now(&f, common[i].fact);

		if (elastic && is_of_plan(common[i].fact))
			continue;
		if (!strcmp(common[i].fact, "options")) {
			MR_TRY(options_fit(s, then ? then : ""));
			continue;
		}
		if (!strcmp(common[i].fact, "plan")) {
			MR_TRY(plan_fits(ck, &f));
			continue;
		}
		if (!then && !now && !strcmp(common[i].fact, "choices"))
			continue;
		if (!strcmp(common[i].fact, "state")) {
			then = then ? then : "f32";
			now = now ? now : "f32";
		}
		if (!then)
			return mr_fail(MR_ECKPT, "its manifest does not say %s", common[i].fact);
		if (!strcmp(common[i].fact, "identity")) {
			MR_TRY(identity_fits(s, ck, then));
			continue;
		}
		if (!strcmp(then, now))
			continue;
		if (common[i].other)
			return mr_fail(MR_ECKPT, "it was made with %s and cannot be resumed with this configuration",
				       common[i].other);
		return mr_fail(MR_ECKPT, "it was made with %s %s and cannot be resumed with %s", common[i].name, then,
			       now);
	}
	return MR_OK;
}
