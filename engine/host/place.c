#include "host/place.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/node_memory.h"
#include "host/offline.h"

/* Usable cores of node @i: the quota may end inside a node. */
static uint32_t node_cores(const mr_topo *t, uint32_t i)
{
	const mr_topo_node *n = &t->node[i];

	if (n->first_core >= t->n_usable)
		return 0;
	return n->first_core + n->n_cores <= t->n_usable ? n->n_cores : t->n_usable - n->first_core;
}

/* Groups of @k cores that the usable part of L3 domain @i holds. */
static uint32_t l3_groups(const mr_topo *t, uint32_t i, uint32_t k)
{
	const mr_topo_l3 *d = &t->l3[i];
	uint32_t end = d->first_core + d->n_cores;

	if (d->first_core >= t->n_usable)
		return 0;
	return ((end < t->n_usable ? end : t->n_usable) - d->first_core) / k;
}

/* The largest group size for which @n groups fit without straddling nodes. @n <= n_usable, so 1 always does. */
static uint32_t equal_size(const mr_topo *t, uint32_t n)
{
	for (uint32_t k = t->n_usable / n; k > 1; k--) {
		uint32_t fit = 0;

		for (uint32_t i = 0; i < t->n_nodes; i++)
			fit += node_cores(t, i) / k;
		if (fit >= n)
			return k;
	}
	return 1;
}

/* Deal @n groups of @k cores to the nodes, each to the node where most cores a group are left; into @share[n_nodes]. */
static void deal(const mr_topo *t, uint32_t n, uint32_t k, uint32_t *share)
{
	for (; n > 0; n--) {
		uint32_t best = UINT32_MAX;

		for (uint32_t i = 0; i < t->n_nodes; i++) {
			if (node_cores(t, i) / k <= share[i])
				continue;
			/* cores / (share + 1), compared without division; the earlier node wins a tie */
			if (best == UINT32_MAX || (uint64_t)node_cores(t, i) * (share[best] + 1) >
							  (uint64_t)node_cores(t, best) * (share[i] + 1))
				best = i;
		}
		share[best]++;
	}
}

/* Give worker @w the cores [first, first + k). */
static void take(mr_place *place, const mr_topo *t, uint32_t w, uint32_t *used, uint32_t first, uint32_t k)
{
	mr_place_worker *worker = &place->worker[w];

	worker->n_threads = k;
	worker->cpu = place->cpu + *used;
	for (uint32_t i = 0; i < k; i++)
		place->cpu[(*used)++] = t->core[(first + i) % t->n_usable].cpu;
}

/* Place the @n groups of one node; inside L3 domains when all of them fit that way. */
static void place_in_node(mr_place *place, const mr_topo *t, uint32_t node, uint32_t n, uint32_t k, uint32_t *w,
			  uint32_t *used)
{
	const mr_topo_node *d = &t->node[node];
	uint32_t aligned = 0;

	for (uint32_t i = 0; i < d->n_l3s; i++)
		aligned += l3_groups(t, d->first_l3 + i, k);
	if (aligned < n) {
		for (uint32_t i = 0; i < n; i++)
			take(place, t, (*w)++, used, d->first_core + i * k, k);
		return;
	}
	for (uint32_t i = 0; i < d->n_l3s && n > 0; i++)
		for (uint32_t g = 0; g < l3_groups(t, d->first_l3 + i, k) && n > 0; g++, n--)
			take(place, t, (*w)++, used, t->l3[d->first_l3 + i].first_core + g * k, k);
}

static mr_status place_equal(mr_place *place, const mr_topo *t, const mr_place_params *p)
{
	uint32_t k, wide, w = 0, used = 0, *share;

	if (p->n_workers > t->n_usable) {
		for (; w < p->n_workers; w++)
			take(place, t, w, &used, w, 1);
		return MR_OK;
	}
	k = equal_size(t, p->n_workers);
	wide = p->n_workers < t->n_nodes ? t->n_usable / p->n_workers : k;
	if (p->max_threads && wide > p->max_threads)
		wide = p->max_threads;
	if (wide > k) {
		for (; w < p->n_workers; w++)
			take(place, t, w, &used, w * wide, wide);
		return MR_OK;
	}
	if (p->max_threads && k > p->max_threads)
		k = p->max_threads;
	share = calloc(t->n_nodes, sizeof(*share));
	if (!share)
		return mr_fail(MR_ERESOURCE, "no memory to place %u workers", p->n_workers);
	deal(t, p->n_workers, k, share);
	for (uint32_t i = 0; i < t->n_nodes; i++)
		place_in_node(place, t, i, share[i], k, &w, &used);
	free(share);
	return MR_OK;
}

