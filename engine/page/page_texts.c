/* page_texts.c - texts on a page: excerpts with what the model held for improbable, and what it writes itself. */
#include <math.h>

#include "page/page_internal.h"

/* How a token of probability @p is marked: "" to "m3". */
static const char *mark_of(double p)
{
	return isnan(p) || p >= 0.3 ? "" : p >= 0.1 ? "m1" : p >= 0.01 ? "m2" : "m3";
}

static void put_excerpt(mr_page *p, const mr_json *x)
{
	const mr_json *tokens = mr_json_get(x, "tokens"), *probabilities = mr_json_get(x, "probabilities");

	mr_page_say(p, "Excerpt %lld, loss %.3g a token:", (long long)mr_json_int(mr_json_get(x, "sample")),
		    mr_json_double(mr_json_get(x, "loss")));
	fputs("<pre class=\"text\">", p->out);
	for (size_t i = 0; i < mr_json_size(tokens); i++) {
		const mr_json *probability = mr_json_at(probabilities, i);
		const char *text = mr_json_string(mr_json_at(tokens, i));
		const char *mark = mark_of(mr_json_is_number(probability) ? mr_json_double(probability) : (double)NAN);

		if (*mark)
			fprintf(p->out, "<span class=\"%s\" title=\"%.2g\">", mark, mr_json_double(probability));
		mr_page_lines(p, text ? text : "");
		fputs(*mark ? "</span>" : "", p->out);
	}
	fputs("</pre>\n", p->out);
}

void mr_page_texts(mr_page *p, const mr_json *errors)
{
	const mr_json *worst = mr_json_get(errors, "worst"), *texts = mr_json_get(errors, "texts");
	size_t n = mr_json_size(texts);

	if (mr_json_size(worst)) {
		mr_page_heading(p, 4, "The worst excerpts");
		mr_page_note(p, "The stronger a token is marked, the less probable the model held it for: below 30 %, "
				"10 % and 1 %.");
	}
	for (size_t i = 0; i < mr_json_size(worst); i++)
		put_excerpt(p, mr_json_at(worst, i));
	if (!n)
		return;
	mr_page_heading(p, 4, n > 1 ? "What it writes, and how that changed" : "What it writes");
	for (size_t i = 0; i < n; i++) {
		const mr_json *x = mr_json_at(texts, i);
		const char *text = mr_json_string(mr_json_get(x, "text"));

		mr_page_say(p, "The model of step %lld:", (long long)mr_json_int(mr_json_get(x, "step")));
		fputs("<pre class=\"text\">", p->out);
		mr_page_lines(p, text ? text : "");
		fputs("</pre>\n", p->out);
	}
	if (n == 1)
		mr_page_note(p, "Earlier checkpoints would show how this changed: checkpoint.every saves them, and "
				"checkpoint.keep_every keeps them.");
}
