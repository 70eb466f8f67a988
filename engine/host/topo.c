#include "host/topo.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "host/limits.h"
#include "host/node_memory.h"
#include "host/numa_fake.h"

/*
 * The tree is read from the cores upwards: each allowed core has its node and its L3 domain through cpusets, so
 * packages, groups and dies between them need no handling, nor do machines without an L3 or without NUMA nodes of
 * their own.
 */

/* The NUMA node whose cpuset holds @core: of several the one with the fewest CPUs, since memory that a whole package
 * shares (CXL) is farther; of these the first, since a machine of several kinds numbers its usual memory first. */
static hwloc_obj_t node_of(hwloc_topology_t h, hwloc_obj_t core)
{
	hwloc_obj_t node = NULL, best = NULL;

	while ((node = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_NUMANODE, node)) != NULL)
		if (hwloc_bitmap_intersects(node->cpuset, core->cpuset) &&
		    (!best || hwloc_bitmap_weight(node->cpuset) < hwloc_bitmap_weight(best->cpuset)))
			best = node;
	return best;
}

static hwloc_obj_t l3_of(hwloc_topology_t h, hwloc_obj_t core)
{
	return hwloc_get_ancestor_obj_by_type(h, HWLOC_OBJ_L3CACHE, core);
}

/* What one of its cores has of an L2; 0: nobody knows. */
static uint64_t l2_of(hwloc_topology_t h, hwloc_obj_type_t type, hwloc_obj_t core)
{
	hwloc_obj_t l2 = hwloc_get_ancestor_obj_by_type(h, HWLOC_OBJ_L2CACHE, core);
	int n = l2 ? hwloc_get_nbobjs_inside_cpuset_by_type(h, l2->cpuset, type) : 0;

	return n > 0 ? l2->attr->cache.size / (uint64_t)n : 0;
}

/* One allowed core on the way into the arrays. */
typedef struct found_core {
	hwloc_obj_t node, l3;
	uint64_t l2;
	uint32_t cpu, n_pus;
	uint32_t order; /* hwloc's logical order, to sort within a domain */
} found_core;

static uint32_t logical(hwloc_obj_t o)
{
	return o ? o->logical_index : 0;
}

static int by_place(const void *a, const void *b)
{
	const found_core *x = a, *y = b;

	if (logical(x->node) != logical(y->node))
		return logical(x->node) < logical(y->node) ? -1 : 1;
	if (logical(x->l3) != logical(y->l3))
		return logical(x->l3) < logical(y->l3) ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Collect the cores that have a PU in @allowed. @type is CORE, or PU where the machine does not describe its cores. */
static uint32_t collect(hwloc_topology_t h, hwloc_obj_type_t type, hwloc_const_bitmap_t allowed, found_core *found)
{
	hwloc_obj_t core = NULL;
	hwloc_bitmap_t pus = hwloc_bitmap_alloc();
	uint32_t n = 0;

	while (pus && (core = hwloc_get_next_obj_by_type(h, type, core)) != NULL) {
		hwloc_bitmap_and(pus, core->cpuset, allowed);
		if (hwloc_bitmap_iszero(pus))
			continue;
		found[n] = (found_core){.node = node_of(h, core),
					.l3 = l3_of(h, core),
					.l2 = l2_of(h, type, core),
					.cpu = (uint32_t)hwloc_bitmap_first(pus),
					.n_pus = (uint32_t)hwloc_bitmap_weight(pus),
					.order = n};
		n++;
	}
	hwloc_bitmap_free(pus);
	qsort(found, n, sizeof(found[0]), by_place);
	return n;
}

static uint64_t node_memory(hwloc_topology_t h, hwloc_obj_t node)
{
	return node ? node->attr->numanode.local_memory : hwloc_get_root_obj(h)->total_memory;
}

/* Bytes of @node that this process may use. */
static uint64_t usable_memory(hwloc_topology_t h, hwloc_obj_t node)
{
	bool may = !node || hwloc_bitmap_isset(hwloc_topology_get_allowed_nodeset(h), node->os_index);

	return may ? node_memory(h, node) : 0;
}

/* How far node @b is from node @a: the kernel's distance if there is a table, else levels of the tree. */
static uint64_t distance(hwloc_topology_t h, struct hwloc_distances_s *table, hwloc_obj_t a, hwloc_obj_t b)
{
	hwloc_uint64_t there, back;

	if (table && !hwloc_distances_obj_pair_values(table, a, b, &there, &back))
		return there;
	return 1000 - (uint64_t)hwloc_get_common_ancestor_obj(h, a->parent, b->parent)->depth;
}

/* The node nearest to @node that has memory; itself if none has. */
static hwloc_obj_t nearest_memory(hwloc_topology_t h, hwloc_obj_t node)
{
	struct hwloc_distances_s *table = NULL;
	hwloc_obj_t other = NULL, best = NULL;
	unsigned n = 1;

	if (!node || usable_memory(h, node))
		return node;
	if (hwloc_distances_get_by_type(h, HWLOC_OBJ_NUMANODE, &n, &table, HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) || !n)
		table = NULL;
	while ((other = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_NUMANODE, other)) != NULL)
		if (usable_memory(h, other) &&
		    (!best || distance(h, table, node, other) < distance(h, table, node, best)))
			best = other;
	if (table)
		hwloc_distances_release(h, table);
	return best ? best : node;
}

