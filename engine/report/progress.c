#include "report/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"

mr_progress_state mr_progress_state_at(uint64_t step, uint64_t n_steps)
{
	return (mr_progress_state){
		.step = step,
		.n_steps = n_steps,
		.loss = NAN,
		.val_loss = NAN,
		.lr = NAN,
		.rate = NAN,
		.gflops = NAN,
		.peak_gflops = NAN,
		.bubble = NAN,
		.eta_seconds = NAN,
	};
}

typedef struct mr_line {
	char *text;      /* [512] */
	size_t len;      /* bytes, escapes included */
	unsigned columns, limit; /* limit 0: none */
	bool color, full;
} mr_line;

/* Append "key value"; once a pair did not fit, nothing further does, so that what stands is always a prefix. */
static void put(mr_line *l, const char *key, const char *fmt, ...) MR_PRINTF(3, 4);
static void put(mr_line *l, const char *key, const char *fmt, ...)
{
	char value[48];
	unsigned columns;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	columns = (unsigned)(strlen(key) + 1 + strlen(value)) + (l->columns ? 1 : 0);
	if (l->full || (l->limit && l->columns + columns > l->limit)) {
		l->full = true;
		return;
	}
	l->len += (size_t)snprintf(l->text + l->len, 512 - l->len, "%s%s%s%s %s", l->columns ? " " : "",
				   l->color ? "\033[2m" : "", key, l->color ? "\033[0m" : "", value);
	l->columns += columns;
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
	put(l, key, "%.*f%s", x < 9.995 ? 2 : x < 99.95 ? 1 : 0, x, unit);
}

char *mr_loss_text(double x, char buf[32])
{
	snprintf(buf, 32, x == 0 || !isfinite(x) || (fabs(x) >= 1e-3 && fabs(x) < 1e6) ? "%.4f" : "%.4e", x);
	return buf;
}

static unsigned format(const mr_progress_state *s, const char *rate_name, bool color, unsigned columns, char line[512])
{
	mr_line l = {.text = line, .color = color, .limit = columns};
	char eta[16], loss[32];

	line[0] = '\0';
	put(&l, "step", "%llu/%llu", (unsigned long long)s->step, (unsigned long long)s->n_steps);
	if (!isnan(s->loss))
		put(&l, "loss", "%s", mr_loss_text(s->loss, loss));
	if (!isnan(s->val_loss))
		put(&l, "val", "%s", mr_loss_text(s->val_loss, loss));
	if (!isnan(s->lr))
		put(&l, "lr", "%.2e", s->lr);
	if (isfinite(s->rate))
		put_rate(&l, rate_name, s->rate);
	if (isfinite(s->gflops)) {
		put(&l, "gflop/s", "%.1f", s->gflops);
		if (s->peak_gflops > 0 && isfinite(s->peak_gflops))
			put(&l, "peak", "%.0f%%", 100 * s->gflops / s->peak_gflops);
	}
	if (isfinite(s->bubble))
		put(&l, "bubble", "%.1f%%", 100 * s->bubble);
	if (isfinite(s->eta_seconds))
		put(&l, "eta", "%s", mr_duration_text(s->eta_seconds, eta));
	return l.columns;
}

void mr_progress_format(const mr_progress_state *s, const char *rate_name, bool color, unsigned columns, char line[512])
{
	format(s, rate_name, color, columns, line);
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

/* Columns that a line on the terminal may take: asked each time, for windows change. */
static unsigned terminal_columns(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) || size.ws_col < 2)
		return 79;
	return size.ws_col - 1u;
}

static void draw(mr_progress *p, const mr_progress_state *s, double now_seconds)
{
	unsigned before = p->width, width;
	char line[512];

	width = format(s, p->p.rate_name, p->p.color, p->p.terminal ? terminal_columns(p->p.out) : 0, line);
	if (p->p.terminal) {
		fprintf(p->p.out, "\r%s%*s", line, before > width ? (int)(before - width) : 0, "");
		p->width = before > width ? before : width;
	} else {
		fprintf(p->p.out, "%s\n", line);
	}
	fflush(p->p.out);
	p->last_seconds = now_seconds;
	p->last_step = s->step;
}

void mr_progress_update(mr_progress *p, const mr_progress_state *s, double now_seconds)
{
	if (mr_progress_due(p, s->step, now_seconds))
		draw(p, s, now_seconds);
}

void mr_progress_force(mr_progress *p, const mr_progress_state *s, double now_seconds)
{
	if (p->last_seconds < 0 || p->last_step != s->step || (p->p.terminal && !p->width))
		draw(p, s, now_seconds);
}

void mr_progress_clear(mr_progress *p)
{
	if (!p->width)
		return;
	fprintf(p->p.out, "\r%*s\r", (int)p->width, "");
	fflush(p->p.out);
	p->width = 0;
}

void mr_progress_finish(mr_progress *p)
{
	if (!p->width)
		return;
	fputc('\n', p->p.out);
	fflush(p->p.out);
	p->width = 0;
}