/* A part of a topology: a node or an L3 domain, as far as it is usable. */
typedef struct part {
	uint32_t first_core, n_cores;
} part;

static part usable_part(const mr_topo *t, uint32_t first, uint32_t n)
{
	uint32_t left = first < t->n_usable ? t->n_usable - first : 0;

	return (part){first, n < left ? n : left};
}

typedef struct sharing {
	mr_place *place;
	const mr_topo *t;
	uint32_t most; /* threads of a worker */
	uint32_t w, used;
} sharing;

/* Divide the cores of @p between the next @n workers, as evenly as they divide. */
static void share_part(sharing *s, part p, uint32_t n)
{
	for (uint32_t i = 0, at = p.first_core; i < n; i++) {
		uint32_t k = p.n_cores / n + (i < p.n_cores % n);

		take(s->place, s->t, s->w++, &s->used, at, k < s->most ? k : s->most);
		at += k;
	}
}

/* Deal @n workers to the @n_parts parts @p, which have as many cores or more: one to each that has cores, each further
 * one to that with most cores a worker; into @share. False: there are fewer workers than parts with cores. */
static bool deal_all(const part *p, uint32_t n_parts, uint32_t n, uint32_t *share)
{
	for (uint32_t i = 0; i < n_parts; i++) {
		share[i] = p[i].n_cores > 0;
		if (n < share[i])
			return false;
		n -= share[i];
	}
	for (; n > 0; n--) {
		uint32_t best = UINT32_MAX;

		for (uint32_t i = 0; i < n_parts; i++)
			if (p[i].n_cores > share[i] &&
			    (best == UINT32_MAX ||
			     (uint64_t)p[i].n_cores * share[best] > (uint64_t)p[best].n_cores * share[i]))
				best = i;
		share[best]++;
	}
	return true;
}

/* The @n workers of a node; inside L3 domains where each of these has one. @part and @share: [n_l3s]. */
static void share_node(sharing *s, const mr_topo_node *node, uint32_t n, part *p, uint32_t *share)
{
	for (uint32_t i = 0; i < node->n_l3s; i++) {
		const mr_topo_l3 *l3 = &s->t->l3[node->first_l3 + i];

		p[i] = usable_part(s->t, l3->first_core, l3->n_cores);
	}
	if (!deal_all(p, node->n_l3s, n, share)) {
		share_part(s, usable_part(s->t, node->first_core, node->n_cores), n);
		return;
	}
	for (uint32_t i = 0; i < node->n_l3s; i++)
		share_part(s, p[i], share[i]);
}

static mr_status place_uneven(mr_place *place, const mr_topo *t, const mr_place_params *p)
{
	uint32_t n = t->n_nodes + t->n_l3s;
	sharing s = {.place = place, .t = t, .most = p->max_threads ? p->max_threads : UINT32_MAX};
	part *of = calloc(n, sizeof(*of)), *l3s = of + t->n_nodes;
	uint32_t *share = calloc(n, sizeof(*share));
	mr_status st = of && share ? MR_OK : mr_fail(MR_ERESOURCE, "no memory to place %u workers", p->n_workers);

	for (uint32_t i = 0; st == MR_OK && i < t->n_nodes; i++)
		of[i] = usable_part(t, t->node[i].first_core, t->node[i].n_cores);
	if (st == MR_OK && !deal_all(of, t->n_nodes, p->n_workers, share))
		share_part(&s, (part){0, t->n_usable}, p->n_workers);
	else
		for (uint32_t i = 0; st == MR_OK && i < t->n_nodes; i++)
			share_node(&s, &t->node[i], share[i], l3s, share + t->n_nodes);
	free(of);
	free(share);
	return st;
}

/* First core for a group of @k from @at on: skip the rest of a node that is too small when the next one is not. */
static uint32_t next_start(const mr_topo *t, uint32_t at, uint32_t k)
{
	uint32_t node, end;

	if (at >= t->n_usable)
		return at;
	node = t->core[at].node;
	end = t->node[node].first_core + node_cores(t, node);
	return at + k <= end || node + 1 >= t->n_nodes || node_cores(t, node + 1) < k ? at : end;
}