/* The index of the memory of @at, which is added if it is not there. */
static uint32_t add_memory(hwloc_topology_t h, mr_topo *t, hwloc_obj_t at, bool spare)
{
	uint32_t os = at ? at->os_index : 0, i = 0;

	while (i < t->n_memories && t->memory[i].os_index != os)
		i++;
	if (i == t->n_memories) {
		t->memory[t->n_memories++] = (mr_topo_memory){.bytes = usable_memory(h, at),
							      .free_bytes = MR_NODE_MEMORY_UNKNOWN,
							      .os_index = os,
							      .spare = spare};
		t->memory_bytes += usable_memory(h, at);
	}
	return i;
}

/* Add the memory that no core of ours has as its own. */
static void add_spare_memories(hwloc_topology_t h, mr_topo *t)
{
	hwloc_obj_t node = NULL;

	while ((node = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_NUMANODE, node)) != NULL)
		if (usable_memory(h, node))
			add_memory(h, t, node, true);
}

/* Fill the arrays (room for @n entries each) from the sorted cores. */
static void fill(hwloc_topology_t h, mr_topo *t, const found_core *found, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const found_core *f = &found[i];
		bool new_node = i == 0 || f->node != f[-1].node;

		if (i == 0 || f->l2 < t->l2_bytes)
			t->l2_bytes = f->l2;
		if (new_node) {
			t->node[t->n_nodes++] = (mr_topo_node){.memory_bytes = usable_memory(h, f->node),
							       .os_index = f->node ? f->node->os_index : 0,
							       .memory = add_memory(
								       h, t, nearest_memory(h, f->node), false),
							       .first_core = i,
							       .first_l3 = t->n_l3s};
		}
		if (new_node || f->l3 != f[-1].l3) {
			t->l3[t->n_l3s++] = (mr_topo_l3){.bytes = f->l3 ? f->l3->attr->cache.size : 0,
							 .node = t->n_nodes - 1,
							 .first_core = i};
			t->node[t->n_nodes - 1].n_l3s++;
		}
		t->node[t->n_nodes - 1].n_cores++;
		t->l3[t->n_l3s - 1].n_cores++;
		t->core[i] = (mr_topo_core){
			.cpu = f->cpu, .n_pus = f->n_pus, .node = t->n_nodes - 1, .l3 = t->n_l3s - 1};
	}
	t->n_cores = n;
	t->n_usable = n;
}

/* Turn a loaded hwloc topology into ours; CPUs outside @allowed do not exist. */
static mr_status convert(hwloc_topology_t h, hwloc_const_bitmap_t allowed, mr_topo *t)
{
	int n_pus = hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_PU), n_cores = hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_CORE);
	hwloc_obj_type_t type = n_cores > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
	size_t room = (size_t)(n_cores > 0 ? n_cores : n_pus);
	found_core *found = calloc(room ? room : 1, sizeof(*found));
	mr_status status = MR_OK;
	int n_nodes = hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_NUMANODE);
	uint32_t n;

	t->node = calloc(room ? room : 1, sizeof(*t->node));
	t->memory = calloc(room + (n_nodes > 0 ? (size_t)n_nodes : 1), sizeof(*t->memory));
	t->l3 = calloc(room ? room : 1, sizeof(*t->l3));
	t->core = calloc(room ? room : 1, sizeof(*t->core));
	t->n_machine_cores = (uint32_t)room;
	t->n_machine_pus = (uint32_t)n_pus;
	if (!found || !t->node || !t->memory || !t->l3 || !t->core) {
		status = mr_fail(MR_ERESOURCE, "no memory to describe %zu cores", room);
		goto out;
	}
	n = collect(h, type, allowed, found);
	if (!n) {
		status = mr_fail(MR_ERESOURCE, "of %zu cores none may be used by this process", room);
		goto out;
	}
	fill(h, t, found, n);
	add_spare_memories(h, t);
