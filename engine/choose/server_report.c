#include "choose/server_report.h"

#include "report/table.h"

#define NS_OF_TEAM 8u /* threads of the barrier that is shown */

mr_status mr_servers_print(FILE *out)
{
	static const mr_table_column columns[] = {
		{"machine", false}, {"cores", true},     {"nodes", true},        {"L2 KiB", true},   {"L3 MiB", true},
		{"per", true},      {"f32 GF/s", true},  {"bf16 GF/s", true},    {"GB/s", true},     {"link GB/s",
		true}, {"barrier ns", true}, {"what", false},
	};
	const mr_server *s;
	mr_table *t;

	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (uint32_t i = 0; (s = mr_server_at(i)); i++)
		mr_table_cells(t, "%s\t%u\t%u\t%u\t%u\t%u\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%s", s->name,
			       s->sockets * mr_server_cores(s), s->sockets * s->nodes, s->l2_kib, s->l3_mib, s->cores,
			       s->f32_cycle * s->ghz_vector, s->bf16_cycle * s->ghz_matrix, s->dram_gbs, s->link_gbs,
			       mr_server_barrier_ns(s, NS_OF_TEAM), s->what);
	fputs("Constants are published, not measured: --topology NAME plans for such a machine; list machines NAME has "
	      "the sources.\nper: cores that share an L3; GF/s: of a core; GB/s: memory of a socket; link: from socket "
	      "to socket; barrier: of 8 threads\n\n",
	      out);
	return mr_table_finish(t, out);
}

typedef struct constant {
	const char *what, *unit;
	double value;
} constant;

mr_status mr_server_print(const mr_server *s, FILE *out)
{
	const constant all[] = {
		{"clock with all cores on vectors", "GHz", s->ghz_vector},
		{"clock with all cores on matrix units", "GHz", s->ghz_matrix},
		{"f32 operations of a core", "a cycle", s->f32_cycle},
		{"bf16 operations of a core", "a cycle", s->bf16_cycle},
		{"memory of a socket, triad", "GB/s", s->dram_gbs},
		{"L3, each core", "GB/s", s->l3_gbs},
		{"memory, each L3 domain", "GB/s", s->domain_gbs},
		{"message between cores of a domain", "ns", s->domain_ns},
		{"message between domains", "ns", s->node_ns},
		{"message between sockets", "ns", s->socket_ns},
		{"link between sockets, one direction", "GB/s", s->link_gbs},
	};
	const char *mark = s->marks;
	char text[200];

	fprintf(out, "%s - %s\n%s\n%u GB of memory a socket (assumed: it depends on what is plugged in)\n", s->name,
		s->what, mr_server_topology(s, 1, text, sizeof(text)), s->memory_gb);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].value > 0 || all[i].what != all[6].what) /* 0: the socket's is the limit */
			fprintf(out, "%c  %8.4g %-8s %s\n", *mark++, all[i].value, all[i].unit, all[i].what);
	fprintf(out, "M  %8.4g ns       to start and end a team of threads, and %g messages for each doubling of it\n",
		MR_BARRIER_NS, MR_BARRIER_MESSAGES);
	fprintf(out, "%s\nsources: %s\n", MR_SERVER_MARKS, s->sources);
	return ferror(out) ? mr_fail(MR_EIO, "cannot write the constants of a machine") : MR_OK;
}
