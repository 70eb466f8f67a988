/* page_confusion.c - the confusion matrix as a heat map. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "page/page_internal.h"

#define MOST_NAME 26 /* characters of a class's name at the edge */
#define SPACE 640.0  /* of all cells */
#define GAP 8.0

typedef struct heat_map {
	const mr_json *classes, *rows;
	size_t n;
	double left, top, cell;
} heat_map;

static uint64_t count_at(const heat_map *m, size_t target, size_t prediction)
{
	int64_t n = mr_json_int(mr_json_at(mr_json_at(m->rows, target), prediction));

	return n > 0 ? (uint64_t)n : 0;
}

static const char *name_at(const heat_map *m, size_t i)
{
	const char *s = mr_json_string(mr_json_get(mr_json_at(m->classes, i), "class"));

	return s ? s : "?";
}

/* The name, or its beginning. A character of several bytes stays whole. */
static const char *short_name(const heat_map *m, size_t i, char out[4 * MOST_NAME + 8])
{
	const char *s = name_at(m, i);
	size_t at = 0, n = 0;

	for (size_t len; s[at] && n < MOST_NAME; at += len, n++) {
		len = mr_utf8_length(s + at, strlen(s + at));
		len = len ? len : 1;
	}
	snprintf(out, 4 * MOST_NAME + 8, "%.*s%s", (int)at, s, s[at] ? "..." : "");
	return out;
}

/* A cell is the darker the larger its part of the target's samples; errors have another colour. */
static void put_cell(const heat_map *m, size_t i, size_t k, uint64_t of, const mr_svg *v)
{
	uint64_t n = count_at(m, i, k);
	double x = m->left + (double)k * m->cell, y = m->top + (double)i * m->cell;
	double part = of ? (double)n / (double)of : 0;
	char text[32];

	fprintf(v->out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"currentColor\" "
			"fill-opacity=\"%.2f\"><title>", mr_svg_hue(i == k ? 0 : 1), x, y, m->cell - 1, m->cell - 1,
		n ? 0.08 + 0.52 * part : 0.0);
	mr_svg_escape(v->out, name_at(m, i));
	fputs(i == k ? ", found: " : ", predicted as ", v->out);
	if (i != k) {
		mr_svg_escape(v->out, name_at(m, k));
		fputs(": ", v->out);
	}
	fprintf(v->out, "%llu of %llu</title></rect>\n", (unsigned long long)n, (unsigned long long)of);
	if (!n)
		return;
	if (n < 10000)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	else
		mr_svg_number((double)n, text);
	if (mr_svg_text_width(text, 11) > m->cell - 2)
		return;
	fprintf(v->out, "<text class=\"legend\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		x + m->cell / 2 - 0.5, y + m->cell / 2 + 4, text);
}

/* Above the columns, upright where a name is wider than its column. */
static void put_column_name(const heat_map *m, size_t k, bool upright, const mr_svg *v)
{
	double x = m->left + ((double)k + 0.5) * m->cell;
	char name[4 * MOST_NAME + 8];

	short_name(m, k, name);
	if (!upright) {
		mr_svg_text(v, x, m->top - GAP, "name", name);
		return;
	}
	fprintf(v->out, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">", x + 4, m->top - GAP);
	mr_svg_text(v, 0, 0, "value", name);
	fputs("</g>\n", v->out);
}

static mr_status put_map(heat_map *m, const mr_svg *v)
{
	double widest = 0, width;
	char name[4 * MOST_NAME + 8];
	bool upright;

	for (size_t i = 0; i < m->n; i++)
		widest = fmax(widest, mr_svg_text_width(short_name(m, i, name), 12));
	m->cell = fmin(56, fmax(20, SPACE / (double)m->n));
	upright = widest > m->cell - 4;
	m->left = 34 + widest + GAP;
	m->top = 30 + GAP + (upright ? widest : 12);
	width = fmax(m->left + (double)m->n * m->cell + 12, m->left + 70);
	mr_svg_begin(v, width, m->top + (double)m->n * m->cell + 10, "confusion matrix");
	mr_svg_text(v, m->left + (double)m->n * m->cell / 2, 18, "name", "predicted");
	fprintf(v->out, "<g transform=\"translate(16 %.1f) rotate(-90)\">", m->top + (double)m->n * m->cell / 2);
	mr_svg_text(v, 0, 0, "name", "target");
	fputs("</g>\n", v->out);
	for (size_t i = 0; i < m->n; i++) {
		uint64_t of = 0;

		for (size_t k = 0; k < m->n; k++)
			of += count_at(m, i, k);
		mr_svg_text(v, m->left - GAP, m->top + ((double)i + 0.5) * m->cell + 4, "row", short_name(m, i, name));
		put_column_name(m, i, upright, v);
		for (size_t k = 0; k < m->n; k++)
			put_cell(m, i, k, of, v);
	}
	fprintf(v->out, "<rect class=\"frame\" fill=\"none\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
		m->left - 1, m->top - 1, (double)m->n * m->cell + 1, (double)m->n * m->cell + 1);
	return mr_svg_end(v);
}

mr_status mr_page_confusion(mr_page *p, const mr_json *errors)
{
	heat_map m = {.classes = mr_json_get(errors, "classes"), .rows = mr_json_get(errors, "confusion")};
	mr_svg v;

	m.n = mr_json_size(m.rows);
	v = mr_page_picture(p, true);
	MR_TRY(mr_page_end_picture(p, put_map(&m, &v)));
	mr_page_note(p, "A row has the samples of one target, a column those with one prediction. Blue is right, "
			"orange is wrong, and the colour is the stronger the larger a cell's part of its row is.");
	return MR_OK;
}
