#include "session/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/str.h"
#include "costs/costs.h"
#include "session/host_map.h"
#include "session/objective_report.h"
#include "session/memory_plan.h"
#include "session/merges.h"
#include "session/class_weights.h"
#include "session/frozen.h"
#include "session/rank_data.h"
#include "session/rank_identity.h"
#include "session/shares.h"
#include "session/session_internal.h"
#include "host/limits.h"
#include "host/memory.h"
#include "data/text.h"
#include "data/tokenized.h"
#include "planner/graph_objective.h"

/* Files up to this part of the available memory are kept in memory (and never more than MR_DATA_KEEP). */
#define KEEP_PART 8

/* More loaders are to be asked for. */
#define MOST_LOADERS 8

static uint64_t memory_limit(const mr_session *s)
{
	uint64_t limit = (uint64_t)s->job->machine.memory_limit;
	uint64_t have = s->topo.memory_available_bytes;

	return limit && (limit < have || !have) ? limit : have;
}

static uint64_t keep_bytes(const mr_session *s)
{
	uint64_t limit = (uint64_t)s->job->machine.memory_limit;
	mr_limits have;

	mr_limits_read("", &have);
	limit = limit && limit < have.memory_bytes ? limit : have.memory_bytes;
	return limit / KEEP_PART < MR_DATA_KEEP ? limit / KEEP_PART + 1 : MR_DATA_KEEP;
}

/* From now on files are judged by the limit of this job. A job without one, such as a candidate that is looked at
 * beside others, leaves a limit that is there. */
static void limit_reading(mr_session *s)
{
	uint64_t limit = (uint64_t)s->job->machine.memory_limit;
	mr_limits have;

	if (!limit && mr_room_is_limited())
		return;
	mr_limits_read("", &have);
	mr_room_limit(limit && limit < have.memory_bytes ? limit : have.memory_bytes);
	s->limits_reading = true;
}

uint32_t mr_session_loaders(const mr_session *s)
{
	uint32_t idle = s->place.n_cores_idle < MOST_LOADERS ? s->place.n_cores_idle : MOST_LOADERS;

	return s->job->machine.loaders ? (uint32_t)s->job->machine.loaders : idle ? idle : 1;
}

void mr_session_ends_reading(mr_session *s)
{
	if (s->limits_reading)
		mr_room_limit(0);
	s->limits_reading = false;
}

/* What spells the tokens of a trained model, without a text. */
static mr_status open_vocabulary(mr_session *s, const mr_data_want *want)
{
	const mr_dataset_ops *ops = mr_job_data(s->job);

	if (!want->context)
		return mr_fail(MR_ECONFIG, "only a model of text can write a sample: %s takes no sequences",
			       mr_job_model(s->job)->name);
	if (strncmp(want->alphabet, MR_TOKENIZER_MARK, strlen(MR_TOKENIZER_MARK)) != 0)
		return mr_text_of_alphabet(want, &s->data);
	return mr_job_blame(s->job, MR_JOB_DATA, "name",
			    mr_tokenized_without_text(ops->options, s->job->data.values, want, &s->data));
}

static mr_status open_data(mr_session *s)
{
	const mr_model_ops *model = mr_job_model(s->job);
	const mr_values *mv = s->job->model.values;
	mr_data_want want = {
		.dtype = mr_job_numbers(s->job),
		.seed = (uint64_t)s->job->train.seed,
		.context = model->context ? model->context(mv) : 0,
		.batch = s->job->train.batch,
		.base_dir = s->job->base_dir,
		.keep_bytes = keep_bytes(s),
		.alphabet = s->alphabet,
	};
	mr_model_data md;

	if (s->shapes)
		s->data = s->shapes;
	else if (s->without_text)
		MR_TRY(open_vocabulary(s, &want));
	else if (s->ranks)
		MR_TRY(mr_rank_data_open(s, &want));
	else if (!s->beside)
		MR_TRY(mr_job_blame(s->job, MR_JOB_DATA, "name",
				       mr_dataset_look(mr_job_data(s->job), s->job->data.values,
						       &want, &s->data)));
	md = (mr_model_data){.input = s->data->input,
			     .image = s->data->image.n_dims ? s->data->image : s->data->input,
			     .target = s->data->target,
			     .classes = s->data->classes,
			     .columns = s->data->columns > 0,
			     .source_classes = s->data->source_classes,
			     .frames = s->data->frames,
			     .target_low = s->data->target_low,
			     .target_high = s->data->target_high,
			     .numbers = s->data->numbers,
			     .values = s->data->values};
	MR_TRY(mr_job_blame(s->job, MR_JOB_MODEL, "name", model->build(mv, &md, &s->graph)));
	if (s->job->untied)
		mr_graph_untie(s->graph);
	MR_TRY(mr_job_blame(s->job, MR_JOB_TRAIN, "frozen", mr_session_freeze(s)));
	MR_TRY(mr_job_blame(s->job, MR_JOB_TRAIN, "class_weights", mr_session_weigh_classes(s)));
	return mr_job_blame(s->job, MR_JOB_MACHINE, "shares", mr_session_share(s));
}