out:
	free(found);
	if (status != MR_OK)
		mr_topo_fini(t);
	return status;
}

/* Ask the kernel how much of each node is free. Where the process may not use all nodes that have memory, no more than
 * the sum of the others is available. */
static void count_free(hwloc_topology_t h, mr_topo *t)
{
	uint64_t sum = 0;
	hwloc_obj_t node = NULL;
	bool all = true;

	while ((node = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_NUMANODE, node)) != NULL)
		all = all && (usable_memory(h, node) || !node_memory(h, node));
	for (uint32_t i = 0; i < t->n_memories; i++) {
		mr_topo_memory *m = &t->memory[i];

		m->free_bytes = mr_node_memory_free("", m->os_index);
		sum = m->free_bytes < UINT64_MAX - sum ? sum + m->free_bytes : UINT64_MAX;
	}
	if (!all && sum < t->memory_available_bytes)
		t->memory_available_bytes = sum;
}

/* Apply the policy that numactl gave this process: to no other nodes, or as a wish. */
static void apply_policy(hwloc_topology_t h, mr_topo *t)
{
	mr_node_list nodes;
	mr_numa_policy policy = mr_numa_policy_of_process(&nodes);
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	char text[64];

	if (policy == MR_NUMA_DEFAULT || !set)
		goto out;
	mr_node_list_text(&nodes, text, sizeof(text));
	if (policy == MR_NUMA_SOFT) {
		snprintf(t->memory_policy, sizeof(t->memory_policy),
			 "the policy of numactl (nodes %s) is overridden for the workers' memory, which lies on their "
			 "nodes", text);
		goto out;
	}
	for (uint32_t i = 0; i < nodes.n; i++)
		hwloc_bitmap_set(set, nodes.os[i]);
	hwloc_bitmap_and(set, set, hwloc_topology_get_allowed_nodeset(h));
	if (!hwloc_topology_allow(h, NULL, set, HWLOC_ALLOW_FLAG_CUSTOM))
		snprintf(t->memory_policy, sizeof(t->memory_policy), "memory of node %s alone (numactl --membind)",
			 text);
out:
	hwloc_bitmap_free(set);
}

/* Apply the limits of cgroups and rlimits to a machine of @n_machine_nodes nodes. */
static void limit(mr_topo *t, int n_machine_nodes)
{
	uint32_t n_pus = 0;
	mr_limits l;

	for (uint32_t i = 0; i < t->n_cores; i++)
		n_pus += t->core[i].n_pus;
	if (n_pus < t->n_machine_pus)
		snprintf(t->cpu_limit, sizeof(t->cpu_limit), "affinity or cpuset: %u of %u CPUs", n_pus,
			 t->n_machine_pus);
	mr_limits_read("", &l);
	/* A guest whose memory grows while it runs updates its only node's size late or never. */
	if (n_machine_nodes <= 1 && t->n_nodes == 1 && t->n_cores == t->n_machine_cores &&
	    l.total_bytes > t->memory_bytes)
		t->memory_bytes = t->node[0].memory_bytes = t->memory[0].bytes = l.total_bytes;
	if (l.cpus > 0 && l.cpus < t->n_cores) {
		t->n_usable = l.cpus < 1 ? 1 : (uint32_t)l.cpus;
		snprintf(t->cpu_limit, sizeof(t->cpu_limit), "cgroup quota %.2f CPUs", l.cpus);
	}
	if (l.memory_bytes < t->memory_bytes) {
		t->memory_bytes = l.memory_bytes;
		snprintf(t->memory_limit, sizeof(t->memory_limit), "%s", l.memory_from);
	}
	t->memory_available_bytes = l.available_bytes < t->memory_bytes ? l.available_bytes : t->memory_bytes;
}

