#include "host/topo.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "host/limits.h"

/*
 * The tree is read from the cores upwards: each allowed core has its node and its L3 domain through cpusets, so
 * packages, groups and dies between them need no handling, nor do machines without an L3 or without NUMA nodes of
 * their own.
 */

/* The NUMA node whose cpuset holds @core; a machine of several memory kinds has several, the first one counts. */
static hwloc_obj_t node_of(hwloc_topology_t h, hwloc_obj_t core)
{
	hwloc_obj_t node = NULL;

	while ((node = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_NUMANODE, node)) != NULL)
		if (hwloc_bitmap_intersects(node->cpuset, core->cpuset))
			return node;
	return NULL;
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

/* Fill the three arrays (room for @n entries each) from the sorted cores. */
static void fill(hwloc_topology_t h, mr_topo *t, const found_core *found, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const found_core *f = &found[i];
		bool new_node = i == 0 || f->node != f[-1].node;

		if (i == 0 || f->l2 < t->l2_bytes)
			t->l2_bytes = f->l2;
		if (new_node) {
			t->node[t->n_nodes++] = (mr_topo_node){.memory_bytes = node_memory(h, f->node),
							       .os_index = f->node ? f->node->os_index : 0,
							       .first_core = i,
							       .first_l3 = t->n_l3s};
			t->memory_bytes += node_memory(h, f->node);
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
	uint32_t n;

	t->node = calloc(room ? room : 1, sizeof(*t->node));
	t->l3 = calloc(room ? room : 1, sizeof(*t->l3));
	t->core = calloc(room ? room : 1, sizeof(*t->core));
	t->n_machine_cores = (uint32_t)room;
	t->n_machine_pus = (uint32_t)n_pus;
	if (!found || !t->node || !t->l3 || !t->core) {
		status = mr_fail(MR_ERESOURCE, "no memory to describe %zu cores", room);
		goto out;
	}
	n = collect(h, type, allowed, found);
	if (!n) {
		status = mr_fail(MR_ERESOURCE, "of %zu cores none may be used by this process", room);
		goto out;
	}
	fill(h, t, found, n);
out:
	free(found);
	if (status != MR_OK)
		mr_topo_fini(t);
	return status;
}

/* Apply the limits of cgroups and rlimits. */
static void limit(mr_topo *t)
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
	if (t->n_nodes == 1 && t->n_cores == t->n_machine_cores && l.total_bytes > t->memory_bytes)
		t->memory_bytes = t->node[0].memory_bytes = l.total_bytes;
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
	status = convert(h, allowed, t);
	if (status == MR_OK)
		limit(t);
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

mr_status mr_topo_synthetic(const char *text, mr_topo *t)
{
	const mr_server *server = NULL;
	hwloc_topology_t h = NULL;
	char published[200];
	mr_status status;

	*t = (mr_topo){.synthetic = true};
	if (!strchr(text, ':')) { /* no level of a machine: a name */
		if (mr_server_get(text, &server) != MR_OK)
			return mr_fail(MR_EINVAL, "topology \"%s\" is not of the form \"numa:4 core:16 pu:2\", and %s",
				       text, mr_error_text());
		text = mr_server_topology(server, published, sizeof(published));
	}
	MR_TRY(check_size(text));
	if (hwloc_topology_init(&h))
		return mr_fail(MR_ERESOURCE, "hwloc cannot start: %s", strerror(errno));
	if (set_synthetic(h, text) || hwloc_topology_load(h))
		status = mr_fail(MR_EINVAL, "topology \"%s\" is not of the form \"numa:4 core:16 pu:2\"", text);
	else
		status = convert(h, hwloc_get_root_obj(h)->cpuset, t);
	t->synthetic = status == MR_OK;
	t->server = status == MR_OK ? server : NULL;
	t->memory_available_bytes = t->memory_bytes;
	hwloc_topology_destroy(h);
	return status;
}

void mr_topo_fini(mr_topo *t)
{
	free(t->node);
	free(t->l3);
	free(t->core);
	*t = (mr_topo){0};
}

const char *mr_topo_print(const mr_topo *t, char *text, size_t size)
{
	char memory[16], available[16];

	snprintf(text, size,
		 "%s%s%s%u node%s, %u L3 domain%s, %u of %u cores usable%s%s%s, memory %s%s%s%s, available %s",
		 t->synthetic ? "synthetic: " : "", t->server ? t->server->what : "", t->server ? ", " : "", t->n_nodes,
		 t->n_nodes == 1 ? "" : "s", t->n_l3s, t->n_l3s == 1 ? "" : "s", t->n_usable, t->n_machine_cores,
		 t->cpu_limit[0] ? " (" : "", t->cpu_limit, t->cpu_limit[0] ? ")" : "",
		 mr_bytes_text(t->memory_bytes, memory), t->memory_limit[0] ? " (" : "", t->memory_limit,
		 t->memory_limit[0] ? ")" : "", mr_bytes_text(t->memory_available_bytes, available));
	return text;
}
