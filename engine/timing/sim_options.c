#include "timing/sim_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mr_status read_jitter(const char *text, mr_walk_opts *p)
{
	static const struct {
		const char *prefix;
		mr_jitter kind;
		double most;
	} kinds[] = {{"lognormal:", MR_JITTER_LOGNORMAL, 10}, {"uniform:", MR_JITTER_UNIFORM, 1}};

	if (!*text)
		return MR_OK;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i].prefix);
		char *end;

		if (strncmp(text, kinds[i].prefix, n) != 0)
			continue;
		p->jitter = kinds[i].kind;
		p->amount = strtod(text + n, &end);
		if (end == text + n || *end || !(p->amount >= 0 && p->amount <= kinds[i].most))
			return mr_fail(MR_EUSAGE, "--jitter: %s takes a number from 0 to %g, got \"%.60s\"",
				       kinds[i].prefix, kinds[i].most, text + n);
		return MR_OK;
	}
	return mr_fail(MR_EUSAGE, "--jitter: expected lognormal:A or uniform:A, such as lognormal:0.1, got \"%.60s\"",
		       text);
}

/* Read one entry of a list, up to the comma or the end; *@rest is where it ends. */
static bool read_straggler(const char *text, mr_straggler *s, const char **rest)
{
	char *end;
	long w = strtol(text, &end, 10);

	*s = (mr_straggler){.to = INFINITY};
	if (end == text || *end != ':' || w < 0 || w >= UINT16_MAX)
		return false;
	s->worker = (uint16_t)w;
	text = end + 1;
	s->factor = strtod(text, &end);
	if (end == text || !(s->factor > 0 && s->factor <= 1e6))
		return false;
	if (*end == ':') {
		text = end + 1;
		s->from = strtod(text, &end);
		if (end == text || *end != '-' || !(s->from >= 0))
			return false;
		text = end + 1;
		s->to = strtod(text, &end);
		if (end == text || !(s->to > s->from) || !isfinite(s->to))
			return false;
	}
	*rest = end;
	return !*end || (*end == ',' && end[1]);
}

static mr_status read_stragglers(const char *text, mr_sim_options *o)
{
	uint32_t n = 1;

	if (!*text)
		return MR_OK;
	for (const char *c = text; *c; c++)
		n += *c == ',';
	o->straggler = calloc(n, sizeof(*o->straggler));
	if (!o->straggler)
		return mr_fail(MR_ERESOURCE, "no memory for %u stragglers", n);
	for (const char *at = text; *at; at += *at == ',') {
		if (!read_straggler(at, &o->straggler[o->params.n_stragglers++], &at))
			return mr_fail(MR_EUSAGE,
				       "--straggler: expected WORKER:FACTOR or WORKER:FACTOR:FROM-TO, such as 2:1.5, "
				       "got \"%.60s\"",
				       text);
	}
	o->params.straggler = o->straggler;
	return MR_OK;
}

mr_status mr_sim_options_read(const mr_values *values, mr_sim_options *out)
{
	*out = (mr_sim_options){.params = {.steals = true}, .jitter_text = mr_values_string(values, "jitter")};
	out->params.seed = (uint64_t)mr_values_int(values, "seed");
	MR_TRY(read_jitter(out->jitter_text, &out->params));
	if (mr_values_is_set(values, "seed") && !*out->jitter_text)
		return mr_fail(MR_EUSAGE, "--seed goes with --jitter, nothing else is drawn; a system's own seed is "
					  "one of its options, see millrace list systems NAME");
	return read_stragglers(mr_values_string(values, "straggler"), out);
}

void mr_sim_options_fini(mr_sim_options *o)
{
	free(o->straggler);
	*o = (mr_sim_options){0};
}

const char *mr_sim_options_text(const mr_sim_options *o, char *text, size_t size)
{
	int n = 0;

	text[0] = 0;
	if (*o->jitter_text)
		n += snprintf(text, size, "jitter %s (seed %llu)", o->jitter_text, (unsigned long long)o->params.seed);
	for (uint32_t i = 0; i < o->params.n_stragglers && n >= 0 && (size_t)n < size; i++) {
		const mr_straggler *s = &o->straggler[i];

		n += snprintf(text + n, size - (size_t)n, "%sworker %u takes %g times as long", n ? ", " : "",
			      s->worker, s->factor);
		if (isfinite(s->to) && n >= 0 && (size_t)n < size)
			n += snprintf(text + n, size - (size_t)n, " from %g to %g", s->from, s->to);
	}
	return text;
}

void mr_sim_options_put(const mr_sim_options *o, mr_json_writer *w)
{
	mr_json_begin_object(w);
	mr_json_field_string(w, "jitter", *o->jitter_text ? o->jitter_text : "none");
	mr_json_field_uint(w, "seed", o->params.seed);
	mr_json_field_array(w, "stragglers");
	for (uint32_t i = 0; i < o->params.n_stragglers; i++) {
		const mr_straggler *s = &o->straggler[i];

		mr_json_begin_object(w);
		mr_json_field_uint(w, "worker", s->worker);
		mr_json_field_double(w, "factor", s->factor);
		mr_json_field_double(w, "from", s->from);
		mr_json_field_double(w, "to", isfinite(s->to) ? s->to : (double)NAN);
		mr_json_end_object(w);
	}
	mr_json_end_array(w);
	mr_json_end_object(w);
}