static mr_status check_suits(const mr_session *s)
{
	const mr_mitigate_ops *m = s->mitigate.ops;

	if (m->suits && !m->suits(&s->optim))
		return mr_fail(MR_ECONFIG, "%s needs %s; this is %s", m->name, m->suits_text, s->optim.ops->name);
	return m->check ? m->check(&s->mitigate, &s->optim) : MR_OK;
}

bool mr_session_is_mitigated(const mr_session *s)
{
	return s->plan->contract.flush == MR_FLUSH_NONE && !mr_mitigate_is_none(s->mitigate.ops);
}

/* Open the backend of the job, with the table of choices that it names. */
static mr_status open_kernels(mr_session *s)
{
	const char *path = s->job->machine.choices;

	s->own_kernels = *mr_job_kernels(s->job);
	s->kernels = &s->own_kernels;
	if (!s->kernels->choices || !*path)
		return MR_OK;
	MR_TRY(mr_job_blame(s->job, MR_JOB_MACHINE, "choices", mr_choices_read(path, &s->choices)));
	s->own_kernels.choices = s->choices;
	return MR_OK;
}

static mr_status open_all(mr_session *s)
{
	limit_reading(s);
	MR_TRY(open_kernels(s));
	s->n_micro = mr_job_n_micro(s->job);
	s->samples = mr_job_samples(s->job);
	s->lr = mr_job_lr(s->job);
	mr_optim_init(&s->optim, mr_job_optimizer(s->job), s->job->optimizer.values);
	MR_TRY(mr_job_blame(s->job, MR_JOB_OPTIMIZER, "state", mr_optim_fit(&s->optim, &s->kernels->types)));
	mr_mitigate_init(&s->mitigate, mr_job_mitigation(s->job), s->job->mitigation.values);
	MR_TRY(mr_job_blame(s->job, MR_JOB_MITIGATION, "name", check_suits(s)));
	MR_TRY(open_data(s));
	MR_TRY(mr_session_make_plan(s));
	MR_TRY(mr_job_blame(s->job, MR_JOB_MACHINE, "shares", mr_session_check_shares(s)));
	if (s->ranks)
		MR_TRY(mr_rank_data_settle(s));
	s->program_bytes = mr_memory_of_program(s);
	return mr_session_weigh_merges(s);
}

static mr_status open_or_close(mr_session *s)
{
	mr_status st = open_all(s);

	if (st != MR_OK)
		mr_session_close(s);
	return st;
}

/* Check the memory of an open session, and load its data. */
static mr_status load_or_close(mr_session *s)
{
	mr_memory_plan m;
	mr_status st = mr_memory_plan_of(s, NULL, &m);

	if (st == MR_OK)
		st = mr_memory_plan_fits(&m, s);
	s->flops = st == MR_OK ? m.flops : (mr_flops_by){0};
	s->copy_bytes = st == MR_OK ? m.copy : 0;
	s->planned_bytes = st == MR_OK ? m.total : 0;
	s->late_bytes = st == MR_OK ? m.bytes[MR_MEMORY_THREADS] : 0;
	s->working_bytes = st == MR_OK ? m.bytes[MR_MEMORY_READING] + m.bytes[MR_MEMORY_EVALUATION] +
						 m.bytes[MR_MEMORY_MESSAGES] +
						 m.bytes[MR_MEMORY_CHECKPOINT] - m.copy
				       : 0;
	if (st == MR_OK)
		st = mr_session_load(s);
	if (st != MR_OK)
		mr_session_close(s);
	return st;
}

mr_status mr_session_survey(const mr_job *job, mr_session *s)
{
	*s = (mr_session){.job = job};
	return open_or_close(s);
}

