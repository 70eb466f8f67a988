/* millrace probe-links: measures what messages between hosts take. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/args.h"
#include "cli/program.h"
#include "session/probed_links.h"
#include "report/output.h"

static const char *name_of(const char *names, uint16_t host, char *text, size_t size)
{
	for (; host; host--)
		names += strcspn(names, " ") + 1;
	snprintf(text, size, "%.*s", (int)strcspn(names, " "), names);
	return text;
}

static void print_table(const mr_link_costs *l)
{
	char a[MR_RANKS_HOST], b[MR_RANKS_HOST], rate[16], both[16];

	for (uint16_t i = 0; i < l->n_hosts; i++)
		for (uint16_t j = i; j < l->n_hosts; j++) {
			const mr_link_cost *c = &l->link[i * l->n_hosts + j];

			if (i == j && !(c->latency > 0 || c->message > 0)) /* nobody measured it */
				continue;
			printf("%s and %s: latency %.1f us, %s/s, %s/s each way at once, %.1f us a message\n",
			       name_of(l->names, i, a, sizeof(a)), name_of(l->names, j, b, sizeof(b)), c->latency * 1e6,
			       mr_bytes_text((uint64_t)(1 / c->byte_s), rate),
			       mr_bytes_text((uint64_t)(1 / fmax(c->byte_s, c->both_s)), both), c->message * 1e6);
			if (i != j)
				printf("    of a core: %.0f %% to look for messages (%.0f %% for large ones), %.1f us "
				       "to send one and %.1f us to get one, %.2g and %.2g ns a byte; %.1f us to tell "
				       "of a step, %.1f us to hear of it\n", 100 * c->look, 100 * c->watch,
				       c->send * 1e6, c->get * 1e6, c->send_s * 1e9, c->get_s * 1e9, c->tell * 1e6,
				       c->hear * 1e6);
		}
	printf("rounds differ from their medians by up to %.0f %%\n", 100 * l->spread);
}

static mr_status write(const mr_args *args, const mr_link_costs *l)
{
	const char *path = mr_values_string(args->values, "output");
	mr_strbuf b = {0};

	if (*path && strcmp(path, "-") != 0) {
		print_table(l);
		return mr_link_costs_write(path, l);
	}
	mr_link_costs_print(l, &b);
	fputs(mr_strbuf_text(&b), stdout);
	mr_strbuf_fini(&b);
	return MR_OK;
}

static mr_status run(mr_args *args)
{
	mr_link_costs l;
	mr_status st;

	if (args->launcher)
		MR_TRY(args->launcher->begin(&args->ranks));
	if (!args->ranks)
		return mr_fail(MR_EUSAGE,
			       "links are between processes: start several, with millrace launch --hosts a,b -- "
			       "probe-links, or mpirun -n 2 millrace-mpi probe-links");
	st = mr_links_probe(args->ranks, &l);
	if (st == MR_OK && !args->ranks->self)
		st = write(args, &l);
	mr_link_costs_fini(&l);
	return st;
}

static const mr_option options[] = {
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "put what was measured into this file of costs, behind those of layers if it has any (short: -o); empty or -: "
	 "standard output"},
	{0},
};

const mr_command mr_command_probe_links = {
	.name = "probe-links",
	.operands = "",
	.summary = "measure latency and bandwidth between hosts, for plan --costs",
	.help = "Of millrace-mpi, started as train over several hosts: messages go back and forth between each two\n"
		"hosts, over the links that a training uses, one at a time and each way at once; then both compute\n"
		"while messages go, which shows what these take of a core. The file of -o is then that of plan\n"
		"--costs FILE; machine.links in the configuration gives such figures by hand.\n",
	.options = options,
	.run = run,
};
