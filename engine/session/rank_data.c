#include "session/rank_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/notice.h"
#include "data/absent.h"
#include "ranks/rank_texts.h"
#include "session/objective_report.h"
#include "session/rank_identity.h"
#include "session/session_internal.h"

/* --- before the plan --- */

/* What was said as this rank looked for the files is said once it is known that it reads them. */
static void say(mr_session *s)
{
	for (const char *at = s->data_notices; at && *at; at += strcspn(at, "\n"), at += *at != 0)
		mr_notice("%.*s", (int)strcspn(at, "\n"), at);
}

static mr_status fail_alone(mr_session *s)
{
	say(s);
	return mr_fail(s->no_data, "%s", s->no_data_text);
}

/* What others know of the data becomes the data of @s. */
static mr_status take(mr_session *s, const char *text)
{
	mr_dataset *d;

	MR_TRY(mr_absent_create(mr_job_data(s->job), text, &d));
	mr_dataset_close(s->data);
	s->data = d;
	return MR_OK;
}

/* Rank 0, which has @text[0] itself: the texts of all, compared; *@giver: the lowest rank that has data, or 0. */
static mr_status compare(const mr_ranks *r, char **text, uint32_t *giver)
{
	for (uint32_t i = 1; i < r->n; i++) {
		MR_TRY(mr_rank_texts_swap(r, i, NULL, &text[i]));
		if (!text[i])
			return mr_fail(MR_EINVAL, "rank %u says nothing of itself", i);
	}
	for (*giver = 0; *giver < r->n && !mr_absent_in(text[*giver]);)
		++*giver;
	*giver %= r->n;
	for (uint32_t i = 0; i < r->n; i++)
		if (i != *giver)
			MR_TRY(mr_rank_texts_compare(r, *giver, text[*giver], i, text[i]));
	return MR_OK;
}

static mr_status lead(mr_session *s, char **text)
{
	uint32_t giver;
	char *none;

	MR_TRY(compare(s->ranks, text, &giver));
	if (!mr_absent_in(text[giver]))
		return fail_alone(s);
	for (uint32_t i = 1; i < s->ranks->n; i++)
		if (!mr_absent_in(text[i]))
			MR_TRY(mr_rank_texts_swap(s->ranks, i, text[giver], &none));
	return s->data ? MR_OK : take(s, text[giver]);
}

/* Rank 0 with @own, its text. */
static mr_status lead_all(mr_session *s, char *own)
{
	char **text = calloc(s->ranks->n, sizeof(*text));
	mr_status st;

	if (!text)
		return mr_fail(MR_ERESOURCE, "no memory for the texts of %u ranks", s->ranks->n);
	text[0] = own;
	st = lead(s, text);
	for (uint32_t i = 1; i < s->ranks->n; i++)
		free(text[i]);
	free(text);
	return st;
}

static mr_status follow(mr_session *s, const char *own)
{
	mr_status st = MR_OK;
	char *text;

	MR_TRY(mr_rank_texts_swap(s->ranks, 0, own, &text));
	if (s->data)
		return MR_OK;
	MR_TRY(mr_rank_texts_swap(s->ranks, 0, NULL, &text));
	st = take(s, text);
	free(text);
	return st;
}

mr_status mr_rank_data_open(mr_session *s, const mr_data_want *want)
{
	mr_strbuf b = {0}, notices = {0}, *before = mr_notice_to(&notices);
	mr_status st;
	char *own;

	s->no_data = mr_job_blame(s->job, MR_JOB_DATA, "name",
				  mr_dataset_look(mr_job_data(s->job), s->job->data.values, want, &s->data));
	mr_notice_to(before);
	s->data_notices = mr_strbuf_take(&notices);
	if (s->no_data != MR_OK)
		s->no_data_text = strdup(mr_error_text());
	mr_rank_program(s, &b);
	if (s->data)
		mr_absent_print(s->data, false, &b);
	own = mr_strbuf_take(&b);
	if (!own || (!s->data && !s->no_data_text))
		st = mr_fail(MR_ERESOURCE, "no memory for what another rank knows");
	else
		st = s->ranks->self ? follow(s, own) : lead_all(s, own);
	free(own);
	return st;
}

