#include "logbook/tensorboard.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"
#include "report/png.h"

#define MAX_BYTES (64u << 20)

/* The strings of @object as a table in Markdown. */
static void put_table(const mr_json *object, mr_strbuf *text)
{
	mr_strbuf_append(text, "| | |\n|---|---|\n");
	for (const char *key = NULL; (key = mr_json_next_key(object, key));)
		mr_strbuf_printf(text, "| %s | %s |\n", key, mr_json_string(mr_json_get(object, key)));
}

static mr_status put_texts(mr_events *e, const char *dir, uint64_t step)
{
	char path[PATH_MAX], *config = NULL;
	mr_json *facts = NULL;
	mr_strbuf text = {0};
	size_t len;
	mr_status st;

	snprintf(path, sizeof(path), "%s/run.json", dir);
	MR_TRY(mr_json_read_file(path, MAX_BYTES, &facts));
	put_table(mr_json_get(facts, "about"), &text);
	st = mr_events_text(e, step, "run/about", mr_strbuf_text(&text));
	mr_strbuf_reset(&text);
	put_table(mr_json_get(facts, "environment"), &text);
	if (st == MR_OK)
		st = mr_events_text(e, step, "run/environment", mr_strbuf_text(&text));
	snprintf(path, sizeof(path), "%s/resolved.cfg", dir);
	if (st == MR_OK)
		st = mr_file_read_regular(path, MAX_BYTES, &config, &len);
	mr_strbuf_reset(&text);
	mr_strbuf_printf(&text, "```\n%s```\n", config ? config : "");
	if (st == MR_OK)
		st = mr_events_text(e, step, "run/configuration", mr_strbuf_text(&text));
	mr_strbuf_fini(&text);
	mr_json_destroy(facts);
	free(config);
	return st;
}

mr_status mr_tensorboard_open(const char *dir, uint64_t step, mr_events **out)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s/tensorboard", dir);
	MR_TRY(mr_events_open(folder, step, out));
	return put_texts(*out, dir, step);
}

mr_status mr_tensorboard_timeline(mr_events *e, const mr_run_facts *f, uint64_t step)
{
	uint32_t shares = f->traced ? mr_executor_shares(&f->s->executor) : 1;
	mr_schedule_picture p = {.rec = f->rec,
				 .n_rec = f->n_rec,
				 .n_workers = (uint16_t)(f->s->place.n_workers * shares),
				 .unit = 1e6};
	uint32_t width, height;
	mr_strbuf png = {0};
	mr_status st;

	if (!e || !f->n_rec)
		return MR_OK;
	st = mr_schedule_picture_png(&p, &png, &width, &height);
	if (st == MR_OK) /* under a tag of its own: a tag is of one kind */
		st = mr_events_picture(e, step, "timeline", width, height, png.data, png.len);
	if (st == MR_OK)
		st = mr_events_text(e, step, "run/timeline", f->what);
	mr_strbuf_fini(&png);
	return st;
}
