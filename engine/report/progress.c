#include "report/progress.h"

#include <math.h>
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
		.step_ms = NAN,
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
	char brief[48];  /* the value in fewer digits */
	unsigned rank;   /* fields leave in the order of their ranks, the lowest first */
	bool left_out;
} mr_progress_field;

/* The most important fields stay longest: the step, the time that is left, and the loss. */
enum {
	RANK_PEAK,
	RANK_GFLOPS,
	RANK_BRIEF, /* here the values of all fields become brief, */
	RANK_TOTAL, /* and here the number of all steps is left out */
	RANK_TOP5,
	RANK_ACC,
	RANK_NORM,
	RANK_LR,
	RANK_MS,
	RANK_RATE,
	RANK_VAL,
	RANK_BUBBLE,
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

/* @brief: the same number by another format; NULL: it has no shorter form. */
static void put(mr_line *l, unsigned rank, const char *key, const char *value, const char *brief)
{
	mr_progress_field *f = &l->field[l->n++];

	*f = (mr_progress_field){.key = key, .rank = rank};
	snprintf(f->value, sizeof(f->value), "%s", value);
	snprintf(f->brief, sizeof(f->brief), "%s", brief ? brief : value);
}

static void put_number(mr_line *l, unsigned rank, const char *key, int digits, int brief, const char *unit, double x)
{
	char value[48], text[24];

	snprintf(value, sizeof(value), "%.*f%s", digits, x, unit);
	snprintf(text, sizeof(text), "%.*f%s", brief, x, unit);
	put(l, rank, key, value, text);
}

/* "950", "12.3k", "1.23M": @digits digits, without a blank, so that a pair stays two words. */
static void rate_text(double x, int digits, char text[24])
{
	static const char units[] = {0, 'k', 'M', 'G', 'T'};
	char unit[2] = "";
	double most = 1000 - 0.5 * pow(10, 3 - digits);
	size_t u = 0;
	int before;

	while (x >= most && u + 1 < sizeof(units)) {
		x /= 1000;
		u++;
	}
	unit[0] = units[u];
	before = x < 10 - 5 * pow(10, -digits) ? 1 : x < 100 - 50 * pow(10, -digits) ? 2 : 3;
	snprintf(text, 24, "%.*f%s", digits > before ? digits - before : 0, x, unit);
}

static void put_rate(mr_line *l, unsigned rank, const char *key, double x)
{
	char value[24], brief[24];

	rate_text(x, 3, value);
	rate_text(x, 2, brief);
	put(l, rank, key, value, brief);
}

/* "3.00e-04", in brief "3e-4". */
static void put_lr(mr_line *l, double x)
{
	char value[24], brief[24], *e;

	snprintf(value, sizeof(value), "%.2e", x);
	snprintf(brief, sizeof(brief), "%.1e", x);
	e = strchr(brief, 'e');
	if (e && x != 0 && isfinite(x)) {
		int power = atoi(e + 1);
		bool whole = e[-1] == '0';

		snprintf(brief + (whole ? 1 : 3), sizeof(brief) - 3, "e%d", power);
	}
	put(l, RANK_LR, "lr", value, x == 0 ? "0" : brief);
}

static void put_norm(mr_line *l, double x)
{
	char value[24], brief[24];

	snprintf(value, sizeof(value), "%.3g", x);
	snprintf(brief, sizeof(brief), "%.2g", x);
	put(l, RANK_NORM, "norm", value, brief);
}

static void put_loss(mr_line *l, unsigned rank, const char *key, double x)
{
	char value[32], brief[24];

	mr_loss_text(x, value);
	snprintf(brief, sizeof(brief), strchr(value, 'e') ? "%.2e" : "%.3f", x);
	put(l, rank, key, value, fabs(x) < 0.1 ? NULL : brief);
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

static void fill(mr_line *l, const mr_progress_state *s, const char *rate_name)
{
	char text[48];

	snprintf(text, sizeof(text), "%llu/%llu", (unsigned long long)s->step, (unsigned long long)s->n_steps);
	put(l, RANK_STEP, "step", text, NULL);
	if (!isnan(s->loss))
		put_loss(l, RANK_LOSS, "loss", s->loss);
	if (!isnan(s->val_loss))
		put_loss(l, RANK_VAL, s->trains_only ? "all" : "val", s->val_loss);
	if (!isnan(s->perplexity)) {
		snprintf(text, sizeof(text), "%.4g", s->perplexity);
		put(l, RANK_ACC, "ppl", text, NULL);
	}
	if (!isnan(s->accuracy))
		put_number(l, RANK_ACC, "acc", 1, 1, "%", 100 * s->accuracy);
	if (!isnan(s->top5))
		put_number(l, RANK_TOP5, "top5", 1, 1, "%", 100 * s->top5);
	if (!isnan(s->auc))
		put_number(l, RANK_ACC, "auc", 4, 3, "", s->auc);
	if (!isnan(s->lr))
		put_lr(l, s->lr);
	if (!isnan(s->grad_norm))
		put_norm(l, s->grad_norm);
	if (isfinite(s->rate))
		put_rate(l, RANK_RATE, rate_name, s->rate);
	if (isfinite(s->step_ms))
		put_rate(l, RANK_MS, "ms", s->step_ms);
	if (isfinite(s->gflops)) {
		put_number(l, RANK_GFLOPS, "gflop/s", 1, 1, "", s->gflops);
		if (s->peak_gflops > 0 && isfinite(s->peak_gflops))
			put_number(l, RANK_PEAK, "peak", 0, 0, "%", 100 * s->gflops / s->peak_gflops);
	}
	if (isfinite(s->bubble))
		put_number(l, RANK_BUBBLE, "bubble", 1, 0, "%", 100 * s->bubble);
	if (isfinite(s->eta_seconds))
		put(l, RANK_ETA, "eta", mr_duration_text(s->eta_seconds, text), NULL);
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
