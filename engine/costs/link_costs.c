#include "costs/link_costs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/result.h"

/* Files have been written with the first columns, then with more of them. */
#define FIRST_COLUMNS "from,to,latency_s,bandwidth,message_s"
#define CORE_COLUMNS FIRST_COLUMNS ",both,send_s,send_byte_s,get_s,get_byte_s,look"
#define COLUMNS CORE_COLUMNS ",watch,tell_s,hear_s"
#define MAX_BYTES ((size_t)64 << 20)

mr_status mr_link_costs_alloc(uint16_t n_hosts, uint16_t n_ranks, mr_link_costs *out)
{
	*out = (mr_link_costs){.n_hosts = n_hosts,
			       .n_ranks = n_ranks,
			       .host = calloc(n_ranks, sizeof(*out->host)),
			       .names = strdup(""),
			       .link = calloc((size_t)n_hosts * n_hosts, sizeof(*out->link))};
	if (!out->host || !out->names || !out->link) {
		mr_link_costs_fini(out);
		return mr_fail(MR_ERESOURCE, "no memory for the links of %u hosts", n_hosts);
	}
	for (uint32_t r = 0; r < n_ranks; r++)
		out->host[r] = (uint16_t)(r * n_hosts / n_ranks);
	return MR_OK;
}

void mr_link_costs_fini(mr_link_costs *l)
{
	free(l->host);
	free(l->names);
	free(l->link);
	*l = (mr_link_costs){0};
}

static bool is_time(double x)
{
	return isfinite(x) && x >= 0 && x <= 1e3;
}

static bool is_rate(double x)
{
	return isfinite(x) && x >= 1 && x <= 1e18;
}

mr_status mr_link_costs_given(const char *text, mr_link_costs *out)
{
	double latency, rate, message = 0, both = 0, core = 0, core_byte = 0;
	int used = 0, n = sscanf(text, "%lf,%lf%n,%lf%n,%lf%n,%lf%n,%lf%n", &latency, &rate, &used, &message, &used,
				 &both, &used, &core, &used, &core_byte, &used);

	if (n < 2 || text[used] || !is_time(latency) || !is_rate(rate) || !is_time(message) ||
	    (n > 3 && !is_rate(both)) || !is_time(core) || !is_time(core_byte))
		return mr_fail(MR_ECONFIG, "expected seconds and bytes a second, such as 5e-5,1.25e8, and perhaps "
					   "seconds a message, bytes a second while messages go both ways, and seconds "
					   "of a core a message and a byte, got \"%.60s\"", text);
	for (size_t i = 0; i < (size_t)out->n_hosts * out->n_hosts; i++)
		out->link[i] = (mr_link_cost){.latency = latency, .byte_s = 1 / rate, .message = message,
					      .both_s = n > 3 ? 1 / both : 0, .send = core, .send_s = core_byte,
					      .get = core, .get_s = core_byte};
	return MR_OK;
}

/* --- the file --- */

static const char *next_line(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end + 1 : at + strlen(at);
}

/* Where the block begins in @text, and in which line; NULL: nowhere. */
static const char *find(const char *text, unsigned *line)
{
	for (*line = 1; *text; text = next_line(text), ++*line)
		if (!strncmp(text, MR_LINKS_WORDS, strlen(MR_LINKS_WORDS)))
			return text;
	return NULL;
}

/* Behind "key=" in the line @head. */
static const char *value_of(const char *head, const char *key)
{
	const char *at = strstr(head, key);

	return at && at < head + strcspn(head, "\n") ? at + strlen(key) : NULL;
}

