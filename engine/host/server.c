#include "host/server.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static const mr_server servers[] = {
#define MR_SERVER(...) {__VA_ARGS__, 0, 0}, /* core_gbs and l2_gbs: none are published */
#include "host/servers.def"
#undef MR_SERVER
};

#define N_SERVERS (sizeof(servers) / sizeof(servers[0]))

const mr_server *mr_server_at(uint32_t i)
{
	return i < N_SERVERS ? &servers[i] : NULL;
}

mr_status mr_server_get(const char *name, const mr_server **out)
{
	const char *names[N_SERVERS], *near;

	for (size_t i = 0; i < N_SERVERS; i++) {
		names[i] = servers[i].name;
		if (!strcmp(name, names[i])) {
			*out = &servers[i];
			return MR_OK;
		}
	}
	near = mr_nearest(name, names, N_SERVERS);
	return mr_fail(MR_EINVAL, "no machine is called \"%.60s\"%s%s%s; millrace list machines names them", name,
		       near ? "; did you mean \"" : "", near ? near : "", near ? "\"" : "");
}

const char *mr_server_topology(const mr_server *s, uint32_t n, char *text, size_t size)
{
	snprintf(text, size, "pack:%u numa:%u(memory=%lluMB) l3:%u(size=%llu) l2:%u(size=%llu) core:1 pu:%u",
		 s->sockets * n, s->nodes, s->memory_gb * 1000ULL / s->nodes, s->domains, s->l3_mib * 1048576ULL,
		 s->cores, s->l2_kib * 1024ULL, n > 1 ? 1 : s->smt);
	return text;
}

uint32_t mr_server_cores(const mr_server *s)
{
	return s->nodes * s->domains * s->cores;
}

double mr_server_barrier_ns(const mr_server *s, uint32_t k)
{
	double far = k <= s->cores ? s->domain_ns : k <= mr_server_cores(s) ? s->node_ns : s->socket_ns;
	uint32_t levels = 0;

	while (1u << levels < k)
		levels++;
	return levels ? MR_BARRIER_NS + MR_BARRIER_MESSAGES * far * levels : 0;
}
