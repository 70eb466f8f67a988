#include "perf/flamegraph/flame.h"

#include <stdlib.h>
#include <string.h>

#include "ir/plan.h"

#define WIDTH 1200.0
#define MARGIN 12.0
#define TOP 74.0   /* title and legend */
#define BOX 18.0   /* height of a frame */
#define LETTER 6.8 /* width of a letter in a box, on the average */
#define NO_OP MR_N_OPS

/* A frame below its parent's, with all samples in it. Number 0 is the root. */
typedef struct frame {
	char *name;
	uint64_t n;
	uint32_t first, next; /* child, sibling; 0: none */
} frame;

struct mr_flame {
	frame *at;
	uint32_t n, capacity, depth;
};

/* --- reading --- */

/* The child of @parent called @name, which is made if there is none; 0 without memory. */
static uint32_t child_of(mr_flame *f, uint32_t parent, const char *name, size_t length)
{
	uint32_t *link = &f->at[parent].first;

	for (; *link; link = &f->at[*link].next)
		if (strlen(f->at[*link].name) == length && !strncmp(f->at[*link].name, name, length))
			return *link;
	if (f->n == f->capacity) {
		size_t at = (size_t)((char *)link - (char *)f->at);
		frame *more = realloc(f->at, 2 * (size_t)f->capacity * sizeof(*more));

		if (!more)
			return 0;
		f->at = more;
		f->capacity *= 2;
		link = (uint32_t *)(void *)((char *)f->at + at);
	}
	f->at[f->n] = (frame){.name = strndup(name, length)};
	if (!f->at[f->n].name)
		return 0;
	*link = f->n;
	return f->n++;
}

static mr_status add_line(mr_flame *f, char *line, uint64_t number)
{
	char *blank = strrchr(line, ' '), *end = NULL;
	uint64_t n = blank ? strtoull(blank + 1, &end, 10) : 0;
	uint32_t at = 0, depth = 0;

	if (!n || *end || blank == line)
		return mr_fail(MR_EDATA, "line %llu: expected frames joined by semicolons, a blank and a number of "
					 "samples, got \"%.60s\"", (unsigned long long)number, line);
	*blank = 0;
	f->at[0].n += n;
	for (char *name = line; name; depth++) {
		char *semicolon = strchr(name, ';');
		size_t length = semicolon ? (size_t)(semicolon - name) : strlen(name);

		at = child_of(f, at, name, length);
		if (!at)
			return mr_fail(MR_ERESOURCE, "no memory for stacks");
		f->at[at].n += n;
		name = semicolon ? semicolon + 1 : NULL;
	}
	f->depth = depth > f->depth ? depth : f->depth;
	return MR_OK;
}

mr_status mr_flame_read(FILE *in, mr_flame **out)
{
	mr_flame *f = calloc(1, sizeof(*f));
	char *line = NULL;
	size_t size = 0;
	uint64_t number = 0;
	ssize_t length;
	mr_status st = MR_OK;

	*out = NULL;
	if (f)
		f->at = calloc(64, sizeof(*f->at));
	if (!f || !f->at) {
		free(f);
		return mr_fail(MR_ERESOURCE, "no memory for stacks");
	}
	f->capacity = 64;
	f->n = 1;
	while (st == MR_OK && (length = getline(&line, &size, in)) > 0) {
		number++;
		if (line[length - 1] == '\n')
			line[length - 1] = 0;
		if (*line)
			st = add_line(f, line, number);
	}
	free(line);
	if (st == MR_OK && !f->at[0].n)
		st = mr_fail(MR_EDATA, "there is no stack: nothing was sampled");
	if (st == MR_OK)
		*out = f;
	else
		mr_flame_destroy(f);
	return st;
}

void mr_flame_destroy(mr_flame *f)
{
	if (!f)
		return;
	for (uint32_t i = 1; i < f->n; i++)
		free(f->at[i].name);
	free(f->at);
	free(f);
}

/* --- drawing --- */

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n >= m && !strcmp(name + n - m, end);
}

/* The instruction that the function @name is part of; NO_OP: its name does not say. */
static unsigned op_of(const char *name)
{
	const char *pass = strchr(name, ':'); /* stage/layer_symbols.h */

	if (pass && (!strncmp(pass, ":x_W:", 5) || !strncmp(pass, ":F:", 3)))
		return MR_OP_F;
	if (pass && (!strncmp(pass, ":dW:", 4) || !strncmp(pass, ":W:", 3)))
		return MR_OP_W;
	if (pass && (!strncmp(pass, ":dz_W^T", 7) || !strncmp(pass, ":I:", 3) || !strncmp(pass, ":B:", 3)))
		return MR_OP_I;
	if (ends_in(name, "_forward"))
		return MR_OP_F;
	if (ends_in(name, "_backward_input"))
		return MR_OP_I;
	if (ends_in(name, "_backward_weight") || ends_in(name, "_backward_weights"))
		return MR_OP_W;
	if (!strcmp(name, "mr_exec_commit") || !strncmp(name, "mr_weights_step", 15))
		return MR_OP_U;
	return NO_OP;
}

/* " (x W)" behind the name of a layer's pass that is a product. */
static const char *product_of(const char *name)
{
	static const char *const layers[] = {"linear_", "conv_", "lstm_", "gru_"};
	unsigned op = op_of(name);

	for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
		if (!strncmp(name, layers[i], strlen(layers[i])))
			return op == MR_OP_F ? " (x W)" : op == MR_OP_I ? " (dz W^T)" : op == MR_OP_W ? " (dW)" : "";
	return "";
}

