#include "session/rank_identity.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "host/launch_file.h"

/* The launch that all ranks come from, by the hash of its token. */
static void print_launch(mr_strbuf *out)
{
	const char *token = getenv(MR_LAUNCH_TOKEN);

	if (token)
		mr_strbuf_printf(out, "the launch (hash of " MR_LAUNCH_TOKEN "): %016llx\n",
				 (unsigned long long)mr_hash64(0, token, strlen(token)));
	else
		mr_strbuf_printf(out, "the launch (hash of " MR_LAUNCH_TOKEN "): none\n");
}

void mr_rank_program(const mr_session *s, mr_strbuf *out)
{
	bool portable = !strcmp(s->kernels->name, "reference");

	print_launch(out);
	mr_strbuf_printf(out, "millrace: %s\n", MR_VERSION);
	mr_strbuf_printf(out, "the library of kernels: %s\n", mr_kernels_library());
	mr_strbuf_printf(out, "backend: %s\n", s->kernels->name);
	mr_strbuf_printf(out, "instructions of the CPU: %s\n",
			 portable ? "any" : mr_kernels_isa(s->kernels->types.weights));
	mr_strbuf_printf(out, "the configuration (its hash): %016llx\n", (unsigned long long)s->values_hash);
	if (s->kernels->choices)
		mr_strbuf_printf(out, "the table of choices (its hash): %016llx\n",
				 (unsigned long long)mr_choices_hash(s->kernels->choices));
	mr_strbuf_printf(out, "MPI: %s\n", s->ranks->by->name);
}

void mr_rank_identity(const mr_session *s, mr_strbuf *out)
{
	uint64_t cut = mr_hash64(0, s->partition.first, (s->partition.n_stages + 1u) * sizeof(*s->partition.first));
	uint16_t own = 0;

	while (s->ranks->of_worker[own] != s->ranks->self)
		own++;
	mr_strbuf_printf(out, "the plan (its hash): %016llx\n", (unsigned long long)s->plan_hash);
	mr_strbuf_printf(out, "the cut of the model (its hash): %016llx\n", (unsigned long long)cut);
	mr_strbuf_printf(out, "the data (their fingerprint): %016llx\n", (unsigned long long)s->data->fingerprint);
	mr_strbuf_printf(out, "threads a worker: %u\n", s->place.worker[own].n_threads);
}
