#include "timing/aged.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

mr_status mr_aged_create(uint16_t n_stages, uint32_t n_steps, mr_aged **out)
{
	mr_aged *a;

	*out = NULL;
	if (n_stages < 1 || n_steps < 1)
		return mr_fail(MR_EINVAL, "steps that update blocks need both, got %u blocks and %u steps", n_stages,
			       n_steps);
	a = calloc(1, sizeof(*a));
	if (!a)
		return mr_fail(MR_ERESOURCE, "no memory for %u steps", n_steps);
	*a = (mr_aged){
		.n_stages = n_stages,
		.n_steps = n_steps,
		.stage = calloc(n_steps, sizeof(*a->stage)),
		.batch = calloc(n_steps, sizeof(*a->batch)),
		.delay = calloc(n_steps, n_stages * sizeof(*a->delay)),
		.first = calloc(n_stages + 1u, sizeof(*a->first)),
		.steps = calloc(n_steps, sizeof(*a->steps)),
	};
	if (!a->stage || !a->batch || !a->delay || !a->first || !a->steps) {
		mr_aged_destroy(a);
		return mr_fail(MR_ERESOURCE, "no memory for %u steps over %u blocks", n_steps, n_stages);
	}
	*out = a;
	return MR_OK;
}

void mr_aged_destroy(mr_aged *a)
{
	if (!a)
		return;
	free(a->stage);
	free(a->batch);
	free(a->delay);
	free(a->first);
	free(a->steps);
	free(a);
}

mr_status mr_aged_index(mr_aged *a)
{
	memset(a->first, 0, (a->n_stages + 1u) * sizeof(*a->first));
	for (uint32_t k = 0; k < a->n_steps; k++) {
		if (a->stage[k] >= a->n_stages)
			return mr_fail(MR_ECONFIG, "step %u updates stage %u of %u", k, a->stage[k], a->n_stages);
		a->first[a->stage[k] + 1]++;
	}
	for (uint16_t s = 0; s < a->n_stages; s++)
		a->first[s + 1] += a->first[s];
	/* first[s] runs to the end of s while its steps are noted, and is put back by shifting. */
	for (uint32_t k = 0; k < a->n_steps; k++)
		a->steps[a->first[a->stage[k]]++] = k;
	memmove(a->first + 1, a->first, a->n_stages * sizeof(*a->first));
	a->first[0] = 0;
	return MR_OK;
}

uint32_t mr_aged_oldest(const mr_aged *a, uint32_t k, uint64_t at)
{
	uint32_t most = 0;

	for (uint16_t b = 0; b < a->n_stages; b++) {
		uint32_t d = mr_aged_delay(a, k, b);

		d = d < at ? d : (uint32_t)at;
		most = d > most ? d : most;
	}
	return most;
}

void mr_aged_discard(mr_aged *a, uint32_t limit)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < a->n_steps; k++) {
		if (mr_aged_oldest(a, k, n) >= limit)
			continue;
		a->stage[n] = a->stage[k];
		a->batch[n] = a->batch[k];
		memmove(a->delay + (size_t)n * a->n_stages, a->delay + (size_t)k * a->n_stages,
			a->n_stages * sizeof(*a->delay));
		n++;
	}
	a->n_steps = n;
}

/* Steps of @block that are before step @k. */
static uint32_t before(const mr_aged *a, uint16_t block, uint32_t k)
{
	const uint32_t *s = a->steps + a->first[block];
	uint32_t low = 0, high = a->first[block + 1] - a->first[block];

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s[mid] < k)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint32_t mr_aged_version(const mr_aged *a, uint32_t k, uint16_t block)
{
	uint32_t d = mr_aged_delay(a, k, block);

	return before(a, block, d < k ? k - d : 0);
}

uint32_t mr_aged_latest(const mr_aged *a, uint32_t k, uint16_t block)
{
	return before(a, block, k);
}

uint32_t mr_aged_cap(const mr_aged *a, uint16_t block)
{
	uint32_t most = 0;

	for (uint32_t k = 0; k < a->n_steps; k++) {
		uint32_t distance = mr_aged_latest(a, k, block) - mr_aged_version(a, k, block);

		most = distance > most ? distance : most;
	}
	return most + 1;
}