/* --- behind it --- */

/* Rank 0 also computes constants of the theory's objectives, from all rows. */
static bool reads(const mr_session *s, uint32_t rank)
{
	const mr_plan *p = s->plan;
	uint32_t n = s->n_shares ? s->n_shares : 1;

	if (!rank && mr_objective_report_bytes(s))
		return true;
	for (uint32_t q = 0; q < n; q++)
		for (uint8_t pipe = 0; pipe < p->n_pipes; pipe++) {
			const uint32_t *of = s->ranks->of_worker + q * s->place.n_workers;

			if (of[mr_plan_worker(p, pipe, 0)] == rank ||
			    of[mr_plan_worker(p, pipe, (uint16_t)(p->n_stages - 1))] == rank)
				return true;
		}
	return false;
}

mr_status mr_rank_data_settle(mr_session *s)
{
	mr_strbuf b = {0};
	mr_status st;

	if (reads(s, s->ranks->self)) {
		if (s->no_data != MR_OK)
			return fail_alone(s);
		say(s);
		return MR_OK;
	}
	if (s->no_data != MR_OK)
		return MR_OK;
	mr_absent_print(s->data, false, &b);
	st = b.failed ? mr_fail(MR_ERESOURCE, "no memory for what is known of the data") : take(s, mr_strbuf_text(&b));
	mr_strbuf_fini(&b);
	return st;
}

static const char weights_line[] = "\nclass weights:", form_line[] = "\nform: ";

/* What the loaded @s knows of its data. */
static mr_status print_loaded(const mr_session *s, char **out)
{
	const mr_graph *g = s->graph;
	mr_strbuf b = {0};

	mr_absent_print(s->data, true, &b);
	mr_strbuf_append(&b, weights_line + 1);
	for (uint32_t i = 0; g->class_weight && i < g->n_class_weights; i++)
		mr_strbuf_printf(&b, " %.17g", g->class_weight[i]);
	if (s->form)
		mr_strbuf_printf(&b, "%s%s", form_line, s->form);
	*out = mr_strbuf_take(&b);
	return *out ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for what is known of the data");
}

static mr_status take_loaded(mr_session *s, const char *text)
{
	const char *form = strstr(text, form_line), *weights = strstr(text, weights_line);
	char *at = (char *)(uintptr_t)weights + strlen(weights_line);

	MR_TRY(take(s, text));
	for (uint32_t i = 0; s->graph->class_weight && i < s->graph->n_class_weights; i++)
		s->graph->class_weight[i] = strtod(at, &at);
	if (form && !(s->form = strdup(form + strlen(form_line))))
		return mr_fail(MR_ERESOURCE, "no memory for the form of the data");
	return MR_OK;
}

/* @text: what this rank has loaded; NULL: it does not read. */
static mr_status swap_loaded(mr_session *s, uint32_t giver, char **text)
{
	const mr_ranks *r = s->ranks;
	char *none;

	if (r->self == giver)
		MR_TRY(print_loaded(s, text));
	else if (!r->self || !reads(s, r->self))
		MR_TRY(mr_rank_texts_swap(r, r->self ? 0 : giver, NULL, text));
	if (r->self && r->self == giver)
		return mr_rank_texts_swap(r, 0, *text, &none);
	for (uint32_t i = 1; !r->self && i < r->n; i++)
		if (!reads(s, i))
			MR_TRY(mr_rank_texts_swap(r, i, *text, &none));
	return reads(s, r->self) ? MR_OK : take_loaded(s, *text);
}

mr_status mr_rank_data_load(mr_session *s)
{
	uint32_t giver = s->ranks->n, n_read = 0;
	char *text = NULL;
	mr_status st;

	for (uint32_t i = s->ranks->n; i--;)
		if (reads(s, i)) {
			giver = i;
			n_read++;
		}
	if (reads(s, s->ranks->self))
		MR_TRY(mr_session_load_here(s));
	if (n_read == s->ranks->n)
		return MR_OK;
	st = swap_loaded(s, giver, &text);
	free(text);
	return st;
}