#ifdef MR_FAULTS
/* Divide the cores of the one node there is between fake nodes (numa.h). */
static void divide(mr_topo *t)
{
	uint64_t each;
	uint32_t n = mr_numa_fakes(&each);

	if (t->n_nodes != 1 || n < 2 || n > t->n_cores)
		return;
	each = each ? each : t->memory_bytes / n;
	t->memory_bytes = t->memory_bytes < n * each ? t->memory_bytes : n * each;
	if (t->memory_available_bytes > t->memory_bytes)
		t->memory_available_bytes = t->memory_bytes;
	t->n_nodes = t->n_memories = t->n_l3s = n;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = t->n_cores * i / n, cores = t->n_cores * (i + 1) / n - first;

		t->node[i] = (mr_topo_node){each, i, i, first, cores, i, 1};
		t->memory[i] =
			(mr_topo_memory){.bytes = each, .free_bytes = MR_NODE_MEMORY_UNKNOWN, .os_index = i};
		t->l3[i] = (mr_topo_l3){t->l3[0].bytes, i, first, cores};
		for (uint32_t c = first; c < first + cores; c++) {
			t->core[c].node = t->core[c].l3 = i;
			mr_numa_fake_cpu(t->core[c].cpu, i);
		}
	}
}
#else
static void divide(mr_topo *t)
{
	(void)t;
}
#endif

mr_status mr_topo_detect(mr_topo *t)
{
	hwloc_topology_t h = NULL;
	hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
	mr_status status;

	*t = (mr_topo){0};
	/* Disallowed objects stay in, so that the whole machine can be compared with the part that we may use. */
	if (!allowed || hwloc_topology_init(&h) ||
	    hwloc_topology_set_flags(h, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) || hwloc_topology_load(h)) {
		status = mr_fail(MR_ERESOURCE, "hwloc cannot read this machine: %s", strerror(errno));
		goto out;
	}
	/* The kernel keeps the affinity mask inside the cpuset; only if it cannot be read, the cpuset alone counts. */
	if (hwloc_get_cpubind(h, allowed, HWLOC_CPUBIND_THREAD))
		hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(h));
	else
		hwloc_bitmap_and(allowed, allowed, hwloc_topology_get_allowed_cpuset(h));
	apply_policy(h, t);
	status = convert(h, allowed, t);
	if (status == MR_OK) {
		limit(t, hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_NUMANODE));
		count_free(h, t);
		divide(t);
	}
out:
	if (h)
		hwloc_topology_destroy(h);
	hwloc_bitmap_free(allowed);
	return status;
}

/* hwloc needs the PUs in the text; a text that ends with cores gets one PU per core. */
static int set_synthetic(hwloc_topology_t h, const char *text)
{
	char with_pus[400];
	int length;

	if (!hwloc_topology_set_synthetic(h, text))
		return 0;
	length = snprintf(with_pus, sizeof(with_pus), "%s pu:1", text);
	if (!strstr(text, "core") || length >= (int)sizeof(with_pus))
		return -1;
	return hwloc_topology_set_synthetic(h, with_pus);
}

/* hwloc takes time with the third power of a level's objects. */
#define MOST_OF_LEVEL 1024u
#define MOST_PUS 4096u

/* Checks every "name:number" of @text; "name:" alone is left to hwloc to refuse. */
static mr_status check_size(const char *text)
{
	uint64_t all = 1;

	for (const char *c = strchr(text, ':'); c; c = strchr(c + 1, ':')) {
		unsigned long long n = strtoull(c + 1, NULL, 10);

		if (n > MOST_OF_LEVEL)
			return mr_fail(
				MR_EINVAL,
				"topology \"%s\": a level has at most %u of a kind, got %llu (several NUMA nodes, such "
				"as \"numa:4 core:512\", may have %u CPUs together)",
				text, MOST_OF_LEVEL, n, MOST_PUS);
		all *= n ? n : 1;
		if (all > MOST_PUS)
			return mr_fail(MR_EINVAL, "topology \"%s\": a machine has at most %u CPUs here", text,
				       MOST_PUS);
	}
	return MR_OK;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

/* Load the machine of @text, a synthetic one or a file's, as *@t. */
static mr_status load(hwloc_topology_t h, const char *text, mr_topo *t)
{
	bool file = ends_with(text, ".xml");
	hwloc_bitmap_t allowed;
	mr_status status;

	if (file && (hwloc_topology_set_flags(h, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) ||
		     hwloc_topology_set_xml(h, text) || hwloc_topology_load(h)))
		return mr_fail(MR_EINVAL, "topology \"%s\": cannot read a machine from this file", text);
	if (!file && (set_synthetic(h, text) || hwloc_topology_load(h)))
		return mr_fail(MR_EINVAL, "topology \"%s\" is not of the form \"numa:4 core:16 pu:2\"", text);
	allowed = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(h));
	status = allowed ? convert(h, allowed, t) : mr_fail(MR_ERESOURCE, "no memory to describe a machine");
	hwloc_bitmap_free(allowed);
	return status;
}