mr_status mr_aged_of_timeline(const mr_unit_time *u, uint32_t n_batches, mr_aged **out)
{
	uint32_t n_steps = u->n_micro * u->n_stages, k = 0;
	/* [n_micro][n_stages] updates before F of (micro, stage) */
	uint32_t *read = malloc((size_t)n_steps * sizeof(*read));
	mr_status st;

	*out = NULL;
	if (!read)
		return mr_fail(MR_ERESOURCE, "no memory for %u steps", n_steps);
	st = mr_aged_create(u->n_stages, n_steps, out);
	for (uint32_t i = 0; st == MR_OK && i < u->n; i++) {
		const mr_unit_op *o = &u->at[i];

		if (!o->backward) {
			read[(size_t)o->micro * u->n_stages + o->stage] = k;
			continue;
		}
		(*out)->stage[k] = o->stage;
		(*out)->batch[k] = o->micro % n_batches;
		for (uint16_t b = 0; b < u->n_stages; b++)
			(*out)->delay[(size_t)k * u->n_stages + b] = k - read[(size_t)o->micro * u->n_stages + b];
		k++;
	}
	free(read);
	return st == MR_OK ? mr_aged_index(*out) : st;
}

/* --- text --- */

/* The next number of the line at *@at, or false. */
static bool number(const char **at, uint64_t *out)
{
	char *end;

	*at += strspn(*at, " \t\r");
	if (!isdigit((unsigned char)**at))
		return false;
	*out = strtoull(*at, &end, 10);
	*at = end;
	return *out <= UINT32_MAX;
}

static bool is_blank(const char *line)
{
	line += strspn(line, " \t\r");
	return !*line || *line == '\n' || *line == '#';
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

static mr_status parse_line(mr_aged *a, const char *name, uint32_t line, const char *at, uint32_t k, uint32_t n_batches)
{
	uint32_t most = a->n_steps / a->n_stages + a->n_stages; /* of an interrupted run, too */

	for (uint32_t i = 0; i < 2u + a->n_stages; i++) {
		uint64_t x;

		if (!number(&at, &x))
			return mr_fail(MR_ECONFIG, "%s:%u: expected a stage, a minibatch and %u delays, got %u numbers",
				       name, line, a->n_stages, i);
		if (i == 0 && x >= a->n_stages)
			return mr_fail(MR_ECONFIG, "%s:%u: expected a stage below %u, got %llu", name, line,
				       a->n_stages, (unsigned long long)x);
		if (i == 1 && n_batches && x >= n_batches && x >= most)
			return mr_fail(MR_ECONFIG,
				       "%s:%u: expected a minibatch below %u, as many as the data have, got %llu", name,
				       line, n_batches, (unsigned long long)x);
		if (i == 0)
			a->stage[k] = (uint16_t)x;
		else if (i == 1)
			a->batch[k] = (uint32_t)x;
		else
			a->delay[(size_t)k * a->n_stages + i - 2] = (uint32_t)x;
	}
	return is_blank(at) ? MR_OK
			    : mr_fail(MR_ECONFIG, "%s:%u: more than a stage, a minibatch and %u delays", name, line,
				      a->n_stages);
}

mr_status mr_aged_parse(const char *name, const char *text, uint16_t n_stages, uint32_t n_batches, mr_aged **out)
{
	uint32_t n_steps = 0, line = 1, k = 0;
	mr_status st;

	*out = NULL;
	for (const char *s = text; *s; s = next_line(s))
		n_steps += !is_blank(s);
	if (!n_steps)
		return mr_fail(MR_ECONFIG, "%s: no steps in it", name);
	st = mr_aged_create(n_stages, n_steps, out);
	for (const char *s = text; st == MR_OK && *s; s = next_line(s), line++)
		if (!is_blank(s))
			st = parse_line(*out, name, line, s, k++, n_batches);
	if (st == MR_OK)
		st = mr_aged_index(*out);
	if (st != MR_OK) {
		mr_aged_destroy(*out);
		*out = NULL;
	}
	return st;
}

void mr_aged_print(const mr_aged *a, mr_strbuf *out)
{
	mr_strbuf_printf(out, "# stage, minibatch, delay at each of %u stages, in updates\n", a->n_stages);
	for (uint32_t k = 0; k < a->n_steps; k++) {
		mr_strbuf_printf(out, "%u %u", a->stage[k], a->batch[k]);
		for (uint16_t b = 0; b < a->n_stages; b++)
			mr_strbuf_printf(out, " %u", mr_aged_delay(a, k, b));
		mr_strbuf_append(out, "\n");
	}
}
