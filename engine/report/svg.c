#include "report/svg.h"

#include <math.h>
#include <string.h>

#include "ir/op.h"

mr_svg mr_svg_file(FILE *out)
{
	return (mr_svg){.out = out, .scope = ""};
}

mr_svg mr_svg_inside(FILE *out, const char *scope)
{
	return (mr_svg){.out = out, .embedded = true, .scope = scope};
}

/* How an op looks. Light fills with dark text; the colours stay apart for the colour-blind. */
static const struct {
	const char *name, *css, *fill, *edge, *text;
} looks[MR_N_OPS] = {
	[MR_OP_F] = {"forward", "oF", "#9ecbf2", "#4a86b8", "#10263a"},
	[MR_OP_R] = {"recompute", "oR", "#dfe3e8", "#8b95a1", "#20262d"},
	[MR_OP_B] = {"backward", "oB", "#f8c684", "#c2832b", "#3b2505"},
	[MR_OP_I] = {"input gradient", "oI", "#f2a79b", "#b85a4a", "#3d110a"},
	[MR_OP_W] = {"weight gradient", "oW", "#a8dcae", "#4c9457", "#0d2f13"},
	[MR_OP_N] = {"gradient norm", "oN", "#8b95a1", "#5b6470", "#ffffff"},
	[MR_OP_AR] = {"gradient reduction", "oAR", "#c9b3e6", "#7d5fa8", "#25133d"},
	[MR_OP_U] = {"optimizer step", "oU", "#3f4a56", "#20262d", "#ffffff"},
	[MR_OP_V] = {"validation", "oV", "#8b95a1", "#5b6470", "#ffffff"},
	[MR_OP_AVG] = {"averaging", "oAVG", "#8b95a1", "#5b6470", "#ffffff"},
};

/* Colours of series: on light ground, on dark ground. */
static const struct {
	const char *css, *light, *dark;
} hues[MR_SVG_HUES] = {
	{"s0", "#0072b2", "#5cb3ef"}, {"s1", "#d55e00", "#ff9142"}, {"s2", "#009e73", "#2fcd9f"},
	{"s3", "#cc79a7", "#eaa3cb"}, {"s4", "#8a6d00", "#d9b93b"}, {"s5", "#56b4e9", "#a6dcff"},
	{"s6", "#5c3c92", "#b79bea"}, {"s7", "#404040", "#c9c9c9"},
};

static const char *const dashes[MR_SVG_DASHES] = {
	"", " stroke-dasharray=\"7 7\"", " stroke-dasharray=\"2 5\"", " stroke-dasharray=\"9 3 2 3\"",
};

static const char shapes[] =
	".mr text{font-family:'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif;font-size:11px}"
	".mr .title{font-size:17px;font-weight:bold}.mr .sub,.mr .row,.mr .panel{font-size:12px}"
	".mr .panel{font-weight:bold}.mr .row{text-anchor:end}.mr .tick{font-size:10px}"
	".mr .tick,.mr .name,.mr .n,.mr .v{text-anchor:middle}.mr .right{text-anchor:end}"
	".mr .v{font-size:8px;opacity:.75}.mr .grid,.mr .axis{fill:none}\n";

/* What is under the boxes of a schedule stays light: their texts are dark. */
static const char light[] =
	".mr .bg,.mr .under{fill:#fff}.mr .title{fill:#1b222a}"
	".mr .legend,.mr .row,.mr .panel,.mr .value{fill:#2b333c}.mr .sub,.mr .tick,.mr .name{fill:#4d5864}"
	".mr .grid{stroke:#dfe3e8}.mr .axis{stroke:#8b95a1}.mr .frame{stroke:#b6bec8}.mr .soft{fill:#f5f6f8}"
	".mr .hatch{fill:#dde1e6}.mr .gray{color:#4d5864}\n";

static const char dark[] =
	".mr .bg{fill:#14181d}.mr .under{fill:#dfe4ea}.mr .title{fill:#f0f3f6}"
	".mr .legend,.mr .row,.mr .panel,.mr .value{fill:#d7dde4}.mr .sub,.mr .tick,.mr .name{fill:#a7b1bc}"
	".mr .grid{stroke:#2f3842}.mr .axis{stroke:#7d8894}.mr .frame{stroke:#4b5662}.mr .soft{fill:#1e242b}"
	".mr .hatch{fill:#2b333c}.mr .gray{color:#a7b1bc}.mr .oU{fill:#6b7886;stroke:#aab4bf}";