/* Is @text the name of a machine, and no list of levels? */
static bool is_name(const char *text)
{
	size_t n = strcspn(text, ":*");

	for (uint32_t i = 0; mr_server_at(i); i++)
		if (strlen(mr_server_at(i)->name) == n && !strncmp(mr_server_at(i)->name, text, n))
			return true;
	return !text[n] && !ends_with(text, ".xml");
}

/* The machine that is called @text, "NAME:CORES" or "NAME*MACHINES"; *@cores: how many of its cores may be used, 0:
 * all. Errors: MR_EINVAL. */
static mr_status find_server(const char *text, const mr_server **server, uint32_t *cores, uint32_t *machines)
{
	size_t n = strcspn(text, ":*");
	char name[80];

	*cores = 0;
	*machines = 1;
	snprintf(name, sizeof(name), "%.*s", (int)n, text);
	MR_TRY(mr_server_get(name, server));
	if (!text[n])
		return MR_OK;
	if (text[n] == '*') {
		uint32_t one = (*server)->sockets * mr_server_cores(*server);

		*machines = (uint32_t)strtoul(text + n + 1, NULL, 10);
		return *machines >= 1 && *machines <= MOST_PUS / one
			       ? MR_OK
			       : mr_fail(MR_EINVAL, "of %s, which has %u cores, 1 to %u are planned together, not %s",
					 (*server)->name, one, MOST_PUS / one, text + n + 1);
	}
	*cores = (uint32_t)strtoul(text + n + 1, NULL, 10);
	if (*cores < 1 || *cores > (*server)->sockets * mr_server_cores(*server))
		return mr_fail(MR_EINVAL, "%s has 1 to %u cores, not %s", (*server)->name,
			       (*server)->sockets * mr_server_cores(*server), text + n + 1);
	return MR_OK;
}

/* Of a machine with @t the first @cores cores; 0: all. */
static void use_first(mr_topo *t, uint32_t cores)
{
	if (!cores || cores >= t->n_usable)
		return;
	t->n_usable = cores;
	snprintf(t->cpu_limit, sizeof(t->cpu_limit), "the first of them");
}

mr_status mr_topo_synthetic(const char *text, mr_topo *t)
{
	const mr_server *server = NULL;
	hwloc_topology_t h = NULL;
	char published[200];
	uint32_t cores = 0, machines;
	mr_status status;

	*t = (mr_topo){.synthetic = true};
	if (is_name(text)) {
		if (find_server(text, &server, &cores, &machines) != MR_OK)
			return mr_fail(MR_EINVAL, "topology \"%s\" is not of the form \"numa:4 core:16 pu:2\", and %s",
				       text, mr_error_text());
		text = mr_server_topology(server, machines, published, sizeof(published));
	}
	if (!ends_with(text, ".xml"))
		MR_TRY(check_size(text));
	if (hwloc_topology_init(&h))
		return mr_fail(MR_ERESOURCE, "hwloc cannot start: %s", strerror(errno));
	status = load(h, text, t);
	t->synthetic = status == MR_OK;
	t->server = status == MR_OK ? server : NULL;
	t->memory_available_bytes = t->memory_bytes;
	if (status == MR_OK)
		use_first(t, cores);
	hwloc_topology_destroy(h);
	return status;
}

void mr_topo_fini(mr_topo *t)
{
	free(t->node);
	free(t->memory);
	free(t->l3);
	free(t->core);
	*t = (mr_topo){0};
}

const char *mr_topo_print(const mr_topo *t, char *text, size_t size)
{
	char memory[16], available[16];

	snprintf(text, size,
		 "%s%s%s%u node%s, %u L3 domain%s, %u of %u cores usable%s%s%s, memory %s%s%s%s, available %s%s%s",
		 t->synthetic ? "synthetic: " : "", t->server ? t->server->what : "", t->server ? ", " : "", t->n_nodes,
		 t->n_nodes == 1 ? "" : "s", t->n_l3s, t->n_l3s == 1 ? "" : "s", t->n_usable, t->n_machine_cores,
		 t->cpu_limit[0] ? " (" : "", t->cpu_limit, t->cpu_limit[0] ? ")" : "",
		 mr_bytes_text(t->memory_bytes, memory), t->memory_limit[0] ? " (" : "", t->memory_limit,
		 t->memory_limit[0] ? ")" : "", mr_bytes_text(t->memory_available_bytes, available),
		 t->memory_policy[0] ? "; " : "", t->memory_policy);
	return text;
}