static mr_status place_sizes(mr_place *place, const mr_topo *t, const mr_place_params *p)
{
	uint32_t at = 0, used = 0;
	bool skip = true;

	for (uint32_t w = 0; w < p->n_workers; w++) {
		if (p->n_threads[w] == 0 || p->n_threads[w] > t->n_usable)
			return mr_fail(MR_ERESOURCE, "worker %u asks for %u threads, there are %u usable cores", w,
				       p->n_threads[w], t->n_usable);
		at = next_start(t, at, p->n_threads[w]) + p->n_threads[w];
	}
	/* If the groups may not fit, no node is skipped: one group after the other, wrapping at the end. */
	skip = at <= t->n_usable;
	at = 0;
	for (uint32_t w = 0; w < p->n_workers; w++) {
		if (skip)
			at = next_start(t, at, p->n_threads[w]);
		take(place, t, w, &used, at, p->n_threads[w]);
		at += p->n_threads[w];
	}
	return MR_OK;
}

/* Index of the core that runs on @cpu, or n_cores. */
static uint32_t core_of(const mr_topo *t, uint32_t cpu)
{
	uint32_t i = 0;

	while (i < t->n_cores && t->core[i].cpu != cpu)
		i++;
	return i;
}

static bool is_gap(char c)
{
	return c == ';' || isspace((unsigned char)c);
}

/* Read one "0-3,8" list at *@s for worker @w; *@s moves behind it. */
static mr_status read_list(mr_place *place, const mr_topo *t, uint32_t w, const char **s, uint32_t *used)
{
	mr_place_worker *worker = &place->worker[w];
	char offline[4096];

	worker->cpu = place->cpu + *used;
	for (;;) {
		unsigned first, last;
		int n = 0;

		if (!isdigit((unsigned char)**s) || sscanf(*s, "%7u%n", &first, &n) != 1)
			return mr_fail(MR_ECONFIG, "CPU list of worker %u: expected a number at \"%.20s\"", w, *s);
		*s += n;
		last = first;
		if (**s == '-') {
			if (!isdigit((unsigned char)(*s)[1]) || sscanf(*s, "-%7u%n", &last, &n) != 1 || last < first)
				return mr_fail(MR_ECONFIG, "CPU list of worker %u: bad range at \"%u%.20s\"", w, first,
					       *s);
			*s += n;
		}
		for (unsigned cpu = first; cpu <= last; cpu++) {
			if (core_of(t, cpu) == t->n_cores && place->bindable &&
			    mr_offline_has(mr_offline_cpus(offline, sizeof(offline)), cpu))
				return mr_fail(MR_ECONFIG, "CPU list of worker %u: CPU %u is offline", w, cpu);
			if (core_of(t, cpu) == t->n_cores)
				return mr_fail(MR_ECONFIG,
					       "CPU list of worker %u: CPU %u is not the first CPU of a core that this "
					       "process may use",
					       w, cpu);
			for (uint32_t i = 0; i < worker->n_threads; i++)
				if (worker->cpu[i] == cpu)
					return mr_fail(MR_ECONFIG, "CPU list of worker %u: CPU %u twice", w, cpu);
			place->cpu[(*used)++] = cpu;
			worker->n_threads++;
		}
		if (**s != ',')
			return MR_OK;
		(*s)++;
	}
}

static mr_status place_lists(mr_place *place, const mr_topo *t, const mr_place_params *p)
{
	const char *s = p->cpus;
	uint32_t w = 0, used = 0;

	for (;; w++) {
		while (is_gap(*s))
			s++;
		if (!*s)
			break;
		if (w == p->n_workers)
			return mr_fail(MR_ECONFIG, "more CPU lists than the %u workers, the next is \"%.20s\"", w, s);
		MR_TRY(read_list(place, t, w, &s, &used));
		if (*s && !is_gap(*s))
			return mr_fail(MR_ECONFIG, "CPU list of worker %u: expected ',' or a blank at \"%.20s\"", w, s);
	}
	return w == p->n_workers ? MR_OK : mr_fail(MR_ECONFIG, "%u CPU lists for %u workers", w, p->n_workers);
}

