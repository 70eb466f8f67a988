#include "sequential/sequential_loader.h"

#include <stdlib.h>

#include "base/size.h"

uint32_t mr_sequential_loaders(const mr_sequential_config *c)
{
	const mr_data_bytes *b = &c->data->bytes;

	if (!c->n_loaders || c->lists)
		return 0;
	return b->reading ? c->n_loaders : b->on_disk ? 1 : 0;
}

/* As many samples as the threads can have in their hands, twice, and the micro-batch that is trained. */
uint32_t mr_sequential_buffers(const mr_sequential_config *c)
{
	uint64_t n = mr_sequential_loaders(c);

	return n ? (uint32_t)((2 * n + (uint64_t)c->samples - 1) / (uint64_t)c->samples) + 1 : 1;
}

size_t mr_sequential_input_bytes(const mr_sequential_config *c)
{
	return (size_t)c->samples * mr_shape_bytes(c->graph->input, c->kernels->types.activations);
}

size_t mr_sequential_target_bytes(const mr_sequential_config *c)
{
	return (size_t)c->samples * mr_shape_bytes(c->graph->target, c->kernels->types.compute);
}

/* Samples of micro-batch @m. */
static int64_t samples_of(const mr_sequential_loader *l, uint64_t m)
{
	uint64_t each = (uint64_t)l->c->samples, begin = m * each;

	return l->train || begin + each <= l->c->data->n_valid ? l->c->samples : (int64_t)(l->c->data->n_valid - begin);
}

static void make_sample(void *arg, const mr_crew_batch *b, int64_t i)
{
	const mr_sequential_loader *l = arg;
	const mr_dataset *d = l->c->data;
	uint64_t sample = b->micro * (uint64_t)l->c->samples + (uint64_t)i;
	char *input = l->input[b->buffer], *target = l->target[b->buffer];

	input += (size_t)i * (mr_sequential_input_bytes(l->c) / (size_t)l->c->samples);
	target += (size_t)i * (mr_sequential_target_bytes(l->c) / (size_t)l->c->samples);
	if (l->train)
		d->ops->train(d, sample, input, target);
	else
		d->ops->valid(d, sample, input, target);
}

/* Keep the loaders' threads off the cores of the team, if there are others. */
static mr_status restrict_threads(mr_sequential_loader *l)
{
	const mr_place *machine = l->c->machine;
	uint32_t n;

	if (!machine || !machine->bindable || !machine->n_cores_idle)
		return MR_OK;
	l->cpu = calloc(machine->n_cores_idle, sizeof(*l->cpu));
	if (!l->cpu)
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	n = mr_place_idle(machine, &l->c->place->memory, l->cpu);
	mr_crew_restrict(l->crew, l->cpu, n);
	return MR_OK;
}

mr_status mr_sequential_loader_init(mr_sequential_loader *l, const mr_sequential_config *c)
{
	uint32_t threads = mr_sequential_loaders(c);

	*l = (mr_sequential_loader){.c = c, .n = mr_sequential_buffers(c)};
	l->input = calloc(l->n, sizeof(*l->input));
	l->target = calloc(l->n, sizeof(*l->target));
	if (!l->input || !l->target)
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	if (!threads)
		return MR_OK;
	MR_TRY(mr_crew_create(threads, l->n, make_sample, l, &l->crew));
	return restrict_threads(l);
}

void mr_sequential_loader_layout(mr_sequential_loader *l, mr_arena *a)
{
	for (uint32_t i = 0; i < l->n; i++) {
		l->input[i] = mr_arena_take(a, mr_sequential_input_bytes(l->c), MR_CACHE_LINE);
		l->target[i] = mr_arena_take(a, mr_sequential_target_bytes(l->c), MR_CACHE_LINE);
	}
}

void mr_sequential_loader_fini(mr_sequential_loader *l)
{
	mr_crew_destroy(l->crew);
	free(l->cpu);
	free(l->input);
	free(l->target);
	*l = (mr_sequential_loader){0};
}

mr_status mr_sequential_loader_begin(mr_sequential_loader *l, bool train, uint64_t first, uint64_t end)
{
	if (!l->crew)
		return MR_OK;
	l->train = train;
	l->place = l->taken = first;
	l->end = end;
	return mr_crew_start(l->crew, NULL);
}

void mr_sequential_loader_end(mr_sequential_loader *l)
{
	mr_crew_batch b;

	if (!l->crew)
		return;
	while (mr_crew_wait(l->crew, &b))
		;
	mr_crew_stop(l->crew);
}

/* The micro-batch at @place of the order in which they are computed. */
static uint64_t micro_at(const mr_sequential_loader *l, uint64_t place)
{
	uint64_t n = l->c->n_micro, k = place % n;

	return l->train && l->c->sum == MR_SUM_DESCENDING ? place - k + (n - 1 - k) : place;
}

/* The buffer of the micro-batch that was taken last is free again. */
static void post(mr_sequential_loader *l)
{
	for (; l->place < l->end && l->place < l->taken + l->n; l->place++) {
		mr_crew_batch b = {.buffer = (uint32_t)(l->place % l->n), .micro = micro_at(l, l->place)};

		b.n = samples_of(l, b.micro);
		mr_crew_post(l->crew, b);
	}
}

void mr_sequential_loader_next(mr_sequential_loader *l, void **input, void **target)
{
	mr_crew_batch b;

	post(l);
	if (!mr_crew_wait(l->crew, &b))
		return; /* cannot be: the caller asks for no more than it announced */
	l->taken++;
	*input = l->input[b.buffer];
	*target = l->target[b.buffer];
}
