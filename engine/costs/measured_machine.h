/*
 * measured_machine.h - constants of the machine at hand, measured in about half a second, for the cost model.
 *
 * The same numbers as a machine of host/servers.def has, so that the model takes either: the peak of a core
 * (host/probe.h), the bandwidth of L3 and of memory with all cores busy (host/bandwidth.h), the time of a message
 * between two cores of a domain, of two domains and of two nodes, and the reads of a node's cores from another node's
 * memory. Sizes of caches are those of the topology. What other programs do at that time makes them worse: the best
 * bandwidths and peaks of undisturbed measurements are kept (store/kept_machine.h), and where a measurement was
 * disturbed, since other programs here took time (host/bandwidth.h) or since a figure is far below the kept one, as
 * where another virtual machine has a part of the cores, the kept ones are taken. They are for predictions alone: no
 * order, cut or weight follows from them.
 */
#ifndef MR_COSTS_MEASURED_MACHINE_H
#define MR_COSTS_MEASURED_MACHINE_H

#include "host/bandwidth.h"
#include "host/server.h"
#include "host/topo.h"
#include "costs/kept_layers.h"

typedef struct mr_measured_machine {
	mr_server server;
	mr_bandwidth bandwidth;
	double f32, bf16; /* GFLOP/s of a core; 0: the core has no products of bf16 */
	const char *isa;  /* of f32 */
	bool recalled;    /* bandwidth, f32 and bf16 are kept ones */
	char busy[400];   /* what disturbed the measurement, and what is taken in its place; empty: nothing */
	mr_kept_layers *kept; /* what was measured of layers on it; NULL: nothing. Owned */
} mr_measured_machine;

/** Take for @m, whose bandwidth, f32 and bf16 are measured on the machine of @processor, the kept ones if the
 * measurement was disturbed, and say so in busy; else of each number the better one, which is then kept. A test calls
 * it with measurements that it makes up. */
void mr_measured_machine_judge(mr_measured_machine *m, const char *processor);

/** Measure bandwidth, f32 and bf16 of @t alone, and judge them; the rest of @m stays empty, and it needs no fini.
 * Errors: MR_EINVAL @t is synthetic; MR_ERESOURCE. */
mr_status mr_measured_machine_rates(mr_measured_machine *m, const mr_topo *t) MR_MUST_USE;

/** Measure @t, the machine of this process, and read what is kept of it. The caller calls fini, also after an error.
 * Errors: MR_EINVAL @t is synthetic; MR_ERESOURCE. */
mr_status mr_measured_machine_init(mr_measured_machine *m, const mr_topo *t) MR_MUST_USE;

/** The same, but bandwidths and peaks that are kept from a quiet moment are taken without a new measurement. Where
 * none are kept, they are measured, and kept if nothing disturbed it. */
mr_status mr_measured_machine_recall(mr_measured_machine *m, const mr_topo *t) MR_MUST_USE;
void mr_measured_machine_fini(mr_measured_machine *m);

#endif
