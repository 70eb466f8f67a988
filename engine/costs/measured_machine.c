#include "costs/measured_machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "host/probe.h"
#include "host/processor.h"
#include "store/kept_machine.h"

#define PAIR_US 2000u
#define REMOTE_BYTES ((uint64_t)64 << 20) /* of each core that reads another node's memory */
#define USUAL_L2_KIB 1024u
#define SLOWER 0.8 /* a figure below this part of its kept value: disturbed. Undisturbed runs differ by 5 % */
/* FLOP a cycle that servers.def has for such cores; the clock follows from the measured peak. */
#define F32_CYCLE 64u
#define BF16_CYCLE 128u

/* One way of a message between cores @a and @b of @t; @otherwise where there are no such cores or they are too busy. */
static mr_status message(const mr_topo *t, uint32_t a, uint32_t b, double otherwise, double *ns)
{
	mr_probe_pingpong p;

	*ns = otherwise;
	if (a == b || b >= t->n_usable)
		return MR_OK;
	MR_TRY(mr_probe_pair(t->core[a].cpu, t->core[b].cpu, PAIR_US, &p));
	if (!isnan(p.one_way_ns))
		*ns = p.one_way_ns;
	return MR_OK;
}

static mr_status measure_messages(const mr_topo *t, mr_server *s)
{
	uint32_t domain = t->n_l3s > 1 && t->l3[1].node == 0 ? t->l3[1].first_core : 0;
	uint32_t node = t->n_nodes > 1 ? t->node[1].first_core : 0;

	MR_TRY(message(t, 0, t->l3[0].n_cores > 1 ? 1 : 0, 50, &s->domain_ns));
	MR_TRY(message(t, 0, domain, s->domain_ns, &s->node_ns));
	return message(t, 0, node, s->node_ns, &s->socket_ns);
}

/* What all cores of the first node read from the memory of the second. */
static mr_status measure_link(const mr_topo *t, mr_server *s)
{
	uint32_t n = t->node[0].n_cores < t->n_usable ? t->node[0].n_cores : t->n_usable;
	uint32_t *cpu = t->n_nodes > 1 ? malloc(2 * n * sizeof(*cpu)) : NULL;
	mr_bandwidth_rates r = {0};
	mr_status st;

	if (t->n_nodes < 2)
		return MR_OK;
	if (!cpu)
		return mr_fail(MR_ERESOURCE, "no memory to measure the link between two nodes");
	for (uint32_t i = 0; i < n; i++) {
		cpu[i] = t->core[t->node[0].first_core + i].cpu;
		cpu[n + i] = t->node[1].os_index;
	}
	st = mr_bandwidth_measure(cpu, n, REMOTE_BYTES, cpu + n, &r);
	s->link_gbs = r.read / 1e9;
	free(cpu);
	return st;
}

/* With all cores busy: reads of a core for L3, of a node for memory, or a triad where that is faster; of one core
 * alone for memory. */
static void take_bandwidth(const mr_topo *t, const mr_bandwidth *b, mr_server *s)
{
	const mr_bandwidth_at *l3 = &b->at[MR_BANDWIDTH_L3], *memory = &b->at[MR_BANDWIDTH_MEMORY];

	s->dram_gbs = fmax(memory->all.read, memory->all.triad) / 1e9 / t->n_nodes;
	s->l3_gbs = l3->all.read > 0 ? l3->all.read / 1e9 / b->n_cores : memory->one.read / 1e9;
	s->l2_gbs = b->at[MR_BANDWIDTH_L2].all.read / 1e9 / b->n_cores;
	s->core_gbs = fmax(memory->one.read, memory->one.triad) / 1e9;
	s->dram_gbs = fmax(s->dram_gbs, s->core_gbs); /* one core has measured more where others disturbed all */
	s->link_gbs = s->dram_gbs;
}

/* The numbers of @m as they are kept. */
static uint32_t numbers_of(mr_measured_machine *m, double *number[MR_KEPT_MACHINE_NUMBERS])
{
	uint32_t n = 0;

	for (int level = 0; level < MR_N_BANDWIDTH_LEVELS; level++) {
		mr_bandwidth_at *at = &m->bandwidth.at[level];

		number[n++] = &at->one.read;
		number[n++] = &at->one.triad;
		number[n++] = &at->all.read;
		number[n++] = &at->all.triad;
	}
	number[n++] = &m->f32;
	number[n++] = &m->bf16;
	return n;
}

/* The smallest ratio of a measured number to its kept value. */
static double least_part(double *const number[], uint32_t n, const mr_kept_machine *k)
{
	double least = 1;

	for (uint32_t i = 0; i < n; i++)
		if (*number[i] > 0 && k->number[i] > 0)
			least = fmin(least, *number[i] / k->number[i]);
	return least;
}