mr_status mr_session_load_here(mr_session *s)
{
	MR_TRY(mr_job_blame(s->job, MR_JOB_DATA, "name", mr_dataset_load(s->data)));
	MR_TRY(mr_job_blame(s->job, MR_JOB_TRAIN, "class_weights", mr_session_balance_classes(s)));
	return mr_dataset_form(s->data, &s->form);
}

mr_status mr_session_load(mr_session *s)
{
	return s->ranks ? mr_rank_data_load(s) : mr_session_load_here(s);
}

mr_status mr_session_open(const mr_job *job, mr_session *s)
{
	MR_TRY(mr_session_survey(job, s));
	return load_or_close(s);
}

mr_status mr_session_open_trained(const mr_job *job, const char *alphabet, const char *plan, bool without_text,
				  mr_session *s)
{
	*s = (mr_session){.job = job, .alphabet = alphabet, .plan_path = plan};
	s->without_text = without_text && alphabet;
	MR_TRY(open_or_close(s));
	return s->without_text ? MR_OK : load_or_close(s);
}

mr_status mr_session_open_shapes(const mr_job *job, mr_dataset *shapes, mr_session *s)
{
	*s = (mr_session){.job = job, .shapes = shapes};
	return open_or_close(s);
}

mr_status mr_session_open_plan(const mr_job *job, const char *path, mr_session *s)
{
	*s = (mr_session){.job = job, .plan_path = path};
	MR_TRY(open_or_close(s));
	return load_or_close(s);
}

mr_status mr_session_open_record(const mr_job *job, const char *path, mr_session *s)
{
	*s = (mr_session){.job = job, .plan_path = path, .is_record = true};
	MR_TRY(open_or_close(s));
	return load_or_close(s);
}

mr_status mr_session_open_ranks(const mr_job *job, mr_ranks *ranks, uint64_t values_hash, const char *plan,
				bool is_record, mr_session *s)
{
	*s = (mr_session){.job = job, .ranks = ranks, .values_hash = values_hash, .plan_path = plan,
			  .is_record = is_record};
	MR_TRY(open_or_close(s));
	return load_or_close(s);
}

mr_status mr_session_open_beside(const mr_job *job, const mr_session *other, mr_session *s)
{
	*s = (mr_session){.job = job, .data = other->data, .beside = other, .program_bytes = other->program_bytes,
			  .workers_limit = other->workers_limit, .measured = other->measured};
	return open_or_close(s);
}

mr_run_config mr_session_run_config(const mr_session *s, const mr_session_opts *opts)
{
	const mr_job_train *train = &s->job->train;
	mr_run_config c = {
		.graph = s->graph,
		.partition = &s->partition,
		.plan = s->plan,
		.kernels = s->kernels,
		.data = s->data,
		.optim = &s->optim,
		.lr = &s->lr,
		.mitigate = mr_session_is_mitigated(s) ? &s->mitigate : NULL,
		.steady = s->steady,
		.place = &s->place,
		.clip = train->clip,
		.skip_nonfinite = train->nonfinite == MR_NONFINITE_SKIP,
		.seed = (uint64_t)train->seed,
		.samples = s->samples,
		.memory_limit = memory_limit(s),
		.measures = mr_graph_is_linear(s->graph),
		.n_loaders = mr_session_loaders(s),
		.spin_us = mr_job_spin_us(s->job),
		.ranks = s->ranks,
		.links = s->ranks ? s->ranks->kinds : NULL,
		.norm_every = (uint64_t)train->norm_every,
	};

	if (opts) {
		c.trace = opts->trace;
		c.counts = opts->counts;
		c.record_micro = opts->record_micro;
		c.own_loss = opts->own_loss;
		c.observer = opts->observer;
		c.observer_arg = opts->observer_arg;
	}
	return c;
}

mr_workload mr_session_workload(const mr_session *s)
{
	return (mr_workload){
		.graph = s->graph,
		.partition = &s->partition,
		.plan = s->plan,
		.kernels = s->kernels,
		.optim = &s->optim,
		.topo = &s->topo,
		.place = &s->place,
		.costs = s->costs,
		.hosts = s->hosts ? &s->hosts->hosts : NULL,
		.measured = s->measured,
		.samples = s->samples,
		.n_micro = s->n_micro,
		.clips = s->job->train.clip > 0,
		.n_shares = s->n_shares,
		.shares_here = mr_session_shares_here(s),
	};
}

/* Replicas stop only after an average, and plans that drain only after a drain, so everything for which a run stops
 * must fall there. */