/* Derive the rest from the CPUs: nodes, straddling, sharing, idle cores. @users[n_cores] counts workers per core. */
static void complete(mr_place *place, const mr_topo *t, uint32_t *users)
{
	for (uint32_t w = 0; w < place->n_workers; w++)
		for (uint32_t i = 0; i < place->worker[w].n_threads; i++)
			users[core_of(t, place->worker[w].cpu[i])]++;
	for (uint32_t w = 0; w < place->n_workers; w++) {
		mr_place_worker *worker = &place->worker[w];

		worker->node = t->core[core_of(t, worker->cpu[0])].node;
		worker->node_os = t->node[worker->node].os_index;
		worker->bindable = place->bindable;
		for (uint32_t i = 0; i < worker->n_threads; i++) {
			uint32_t core = core_of(t, worker->cpu[i]);

			worker->straddles |= t->core[core].node != worker->node;
			mr_node_list_add(&worker->memory, t->memory[t->node[t->core[core].node].memory].os_index);
			worker->shared |= users[core] > 1;
		}
		place->shared |= worker->shared;
	}
	for (uint32_t i = 0; i < t->n_cores; i++)
		place->n_cores_used += users[i] > 0;
	place->n_cores_idle = t->n_usable > place->n_cores_used ? t->n_usable - place->n_cores_used : 0;
	/* With a quota a list may name cores beyond the usable ones: no more idle ones are left than the quota has. */
	for (uint32_t i = 0, n = 0; i < t->n_cores && n < place->n_cores_idle; i++) {
		if (users[i])
			continue;
		place->idle[n] = t->core[i].cpu;
		place->idle_memory[n++] = t->memory[t->node[t->core[i].node].memory].os_index;
	}
}

void mr_place_defaults(mr_place_params *p, uint32_t n_workers)
{
	*p = (mr_place_params){.n_workers = n_workers};
}

mr_status mr_place_init(mr_place *place, const mr_topo *t, const mr_place_params *p)
{
	uint32_t *users = calloc(t->n_cores, sizeof(*users));
	mr_status status;

	*place = (mr_place){.n_workers = p->n_workers, .bindable = !t->synthetic};
	if (p->n_workers == 0) {
		free(users);
		return mr_fail(MR_EINVAL, "no workers to place");
	}
	place->worker = calloc(p->n_workers, sizeof(*place->worker));
	place->memory = calloc(t->n_memories, sizeof(*place->memory));
	place->idle = calloc(t->n_cores, sizeof(*place->idle));
	place->idle_memory = calloc(t->n_cores, sizeof(*place->idle_memory));
	/* No worker has more CPUs than there are cores. */
	place->cpu = calloc((size_t)p->n_workers * t->n_cores, sizeof(*place->cpu));
	if (place->memory) {
		place->n_memories = t->n_memories;
		memcpy(place->memory, t->memory, t->n_memories * sizeof(*place->memory));
	}
	if (!users || !place->worker || !place->memory || !place->cpu || !place->idle || !place->idle_memory)
		status = mr_fail(MR_ERESOURCE, "no memory to place %u workers", p->n_workers);
	else if (p->cpus)
		status = place_lists(place, t, p);
	else if (p->n_threads)
		status = place_sizes(place, t, p);
	else if (p->uneven && p->n_workers <= t->n_usable)
		status = place_uneven(place, t, p);
	else
		status = place_equal(place, t, p);
	if (status == MR_OK)
		complete(place, t, users);
	else
		mr_place_fini(place);
	free(users);
	return status;
}

void mr_place_fini(mr_place *place)
{
	free(place->worker);
	free(place->memory);
	free(place->idle);
	free(place->idle_memory);
	free(place->cpu);
	*place = (mr_place){0};
}

uint32_t mr_place_threads_on(const mr_place_worker *w, const mr_topo *t, uint32_t node)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_threads; i++)
		n += t->core[core_of(t, w->cpu[i])].node == node;
	return n;
}

uint32_t mr_place_idle(const mr_place *place, const mr_node_list *nodes, uint32_t *cpu)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < place->n_cores_idle; i++)
		if (mr_node_list_has(nodes, place->idle_memory[i]))
			cpu[n++] = place->idle[i];
	if (n)
		return n;
	for (; n < place->n_cores_idle; n++)
		cpu[n] = place->idle[n];
	return n;
}

void mr_place_count_free(mr_place *place)
{
	for (uint32_t i = 0; place->bindable && i < place->n_memories; i++)
		place->memory[i].free_bytes = mr_node_memory_free("", place->memory[i].os_index);
}