typedef struct drawing {
	const mr_flame *f;
	const mr_svg *v;
	double least, bottom;
} drawing;

static void put_box(const drawing *d, const frame *x, double left, double wide, uint32_t depth, unsigned op)
{
	double top = d->bottom - (depth + 1) * BOX;
	char text[256], cut[256];
	size_t fit = wide > 14 ? (size_t)((wide - 6) / LETTER) : 0;

	snprintf(text, sizeof(text), "%.200s%s", x->name, product_of(x->name));
	for (char *c = text; strchr(x->name, ':') && op_of(x->name) != NO_OP && *c; c++)
		*c = *c == '_' || *c == ':' ? ' ' : *c;
	fprintf(d->v->out, "<g><title>");
	mr_svg_escape(d->v->out, text);
	fprintf(d->v->out, ": %llu samples, %.2f%%</title><rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
			   "height=\"%.1f\"/>",
		(unsigned long long)x->n, 100.0 * (double)x->n / (double)d->f->at[0].n,
		op == NO_OP ? "soft frame" : mr_svg_op(op), left, top, wide > 0.6 ? wide - 0.4 : wide, BOX - 1);
	if (fit >= 3) {
		snprintf(cut, sizeof(cut), strlen(text) > fit ? "%.*s.." : "%.*s",
			 (int)(strlen(text) > fit ? fit - 2 : fit), text);
		fprintf(d->v->out, "<text class=\"value\" x=\"%.1f\" y=\"%.1f\"", left + 3, top + BOX - 5);
		if (op != NO_OP)
			fprintf(d->v->out, " style=\"fill:%s\"", mr_svg_op_text(op));
		fputc('>', d->v->out);
		mr_svg_escape(d->v->out, cut);
		fputs("</text>", d->v->out);
	}
	fprintf(d->v->out, "</g>\n");
}

/* Samples of @a and @b, for qsort: siblings stand by name, so that two pictures can be compared. */
typedef struct sibling {
	const frame *x;
} sibling;

static int by_name(const void *a, const void *b)
{
	const sibling *x = a, *y = b;

	return strcmp(x->x->name, y->x->name);
}

static void put_children(const drawing *d, const frame *parent, double left, uint32_t depth, unsigned op)
{
	uint32_t n = 0, k = 0;
	sibling *s;

	for (uint32_t i = parent->first; i; i = d->f->at[i].next)
		n++;
	s = n ? calloc(n, sizeof(*s)) : NULL;
	if (!s)
		return;
	for (uint32_t i = parent->first; i; i = d->f->at[i].next)
		s[k++].x = &d->f->at[i];
	qsort(s, n, sizeof(*s), by_name);
	for (k = 0; k < n; k++) {
		double part = (double)s[k].x->n / (double)d->f->at[0].n, wide = part * (WIDTH - 2 * MARGIN);
		unsigned own = op_of(s[k].x->name);

		if (part >= d->least) {
			unsigned inside = own == NO_OP ? op : own;

			put_box(d, s[k].x, left, wide, depth, inside);
			put_children(d, s[k].x, left, depth + 1, inside);
		}
		left += wide;
	}
	free(s);
}

/* Frames above each other that are wide enough to be drawn. */
static uint32_t depth_of(const mr_flame *f, const frame *parent, double least)
{
	uint32_t most = 0;

	for (uint32_t i = parent->first; i; i = f->at[i].next)
		if ((double)f->at[i].n >= least * (double)f->at[0].n) {
			uint32_t own = 1 + depth_of(f, &f->at[i], least);

			most = own > most ? own : most;
		}
	return most;
}

static void put_legend(const mr_svg *v)
{
	static const unsigned ops[] = {MR_OP_F, MR_OP_I, MR_OP_W, MR_OP_U};
	mr_svg_legend l = mr_svg_legend_begin(v, MARGIN, WIDTH - MARGIN, 56);
	char swatch[128];

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		snprintf(swatch, sizeof(swatch), "<rect class=\"%s\" width=\"20\" height=\"12\"/>", mr_svg_op(ops[i]));
		mr_svg_legend_put(&l, 20, swatch, mr_svg_op_name(ops[i]));
	}
	mr_svg_legend_put(&l, 20, "<rect class=\"soft frame\" width=\"20\" height=\"12\"/>", "anything else");
}

mr_status mr_flame_svg(const mr_flame *f, const char *title, double least, const mr_svg *v)
{
	uint32_t depth = depth_of(f, &f->at[0], least);
	drawing d = {.f = f, .v = v, .least = least, .bottom = TOP + (double)depth * BOX};
	char sub[160];

	mr_svg_begin(v, WIDTH, d.bottom + MARGIN, title);
	mr_svg_text(v, MARGIN, 24, "title", title);
	snprintf(sub, sizeof(sub), "%llu samples; a box is as wide as its share of them and stands above its caller",
		 (unsigned long long)f->at[0].n);
	mr_svg_text(v, MARGIN, 42, "sub", sub);
	put_legend(v);
	put_children(&d, &f->at[0], MARGIN, 0, NO_OP);
	return mr_svg_end(v);
}
