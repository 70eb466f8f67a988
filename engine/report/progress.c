#include "report/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/screen.h"

#define UNKNOWN_COLUMNS 80 /* of a terminal without a known width */

/* One "key value" of the line, and its rank for leaving out fields when the line is too narrow. */
typedef struct mr_progress_field {
	const char *key; /* borrowed */
	char value[48];
	char brief[48];  /* the value in fewer digits */
	unsigned rank;   /* fields leave in the order of their ranks, the lowest first */
	bool left_out;
} mr_progress_field;

/* The most important fields stay longest: the step, the time that is left, and the loss. The other ranks are those of
 * the figures (mr_figure_info.leaves). */
enum {
	RANK_BRIEF = 2, /* here the values of all fields become brief, */
	RANK_TOTAL = 3, /* and here the number of all steps is left out */
	RANK_STEP = 12,
	N_RANKS = 15,
};

#define MAX_FIELDS (MR_N_FIGURES + 1)

typedef struct mr_line {
	mr_progress_field field[MAX_FIELDS]; /* [n] in the order of the line */
	unsigned n;
} mr_line;

/* @brief: the same number by another format; NULL: it has no shorter form. */
static void put(mr_line *l, unsigned rank, const char *key, const char *value, const char *brief)
{
	mr_progress_field *f = &l->field[l->n++];

	*f = (mr_progress_field){.key = key, .rank = rank};
	snprintf(f->value, sizeof(f->value), "%s", value);
	snprintf(f->brief, sizeof(f->brief), "%s", brief ? brief : value);
}

static void put_figure(mr_line *l, const mr_figures *s, mr_figure f, const char *rate_name)
{
	const mr_figure_info *info = &mr_figure_table[f];
	const char *key = info->line;
	char value[32], brief[32];

	if (!key || isnan(s->at[f]))
		return;
	if (!*key)
		key = rate_name;
	if (f == MR_FIGURE_val_loss && s->trains_only)
		key = "all";
	put(l, info->leaves, key, mr_figure_text(f, s->at[f], MR_DIGITS_LINE, value),
	    mr_figure_text(f, s->at[f], MR_DIGITS_BRIEF, brief));
}

static unsigned columns_of(const mr_line *l)
{
	unsigned columns = 0;

	for (unsigned i = 0; i < l->n; i++)
		if (!l->field[i].left_out)
			columns +=
				(columns ? 1 : 0) + (unsigned)(strlen(l->field[i].key) + 1 + strlen(l->field[i].value));
	return columns;
}

/* Leaves out fields and digits until the rest fits into @columns. */
static void narrow(mr_line *l, unsigned columns)
{
	for (unsigned rank = 0; rank < N_RANKS && columns_of(l) > columns; rank++)
		for (unsigned i = 0; i < l->n; i++) {
			l->field[i].left_out |= l->field[i].rank == rank;
			if (rank == RANK_TOTAL && l->field[i].rank == RANK_STEP)
				l->field[i].value[strcspn(l->field[i].value, "/")] = '\0';
			if (rank == RANK_BRIEF)
				memcpy(l->field[i].value, l->field[i].brief, sizeof(l->field[i].brief));
		}
}

static void put_step(mr_line *l, const mr_figures *s)
{
	char text[48];
	int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)s->step);

	if (!isnan(s->steps))
		snprintf(text + n, sizeof(text) - (size_t)n, "/%.0f", s->steps);
	put(l, RANK_STEP, "step", text, NULL);
}

/* The losses, and what else there is, in the order of the table. */
static void put_figures(mr_line *l, const mr_figures *s, const char *rate_name)
{
	put_figure(l, s, MR_FIGURE_loss, rate_name);
	for (int evaluation = 1; evaluation >= 0; evaluation--)
		for (int f = MR_FIGURE_loss + 1; f < MR_N_FIGURES; f++)
			if ((mr_figure_table[f].kind == MR_FIGURE_EVALUATION) == evaluation)
				put_figure(l, s, (mr_figure)f, rate_name);
}

static void print(mr_line *l, bool color, unsigned columns, char line[512])
{
	size_t len = 0;

	if (columns)
		narrow(l, columns);
	line[0] = '\0';
	for (unsigned i = 0; i < l->n && len < 512; i++)
		if (!l->field[i].left_out)
			len += (size_t)snprintf(line + len, 512 - len, "%s%s%s%s %s", len ? " " : "",
						color ? "\033[2m" : "", l->field[i].key, color ? "\033[0m" : "",
						l->field[i].value);
}

void mr_progress_format(const mr_figures *s, const char *rate_name, bool color, unsigned columns, char line[512])
{
	mr_line l = {.n = 0};

	put_step(&l, s);
	put_figures(&l, s, rate_name);
	print(&l, color, columns, line);
}

void mr_progress_without_step(const mr_figures *s, const char *rate_name, unsigned columns, char line[512])
{
	mr_line l = {.n = 0};

	put_figures(&l, s, rate_name);
	print(&l, false, columns, line);
}

mr_progress_params mr_progress_defaults(FILE *out, const char *rate_name)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	int fd = fileno(out);
	bool terminal = fd >= 0 && isatty(fd) && term && strcmp(term, "dumb") != 0;

	return (mr_progress_params){
		.out = out,
		.rate_name = rate_name,
		.terminal = terminal,
		.color = terminal && !(no_color && *no_color),
		.every_seconds = terminal ? 0.2 : 5,
	};
}

void mr_progress_init(mr_progress *p, const mr_progress_params *params)
{
	*p = (mr_progress){.p = *params, .last_seconds = -1};
}

bool mr_progress_due(const mr_progress *p, uint64_t step, double now_seconds)
{
	if (p->last_seconds < 0)
		return true;
	if (step == p->last_step)
		return false;
	if (!p->p.terminal && p->p.every_steps && step / p->p.every_steps != p->last_step / p->p.every_steps)
		return true;
	return now_seconds - p->last_seconds >= p->p.every_seconds;
}

/*
 * The line ends before the last column, and the terminal erases the old text after it. Blanks would not do: after a
 * window has become narrower, as many as the old line had would wrap, and every redraw would begin a new line.
 * The width is read each time.
 */
static void draw(mr_progress *p, const mr_figures *s, double now_seconds)
{
	unsigned columns = p->p.terminal ? mr_screen_columns(p->p.out) : 0;
	char line[512];

	if (p->p.terminal && !columns)
		columns = UNKNOWN_COLUMNS;
	mr_progress_format(s, p->p.rate_name, p->p.color, columns ? columns - 1 : 0, line);
	if (p->p.terminal)
		fprintf(p->p.out, "\r%s\033[K", line);
	else
		fprintf(p->p.out, "%s\n", line);
	fflush(p->p.out);
	p->stands = p->p.terminal;
	p->last_seconds = now_seconds;
	p->last_step = s->step;
	p->last_val_loss = s->val_loss;
}

void mr_progress_update(mr_progress *p, const mr_figures *s, double now_seconds)
{
	if (mr_progress_due(p, s->step, now_seconds))
		draw(p, s, now_seconds);
}

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

void mr_progress_force(mr_progress *p, const mr_figures *s, double now_seconds)
{
	if (p->last_seconds < 0 || p->last_step != s->step || !same(p->last_val_loss, s->val_loss) ||
	    (p->p.terminal && !p->stands))
		draw(p, s, now_seconds);
}

void mr_progress_finish(mr_progress *p)
{
	if (!p->stands)
		return;
	fputc('\n', p->p.out);
	fflush(p->p.out);
	p->stands = false;
}