/* What regions may take of @m: the rest is for the program, its data and the kernel. */
static uint64_t capacity(const mr_topo_memory *m)
{
	uint64_t all = m->bytes ? m->bytes - m->bytes / 16 : UINT64_MAX;
	uint64_t now = m->free_bytes < MR_NODE_MEMORY_UNKNOWN ? m->free_bytes - m->free_bytes / 16 : UINT64_MAX;

	return all < now ? all : now;
}

/* Has memory @i room for @bytes more? */
static bool has_room(const mr_place *place, const uint64_t *claimed, uint32_t i, uint64_t bytes)
{
	uint64_t all = capacity(&place->memory[i]);

	return claimed[i] <= all && bytes <= all - claimed[i];
}

/* Have all nodes of @l room for an equal part of @bytes? Drops those that have not from @l. */
static bool fit(const mr_place *place, const uint64_t *claimed, uint64_t bytes, mr_node_list *l)
{
	uint64_t each = l->n ? (bytes + l->n - 1) / l->n : 0;
	mr_node_list left = {0};

	for (uint32_t i = 0; i < place->n_memories; i++)
		if (mr_node_list_has(l, place->memory[i].os_index) && has_room(place, claimed, i, each))
			mr_node_list_add(&left, place->memory[i].os_index);
	if (left.n == l->n)
		return true;
	*l = left;
	return false;
}

/* All nodes that have room for an equal part of @bytes; with @spare those without cores, too. */
static mr_node_list all_with_room(const mr_place *place, const uint64_t *claimed, uint64_t bytes, bool spare)
{
	mr_node_list all = {0};

	for (uint32_t i = 0; i < place->n_memories; i++)
		if (spare || !place->memory[i].spare)
			mr_node_list_add(&all, place->memory[i].os_index);
	while (all.n && !fit(place, claimed, bytes, &all))
		;
	return all;
}

mr_node_list mr_place_claim(const mr_place *place, const mr_place_worker *w, uint64_t bytes, uint64_t *claimed,
			    bool *elsewhere)
{
	mr_node_list own = w->memory, all = {0}, *to = &own;

	*elsewhere = false;
	if (place->n_memories > 1 && !fit(place, claimed, bytes, &own)) {
		all = all_with_room(place, claimed, bytes, false);
		if (!all.n)
			all = all_with_room(place, claimed, bytes, true);
		to = &all;
		*elsewhere = true;
	}
	own = w->memory; /* a claim that exceeds all is counted where it would be */
	for (uint32_t i = 0; i < place->n_memories; i++)
		if (mr_node_list_has(to->n ? to : &own, place->memory[i].os_index))
			claimed[i] += bytes / (to->n ? to->n : own.n);
	return *to;
}

mr_node_list mr_place_spare(const mr_place *place, uint64_t bytes)
{
	uint64_t *none = calloc(place->n_memories + 1u, sizeof(*none));
	mr_node_list l = {0};

	for (uint32_t i = 0; none && i < place->n_memories; i++)
		if (place->memory[i].spare)
			mr_node_list_add(&l, place->memory[i].os_index);
	while (none && l.n && !fit(place, none, bytes, &l))
		;
	free(none);
	return l;
}

/* snprintf at the end of @text. */
static void append(char *text, size_t size, const char *fmt, ...) MR_PRINTF(3, 4);
static void append(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + used, size - used, fmt, ap);
	va_end(ap);
}

const char *mr_place_print_notes(const mr_place *place, char *text, size_t size)
{
	uint32_t straddling = 0, least = UINT32_MAX, most = 0;

	text[0] = '\0';
	for (uint32_t w = 0; w < place->n_workers; w++) {
		straddling += place->worker[w].straddles;
		least = place->worker[w].n_threads < least ? place->worker[w].n_threads : least;
		most = place->worker[w].n_threads > most ? place->worker[w].n_threads : most;
	}
	if (least < most)
		append(text, size, "; workers have %u to %u threads", least, most);
	if (place->shared)
		append(text, size, "; workers share cores: waits spin shortly, timings say little");
	if (straddling)
		append(text, size, "; %u worker%s on cores of more than one node", straddling,
		       straddling == 1 ? "" : "s");
	if (place->n_cores_idle)
		append(text, size, "; %u core%s left idle", place->n_cores_idle, place->n_cores_idle == 1 ? "" : "s");
	if (!place->bindable)
		append(text, size, "; synthetic machine: nothing is pinned");
	if (text[0])
		memmove(text, text + 2, strlen(text + 2) + 1);
	return text;
}