/* Takes and stores the larger of the measured and the kept value of each number. */
static void keep_best(double *const number[], uint32_t n, mr_kept_machine *k)
{
	time_t now = time(NULL);
	struct tm utc;

	for (uint32_t i = 0; i < n; i++)
		*number[i] = k->number[i] = fmax(*number[i], k->number[i]);
	if (gmtime_r(&now, &utc))
		strftime(k->date, sizeof(k->date), "%Y-%m-%d %H:%M UTC", &utc);
	(void)!mr_kept_machine_store(k); /* without a folder for caches nothing is kept */
}

void mr_measured_machine_judge(mr_measured_machine *m, const char *processor)
{
	mr_kept_machine k = {.n_cores = m->bandwidth.n_cores};
	bool disturbed = mr_bandwidth_disturbed(&m->bandwidth), kept;
	double *number[MR_KEPT_MACHINE_NUMBERS], part;
	uint32_t n = numbers_of(m, number);
	char why[160];

	snprintf(k.processor, sizeof(k.processor), "%s", processor);
	kept = mr_kept_machine_read(&k);
	part = kept ? least_part(number, n, &k) : 1;
	m->busy[0] = '\0';
	m->recalled = false;
	if (!disturbed && part >= SLOWER) {
		keep_best(number, n, &k);
		return;
	}
	if (disturbed)
		mr_bandwidth_disturbance(&m->bandwidth, why);
	else
		snprintf(why, sizeof(why), "cores or memory reached only %.0f %% of what they had, as where another "
			 "virtual machine has a part of them", 100 * part);
	if (!kept) {
		snprintf(m->busy, sizeof(m->busy),
			 "the machine was busy while it was measured: %s; nothing is kept from a quieter time, so "
			 "these figures are too low", why);
		return;
	}
	m->recalled = true;
	for (uint32_t i = 0; i < n; i++)
		*number[i] = k.number[i];
	snprintf(m->busy, sizeof(m->busy),
		 "the machine was busy while it was measured: %s; these are the figures of %s, when it was not", why,
		 k.date);
}

mr_status mr_measured_machine_rates(mr_measured_machine *m, const mr_topo *t)
{
	const char *isa;
	char processor[128];

	*m = (mr_measured_machine){0};
	MR_TRY(mr_bandwidth_of(t, &m->bandwidth));
	m->f32 = mr_probe_peak_gflops(&m->isa);
	m->bf16 = mr_probe_peak_bf16_gflops(&isa);
	mr_processor_name(processor, sizeof(processor));
	mr_measured_machine_judge(m, processor);
	return MR_OK;
}

/* Take the rates that are kept of the machine @t. False: there are none. */
static bool recall_rates(mr_measured_machine *m, const mr_topo *t)
{
	mr_kept_machine k = {.n_cores = t->n_usable};
	double *number[MR_KEPT_MACHINE_NUMBERS];
	uint32_t n;

	*m = (mr_measured_machine){.bandwidth.n_cores = t->n_usable, .isa = ""};
	mr_processor_name(k.processor, sizeof(k.processor));
	m->recalled = mr_kept_machine_read(&k);
	n = numbers_of(m, number);
	for (uint32_t i = 0; m->recalled && i < n; i++)
		*number[i] = k.number[i];
	return m->recalled;
}

/* What follows from the rates, and what is measured beside them in some milliseconds. */
static mr_status complete(mr_measured_machine *m, const mr_topo *t)
{
	const mr_topo_l3 *l3 = &t->l3[0];
	mr_server *s = &m->server;

	m->kept = mr_kept_layers_open();
	*s = (mr_server){
		.name = "this machine",
		.what = "measured at the start",
		.sockets = t->n_nodes,
		.nodes = 1,
		.domains = t->node[0].n_l3s ? t->node[0].n_l3s : 1,
		.cores = l3->n_cores,
		.smt = 1,
		.l2_kib = t->l2_bytes ? (uint32_t)(t->l2_bytes / 1024) : USUAL_L2_KIB,
		.l3_mib = (uint32_t)(l3->bytes >> 20),
		.ghz_vector = m->f32 / F32_CYCLE,
		.f32_cycle = F32_CYCLE,
		.ghz_matrix = m->bf16 / BF16_CYCLE,
		.bf16_cycle = m->bf16 > 0 ? BF16_CYCLE : 0,
	};
	take_bandwidth(t, &m->bandwidth, s);
	MR_TRY(measure_messages(t, s));
	return measure_link(t, s);
}

mr_status mr_measured_machine_init(mr_measured_machine *m, const mr_topo *t)
{
	MR_TRY(mr_measured_machine_rates(m, t));
	return complete(m, t);
}

mr_status mr_measured_machine_recall(mr_measured_machine *m, const mr_topo *t)
{
	if (t->synthetic || !recall_rates(m, t))
		MR_TRY(mr_measured_machine_rates(m, t));
	return complete(m, t);
}

void mr_measured_machine_fini(mr_measured_machine *m)
{
	mr_kept_layers_close(m->kept);
	m->kept = NULL;
}
