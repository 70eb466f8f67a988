/*
 * server.h - published constants of machines that are not at hand (servers.def), for plans and predictions.
 *
 * A measurement on the machine itself is always better: nothing here was measured by this program. Every number has a
 * mark that says where it comes from, and every machine its sources. Bandwidths are of one socket, of a link in one
 * direction; 1 GB/s is 10^9 bytes a second. A domain is the cores that share an L3.
 */
#ifndef MR_HOST_SERVER_H
#define MR_HOST_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mr_server {
	const char *name, *what;
	uint32_t sockets, nodes, domains, cores, smt; /* of the machine; of a socket; of a node; of a domain; of a core
							 */
	uint32_t l2_kib, l3_mib;                      /* of a core; of a domain */
	uint32_t memory_gb;                           /* of a socket */
	double ghz_vector, ghz_matrix;                /* all cores busy with vectors, with matrix units */
	uint32_t f32_cycle, bf16_cycle;               /* floating-point operations a cycle and core; bf16: by the faster
	                                                 of vectors and matrix units that the core has, 0: neither */
	double dram_gbs;                              /* a triad of all cores */
	double l3_gbs;                                /* of a core */
	double domain_gbs;                            /* reads of a domain from memory; 0: no limit below the socket's
							 */
	double domain_ns, node_ns, socket_ns;         /* one message between two cores of a domain, of other domains, of
	                                                 other sockets */
	double link_gbs;                              /* from socket to socket */
	const char *marks;                            /* one letter for each number from ghz_vector on,
	except domain_gbs
	                                                 where that is 0 */
	const char *sources;
	double core_gbs;                              /* reads of a core from memory; 0: no limit below that of L3 */
	double l2_gbs;                                /* of a core from its second cache; 0: without limit */
} mr_server;

/* The letters of marks. */
#define MR_SERVER_MARKS \
	"P published, ? published by a source of doubt, D derived, A assumed, M measured on one core of such a machine"

/** Machine number @i from 0; NULL beyond the last. */
const mr_server *mr_server_at(uint32_t i);

/** The one called @name. Errors: MR_EINVAL with the nearest name. */
mr_status mr_server_get(const char *name, const mr_server **out) MR_MUST_USE;

/** The topology of @n of them as a text for mr_topo_synthetic, into @text; of several a core has one CPU. Returns
 * @text. */
const char *mr_server_topology(const mr_server *s, uint32_t n, char *text, size_t size);

/** Cores of a socket. */
uint32_t mr_server_cores(const mr_server *s);

/**
 * Nanoseconds to start @k threads on a piece of work and to wait for all of them, c0 + c1 ceil(log2 k): c0 is
 * MR_BARRIER_NS, c1 is MR_BARRIER_MESSAGES messages between the farthest of their cores. Both are those of two threads
 * whose cores are 50 ns apart (0.60 us for start and end, 0.24 us for a barrier); more threads are derived. One thread
 * takes nothing.
 */
double mr_server_barrier_ns(const mr_server *s, uint32_t k);
#define MR_BARRIER_NS 360.0
#define MR_BARRIER_MESSAGES 4.8

#endif
