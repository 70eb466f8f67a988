/* host_map.h - over which hosts the workers of a planned training are spread, and what messages between these take. */
#ifndef MR_SESSION_HOST_MAP_H
#define MR_SESSION_HOST_MAP_H

#include "costs/link_costs.h"
#include "link/planned_links.h"
#include "session/session.h"

typedef struct mr_host_map {
	mr_link_costs costs;
	uint16_t *rank, *host; /* [n_workers] owned */
	mr_hosts hosts; /* of both; without sends */
	mr_planned_links links; /* between its ranks, for layouts */
} mr_host_map;

/**
 * Fill s->hosts from machine.ranks, machine.hosts, machine.links and the costs' file; it
 * stays NULL where nothing says what links take, or where there is one rank. Errors: MR_ECONFIG, MR_ERESOURCE.
 */
mr_status mr_session_find_hosts(mr_session *s) MR_MUST_USE;

/** The same for @n_workers workers in equal stretches, whatever machine.ranks says; *@out may be NULL. The caller
 * destroys it. Errors: as above. */
mr_status mr_session_spread(const mr_session *s, uint32_t n_workers, mr_host_map **out) MR_MUST_USE;

/** Will @s train over several processes, or is it planned for hosts? Before its workers are placed. */
bool mr_session_is_spread(const mr_session *s);

void mr_host_map_destroy(mr_host_map *m);

#endif
