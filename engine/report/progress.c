#include "report/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "report/screen.h"

#define UNKNOWN_COLUMNS 80 /* of a terminal without a known width */

mr_progress_state mr_progress_state_at(uint64_t step, uint64_t n_steps)
{
	return (mr_progress_state){
		.step = step,
		.n_steps = n_steps,
		.loss = NAN,
		.val_loss = NAN,
		.perplexity = NAN,
		.auc = NAN,
		.accuracy = NAN,
		.top5 = NAN,
		.lr = NAN,
		.grad_norm = NAN,
		.rate = NAN,
		.gflops = NAN,
		.peak_gflops = NAN,
		.bubble = NAN,
		.eta_seconds = NAN,
	};
}

/* One "key value" of the line, and its rank for leaving out fields when the line is too narrow. */
typedef struct mr_progress_field {
	const char *key; /* borrowed */
	char value[48];
	unsigned rank;   /* fields leave in the order of their ranks, the lowest first */
	bool left_out;
} mr_progress_field;

/* The most important fields stay longest: the step, the time that is left, and the loss. */
enum {
	RANK_PEAK,
	RANK_NORM,
	RANK_LR,
	RANK_GFLOPS,
	RANK_BUBBLE,
	RANK_RATE,
	RANK_TOP5,
	RANK_ACC,
	RANK_VAL,
	RANK_STEP,
	RANK_ETA,
	RANK_LOSS,
	N_RANKS,
};

#define MAX_FIELDS 16

typedef struct mr_line {
	mr_progress_field field[MAX_FIELDS]; /* [n] in the order of the line */
	unsigned n;
} mr_line;

static void put(mr_line *l, unsigned rank, const char *key, const char *fmt, ...) MR_PRINTF(4, 5);
static void put(mr_line *l, unsigned rank, const char *key, const char *fmt, ...)
{
	mr_progress_field *f = &l->field[l->n++];
	va_list ap;

	*f = (mr_progress_field){.key = key, .rank = rank};
	va_start(ap, fmt);
	vsnprintf(f->value, sizeof(f->value), fmt, ap);
	va_end(ap);
}

/* "950", "12.3k", "1.23M": three digits, without a blank, so that a pair stays two words. */
static void put_rate(mr_line *l, const char *key, double x)
{
	static const char units[] = {0, 'k', 'M', 'G', 'T'};
	char unit[2] = "";
	size_t u = 0;

	while (x >= 999.5 && u + 1 < sizeof(units)) {
		x /= 1000;
		u++;
	}
	unit[0] = units[u];
	put(l, RANK_RATE, key, "%.*f%s", x < 9.995 ? 2 : x < 99.95 ? 1 : 0, x, unit);
}

char *mr_loss_text(double x, char buf[32])
{
	snprintf(buf, 32, x == 0 || !isfinite(x) || (fabs(x) >= 1e-3 && fabs(x) < 1e6) ? "%.4f" : "%.4e", x);
	return buf;
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

/* Leaves out fields until the others fit into @columns. */
static void narrow(mr_line *l, unsigned columns)
{
	for (unsigned rank = 0; rank < N_RANKS && columns_of(l) > columns; rank++)
		for (unsigned i = 0; i < l->n; i++)
			l->field[i].left_out |= l->field[i].rank == rank;
}

static void fill(mr_line *l, const mr_progress_state *s, const char *rate_name)
{
	char text[32];

	put(l, RANK_STEP, "step", "%llu/%llu", (unsigned long long)s->step, (unsigned long long)s->n_steps);
	if (!isnan(s->loss))
		put(l, RANK_LOSS, "loss", "%s", mr_loss_text(s->loss, text));
	if (!isnan(s->val_loss))
		put(l, RANK_VAL, s->trains_only ? "all" : "val", "%s", mr_loss_text(s->val_loss, text));
	if (!isnan(s->perplexity))
		put(l, RANK_ACC, "ppl", "%.4g", s->perplexity);
	if (!isnan(s->accuracy))
		put(l, RANK_ACC, "acc", "%.1f%%", 100 * s->accuracy);
	if (!isnan(s->top5))
		put(l, RANK_TOP5, "top5", "%.1f%%", 100 * s->top5);
	if (!isnan(s->auc))
		put(l, RANK_ACC, "auc", "%.4f", s->auc);
	if (!isnan(s->lr))
		put(l, RANK_LR, "lr", "%.2e", s->lr);
	if (!isnan(s->grad_norm))
		put(l, RANK_NORM, "norm", "%.3g", s->grad_norm);
	if (isfinite(s->rate))
		put_rate(l, rate_name, s->rate);
	if (isfinite(s->gflops)) {
		put(l, RANK_GFLOPS, "gflop/s", "%.1f", s->gflops);
		if (s->peak_gflops > 0 && isfinite(s->peak_gflops))
			put(l, RANK_PEAK, "peak", "%.0f%%", 100 * s->gflops / s->peak_gflops);
	}
	if (isfinite(s->bubble))
		put(l, RANK_BUBBLE, "bubble", "%.1f%%", 100 * s->bubble);
	if (isfinite(s->eta_seconds))
		put(l, RANK_ETA, "eta", "%s", mr_duration_text(s->eta_seconds, text));
}

void mr_progress_format(const mr_progress_state *s, const char *rate_name, bool color, unsigned columns, char line[512])
{
	mr_line l = {.n = 0};
	size_t len = 0;

	fill(&l, s, rate_name);
	if (columns)
		narrow(&l, columns);
	line[0] = '\0';
	for (unsigned i = 0; i < l.n && len < 512; i++)
		if (!l.field[i].left_out)
			len += (size_t)snprintf(line + len, 512 - len, "%s%s%s%s %s", len ? " " : "",
						color ? "\033[2m" : "", l.field[i].key, color ? "\033[0m" : "",
						l.field[i].value);
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
static void draw(mr_progress *p, const mr_progress_state *s, double now_seconds)
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

void mr_progress_update(mr_progress *p, const mr_progress_state *s, double now_seconds)
{
	if (mr_progress_due(p, s->step, now_seconds))
		draw(p, s, now_seconds);
}

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

void mr_progress_force(mr_progress *p, const mr_progress_state *s, double now_seconds)
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