static mr_status read_ranks(const char *at, mr_link_costs *out)
{
	uint16_t host[MR_LINKS_MOST], n = 0;
	char *end;

	while (at && n < MR_LINKS_MOST) {
		unsigned long h = strtoul(at, &end, 10);

		if (end == at)
			break;
		if (h >= out->n_hosts)
			return mr_fail(MR_ECONFIG, "rank %u is on host %lu, and there are %u hosts", n, h,
				       out->n_hosts);
		host[n++] = (uint16_t)h;
		at = end;
	}
	if (!n)
		return mr_fail(MR_ECONFIG, "it does not say on which host each rank is (ranks=0 1)");
	free(out->host);
	out->host = calloc(n, sizeof(*out->host));
	if (!out->host)
		return mr_fail(MR_ERESOURCE, "no memory for %u ranks", n);
	memcpy(out->host, host, n * sizeof(*host));
	out->n_ranks = n;
	return MR_OK;
}

static mr_status read_head(const char *head, mr_link_costs *out)
{
	unsigned long hosts = strtoul(head + strlen(MR_LINKS_WORDS), NULL, 10);
	const char *names = value_of(head, "; hosts="), *spread = value_of(head, "; spread=");

	if (hosts < 1 || hosts > MR_LINKS_MOST)
		return mr_fail(MR_ECONFIG, "links is the number of hosts, from 1 to %d", MR_LINKS_MOST);
	MR_TRY(mr_link_costs_alloc((uint16_t)hosts, 1, out));
	MR_TRY(read_ranks(value_of(head, "; ranks="), out));
	out->spread = spread ? strtod(spread, NULL) : 0;
	if (!names)
		return MR_OK;
	free(out->names);
	out->names = strndup(names, strcspn(names, ";\n"));
	return out->names ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the names of hosts");
}

static const struct form {
	const char *columns;
	int n;
} forms[] = {{FIRST_COLUMNS, 5}, {CORE_COLUMNS, 11}, {COLUMNS, 14}};

static mr_status read_row(const char *at, mr_link_costs *out, uint32_t i, const struct form *form)
{
	unsigned from, to;
	double rate, both = 0;
	int used = -1, n;
	mr_link_cost c = {0};

	n = sscanf(at, "%u,%u,%lf,%lf,%lf%n,%lf,%lf,%lf,%lf,%lf,%lf%n,%lf,%lf,%lf%n", &from, &to, &c.latency, &rate,
		   &c.message, &used, &both, &c.send, &c.send_s, &c.get, &c.get_s, &c.look, &used, &c.watch,
		   &c.tell, &c.hear, &used);
	if (n != form->n || used < 0 || at[used] != '\n' || from != i / out->n_hosts || to != i % out->n_hosts)
		return mr_fail(MR_ECONFIG, "expected \"%s\" of hosts %u and %u, got \"%.*s\"", form->columns,
			       i / out->n_hosts, i % out->n_hosts, (int)strcspn(at, "\n"), at);
	if (!is_time(c.latency) || !is_rate(rate) || !is_time(c.message) || !is_time(c.send) || !is_time(c.send_s) ||
	    !is_time(c.get) || !is_time(c.get_s) || !is_time(c.tell) || !is_time(c.hear) ||
	    (form->n > 5 && !is_rate(both)) || !(c.look >= 0 && c.look < 1) || !(c.watch >= 0 && c.watch < 1))
		return mr_fail(MR_ECONFIG, "times are seconds from 0, a bandwidth is bytes a second, look and watch "
					   "parts of a core, got \"%.*s\"", (int)strcspn(at, "\n"), at);
	if (form->n < 14) /* it always looked as often */
		c.watch = c.look;
	c.byte_s = 1 / rate;
	c.both_s = form->n == 5 || both >= rate ? 0 : 1 / both;
	out->link[i] = c;
	return MR_OK;
}