void mr_svg_style(FILE *out)
{
	fputs(shapes, out);
	fputs(light, out);
	for (int i = 0; i < MR_SVG_HUES; i++)
		fprintf(out, ".mr .%s{color:%s}", hues[i].css, hues[i].light);
	for (int i = 0; i < MR_N_OPS; i++)
		if (looks[i].css)
			fprintf(out, ".mr .%s{fill:%s;stroke:%s}", looks[i].css, looks[i].fill, looks[i].edge);
	fprintf(out, "\n@media screen and (prefers-color-scheme:dark){%s", dark);
	for (int i = 0; i < MR_SVG_HUES; i++)
		fprintf(out, ".mr .%s{color:%s}", hues[i].css, hues[i].dark);
	fputs("}\n", out);
}

void mr_svg_begin(const mr_svg *v, double width, double height, const char *label)
{
	fprintf(v->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
		"class=\"mr\" role=\"img\" aria-label=\"",
		width, height, width, height);
	mr_svg_escape(v->out, label);
	fputs("\">\n", v->out);
	if (v->embedded)
		return;
	fputs("<style>", v->out);
	mr_svg_style(v->out);
	fputs("</style>\n<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n", v->out);
}

mr_status mr_svg_end(const mr_svg *v)
{
	fputs("</svg>\n", v->out);
	return ferror(v->out) ? mr_fail(MR_EIO, "the picture could not be written") : MR_OK;
}

void mr_svg_escape(FILE *out, const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		default:
			if ((unsigned char)*s >= 0x20)
				fputc(*s, out);
		}
}

void mr_svg_text(const mr_svg *v, double x, double y, const char *css, const char *s)
{
	fprintf(v->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", css, x, y);
	mr_svg_escape(v->out, s);
	fputs("</text>\n", v->out);
}

double mr_svg_text_width(const char *s, double size)
{
	return (double)strlen(s) * size * 0.6;
}

const char *mr_svg_hue(size_t i)
{
	return hues[i % MR_SVG_HUES].css;
}

const char *mr_svg_dash(size_t i)
{
	return dashes[i % MR_SVG_DASHES];
}

const char *mr_svg_op(unsigned op)
{
	return looks[op].css;
}

const char *mr_svg_op_text(unsigned op)
{
	return looks[op].text;
}

const char *mr_svg_op_name(unsigned op)
{
	return looks[op].name;
}

const char *mr_svg_op_fill(unsigned op)
{
	return looks[op].fill;
}

double mr_svg_tick(double least)
{
	static const double steps[] = {1, 2, 5};
	double power = pow(10, floor(log10(least)));

	if (!(least > 0) || !isfinite(power) || power == 0)
		return 1;
	for (int i = 0; i < 3; i++)
		if (power * steps[i] >= least)
			return power * steps[i];
	return power * 10;
}

char *mr_svg_number(double x, char buf[32])
{
	double size = fabs(x);

	if (size >= 1e15 || (size > 0 && size < 1e-4))
		snprintf(buf, 32, "%g", x);
	else if (size >= 1e12)
		snprintf(buf, 32, "%gT", x / 1e12);
	else if (size >= 1e9)
		snprintf(buf, 32, "%gG", x / 1e9);
	else if (size >= 1e6)
		snprintf(buf, 32, "%gM", x / 1e6);
	else if (size >= 1e3)
		snprintf(buf, 32, "%gk", x / 1e3);
	else
		snprintf(buf, 32, "%g", x);
	return buf;
}

mr_svg_legend mr_svg_legend_begin(const mr_svg *v, double left, double right, double y)
{
	return (mr_svg_legend){v, left, right, left, y};
}

void mr_svg_legend_put(mr_svg_legend *l, double wide, const char *swatch, const char *name)
{
	double width = wide + 6 + mr_svg_text_width(name, 11) + 18;

	if (l->x > l->left && l->x + width > l->right) {
		l->x = l->left;
		l->y += MR_SVG_LEGEND_LINE;
	}
	if (l->svg) {
		fprintf(l->svg->out, "<g transform=\"translate(%.1f %.1f)\">%s</g>\n", l->x, l->y, swatch);
		mr_svg_text(l->svg, l->x + wide + 6, l->y + 10, "legend", name);
	}
	l->x += width;
}

double mr_svg_legend_end(const mr_svg_legend *l)
{
	return l->y + MR_SVG_LEGEND_LINE;
}