static mr_status check_stops(const mr_session *s)
{
	const struct {
		const char *key;
		int64_t n;
	} stops[] = {{"train.steps", s->job->train.steps},
		     {"train.eval_every", s->job->train.eval_every},
		     {"checkpoint.every", s->job->checkpoint.every}};
	uint32_t each = mr_plan_stride(s->plan);

	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		if (stops[i].n % each)
			return mr_fail(MR_ECONFIG,
				       "%s %s every %u steps, and a run stops only there: %s must be a multiple of %u, "
				       "got %lld",
				       s->plan->system, mr_plan_drains(s->plan) ? "drains" : "averages", each,
				       stops[i].key, each, (long long)stops[i].n);
	return MR_OK;
}

static mr_status meet_ranks(mr_session *s)
{
	mr_strbuf text = {0};
	mr_status st;

	mr_rank_identity(s, &text);
	st = text.failed ? mr_fail(MR_ERESOURCE, "no memory") : MR_OK;
	if (st == MR_OK)
		st = mr_executor_meet(&s->executor, mr_strbuf_text(&text));
	mr_strbuf_fini(&text);
	return st;
}

static mr_status create_executor(mr_session *s, const mr_session_opts *opts)
{
	double watchdog = s->job->machine.watchdog;
	mr_run_config c = mr_session_run_config(s, opts);

	if (c.own_loss && s->graph->class_weight)
		return mr_fail(MR_ECONFIG, "train.class_weights are of the model's loss, and another one takes its "
					   "place");
	if (s->n_shares)
		return mr_session_start_shares(s, &c, opts);
	if (s->ranks)
		return mr_executor_of_ranks(&c, 1, watchdog, s->graph, &s->executor);
	if (!opts || (!opts->source && !opts->clock))
		return mr_executor_of_engine(&c, watchdog, &s->executor);
	return mr_executor_of_replay(&c, opts->source, opts->source_arg, opts->clock, &s->executor);
}

mr_status mr_session_start(mr_session *s, const mr_session_opts *opts)
{
	mr_place_count_free(&s->place); /* the data have taken some of it */
	MR_TRY(mr_job_blame(s->job, MR_JOB_SYSTEM, "name", check_stops(s)));
	MR_TRY(mr_job_blame(s->job, MR_JOB_SYSTEM, "name", create_executor(s, opts)));
	if (s->ranks)
		MR_TRY(meet_ranks(s));
	if (s->copy_bytes && mr_memory_started_fits(s) != MR_OK)
		s->copy_bytes = 0; /* checkpoints are written in the foreground then */
	return mr_memory_started_fits(s);
}

void mr_session_close(mr_session *s)
{
	mr_objective_report_destroy(s->known);
	mr_executor_fini(&s->executor);
	mr_place_fini(&s->place);
	mr_topo_fini(&s->topo);
	mr_plan_destroy(s->plan);
	mr_plan_destroy(s->steady);
	free(s->frozen);
	free(s->merges);
	mr_partition_fini(&s->partition);
	mr_session_end_shares(s);
	mr_graph_destroy(s->graph);
	free(s->network);
	free(s->form);
	free(s->no_data_text);
	free(s->data_notices);
	mr_choices_destroy(s->choices);
	if (s->costs)
		mr_costs_fini(s->costs);
	free(s->costs);
	mr_host_map_destroy(s->hosts);
	if (!s->beside && !s->shapes)
		mr_dataset_close(s->data);
	mr_session_ends_reading(s);
	*s = (mr_session){0};
}

uint64_t mr_session_predicted_bytes(const mr_session *s)
{
	const mr_run *run = mr_executor_run_of(&s->executor);
	uint64_t before = run->before_bytes, late = mr_memory_late_bytes(s);
	uint64_t bytes = run->base_bytes + mr_executor_bytes(&s->executor) + late + s->copy_bytes + s->working_bytes;

	return bytes > before ? bytes : before;
}

int64_t mr_session_tokens_per_sample(const mr_session *s)
{
	const mr_dataset *d = s->data;

	return !d->input.tokens || d->numbers ? 0 : d->frames ? d->target.rows : d->input.rows;
}

bool mr_session_has_perplexity(const mr_session *s)
{
	const mr_layer_cfg *loss = &s->graph->nodes[s->graph->n_nodes - 1].cfg;

	return s->data->target.tokens && s->data->input.tokens && !(loss->smoothing > 0) && !loss->per_sample;
}