static mr_status read_block(const char *at, unsigned line, mr_link_costs *out)
{
	const struct form *form = forms;

	if (read_head(at, out) != MR_OK)
		return mr_fail_in(MR_ECONFIG, "line %u", line);
	at = next_line(at);
	while (form < forms + sizeof(forms) / sizeof(*forms) &&
	       (strncmp(at, form->columns, strlen(form->columns)) != 0 || at[strlen(form->columns)] != '\n'))
		form++;
	if (form == forms + sizeof(forms) / sizeof(*forms))
		return mr_fail(MR_ECONFIG, "line %u is not \"" COLUMNS "\"", line + 1);
	for (uint32_t i = 0; i < (uint32_t)out->n_hosts * out->n_hosts; i++) {
		at = next_line(at);
		if (read_row(at, out, i, form) != MR_OK)
			return mr_fail_in(MR_ECONFIG, "line %u", line + 2 + i);
	}
	return *next_line(at) ? mr_fail(MR_ECONFIG, "it goes on behind the links of %u hosts", out->n_hosts) : MR_OK;
}

static mr_status read_text(const char *path, char **text)
{
	size_t len;
	mr_status st = mr_file_read(path, MAX_BYTES, text, &len);

	return st == MR_OK || st == MR_ERESOURCE ? st : mr_fail(MR_ECONFIG, "%s", mr_error_text());
}

mr_status mr_link_costs_read(const char *path, mr_link_costs *out, bool *found)
{
	const char *at;
	unsigned line;
	mr_status st;
	char *text;

	*out = (mr_link_costs){0};
	*found = false;
	MR_TRY(read_text(path, &text));
	at = find(text, &line);
	st = at ? read_block(at, line, out) : MR_OK;
	free(text);
	if (st != MR_OK) {
		mr_link_costs_fini(out);
		return mr_fail_in(st, "%s", path);
	}
	*found = at != NULL;
	return MR_OK;
}

void mr_link_costs_print(const mr_link_costs *l, mr_strbuf *out)
{
	mr_strbuf_printf(out, MR_LINKS_WORDS "%u; ranks=", l->n_hosts);
	for (uint16_t r = 0; r < l->n_ranks; r++)
		mr_strbuf_printf(out, "%s%u", r ? " " : "", l->host[r]);
	if (*l->names)
		mr_strbuf_printf(out, "; hosts=%s", l->names);
	mr_strbuf_printf(out, "; spread=%.3g\n" COLUMNS "\n", l->spread);
	for (uint32_t i = 0; i < (uint32_t)l->n_hosts * l->n_hosts; i++) {
		const mr_link_cost *c = &l->link[i];

		mr_strbuf_printf(out, "%u,%u,%.6g,%.6g,%.6g,%.6g,%.3g,%.3g,%.3g,%.3g,%.3g,%.3g,%.3g,%.3g\n",
				 i / l->n_hosts, i % l->n_hosts, c->latency, 1 / c->byte_s, c->message,
				 1 / fmax(c->byte_s, c->both_s), c->send, c->send_s, c->get, c->get_s, c->look,
				 c->watch, c->tell, c->hear);
	}
}

mr_status mr_link_costs_write(const char *path, const mr_link_costs *l)
{
	struct stat info;
	bool there = !stat(path, &info) && S_ISREG(info.st_mode);
	char *text = NULL;
	unsigned line;
	mr_strbuf b = {0};
	mr_status st;

	if (there)
		MR_TRY(read_text(path, &text));
	if (text && *text && !find(text, &line) && strncmp(text, "# millrace costs ", 17) != 0) {
		free(text);
		return mr_fail(MR_EUSAGE, "%s: it is there, and no file of costs: name another one", path);
	}
	if (text) {
		const char *at = find(text, &line);

		mr_strbuf_printf(&b, "%.*s", (int)(at ? (size_t)(at - text) : strlen(text)), text);
	}
	mr_link_costs_print(l, &b);
	st = b.failed ? mr_fail(MR_ERESOURCE, "no memory for %s", path)
		      : mr_result_write(path, b.data, b.len, there ? MR_RESULT_OWN : MR_RESULT_NAMED);
	mr_strbuf_fini(&b);
	free(text);
	return st;
}
