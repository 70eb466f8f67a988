/*
 * steps.c - whole training steps of every system, side by side, and of other programs that train the same model.
 *
 *	steps [--tiny | --list] [--rounds N] [--case NAME] [--json FILE] [--torch PYTHON] [--llmc FOLDER]
 *	      [--patience SECONDS]
 *
 * Without --torch and --llmc the variables MILLRACE_PYTHON and MILLRACE_LLMC name the peers.
 *
 * For each case (perf/steps/cases.h) all systems are built in this one process, the peers (peer.h) beside it, and
 * take turns: a round times a burst of steps of each, in an order that rotates; an engine that is not timed stands
 * still. Before and after every burst a cache-line ping-pong tells whether the two cores share a cache now (NEAR, about
 * 50 ns one way) or not (FAR, about 250 ns): virtual machines move. Bursts that saw both are dropped; medians are
 * reported per placement. `A` is sequential on all cores with threads inside the operators, the thing to beat; it
 * runs twice in each round, and the spread of that pair is the noise below which a ratio means nothing.
 *
 * The hash of each plan is printed, and afterwards the weights of every pipeline are compared, bit for bit, with the
 * single-thread replay of as many steps.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/env.h"
#include "perf/steps/results.h"

typedef struct bench {
	bool small;
	int rounds;
	const char *only, *json_path;
	mr_topo topo;
	mr_peer peers[MR_N_PEERS];
	FILE *json_file;
	mr_json_writer writer, *json; /* json NULL: not wanted */
} bench;

enum { TORCH, LLMC };

static bench the_bench;
static char tokens[64]; /* file of random tokens, while there is one */

/* A peer dies with this process, but its children might not, and files stay. Async-signal-safe. */
static void clean(void)
{
	for (int i = 0; i < MR_N_PEERS; i++)
		mr_process_signal(&the_bench.peers[i].process, SIGKILL);
	mr_peer_llmc.clean();
	if (*tokens)
		unlink(tokens);
}

static void interrupted(int sig)
{
	clean();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Where a peer is that no option names. NULL: nowhere. */
static const char *from_environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static void check(mr_status st, const char *what)
{
	if (st == MR_OK)
		return;
	fprintf(stderr, "steps: %s: %s\n", what, mr_error_text());
	clean();
	exit(mr_status_exit_code(st));
}

static int at_most(int n, const mr_topo *t)
{
	return (uint32_t)n > t->n_usable ? (int)t->n_usable : n;
}

/* Peers are started first: what memory they leave is what ours may have. */
static size_t line_up(bench *b, const mr_case *c, mr_contender *all)
{
	size_t n = 0, a = 0;

	for (int i = 0; i < MR_N_SYSTEMS; i++) {
		const mr_system *s = &mr_line_up[i];

		if (!mr_case_has(c, i))
			continue;
		a = i == MR_A ? n : a;
		all[n++] = (mr_contender){.system = s,
					  .label = s->label,
					  .workers = s->workers,
					  .threads = at_most(s->threads, &b->topo),
					  .same = i == MR_A_AGAIN && c->big ? &all[a] : NULL};
	}
	for (int i = 0; i < MR_N_PEERS; i++) {
		mr_peer *p = &b->peers[i];
		int threads = at_most(2, &b->topo);

		if (!p->where || !p->ops->takes(c))
			continue;
		all[n] = (mr_contender){.peer = p, .label = p->label, .workers = 1, .threads = threads};
		all[n++].out = !mr_peer_start(p, c, threads);
	}
	return n;
}

static void open_all(const mr_case *c, mr_contender *all, size_t n)
{
	if (c->vocab)
		check(mr_case_tokens(c, tokens), c->name);
	for (size_t i = 0; i < n; i++)
		if (!all[i].peer)
			check(mr_contender_open(&all[i], c, tokens), c->name);
	if (*tokens)
		unlink(tokens); /* opening has read all of it */
	*tokens = 0;
}

static double flops_of(const mr_case *c, const mr_contender *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].s.graph)
			return mr_graph_flops_train(all[i].s.graph) * c->batch;
	return 0;
}

static void prove_all(bench *b, mr_contender *all, size_t n)
{
	bool all_same = true;

	if (b->json) {
		mr_json_key(b->json, "plans");
		mr_json_begin_array(b->json);
	}
	for (size_t i = 0; i < n; i++) {
		bool same;

		check(mr_contender_prove(&all[i], b->json, &same), all[i].label);
		all_same = all_same && same;
	}
	if (b->json)
		mr_json_end_array(b->json);
	if (!all_same)
		exit(1);
}

static void run_case(bench *b, const mr_case *c)
{
	static mr_contender all[MR_N_CONTENDERS];
	mr_results r = {.c = c, .all = all, .peers = b->peers};
	int rounds = c->rounds && c->rounds < b->rounds ? c->rounds : b->rounds;

	printf("\n%s: %s, batch %d, %d micro-batches for the synchronous pipelines\n", c->name, c->what, c->batch,
	       c->micro);
	fflush(stdout);
	r.n = line_up(b, c, all);
	open_all(c, all, r.n);
	for (int k = 0; k < rounds; k++) {
		check(mr_peak_measure(&b->topo, &r.peak), c->name);
		for (size_t i = 0; i < r.n; i++)
			check(mr_contender_burst(&all[(i + (size_t)k) % r.n], all, r.n, c, &b->topo, &r.rest), c->name);
	}
	r.flops = flops_of(c, all, r.n);
	if (b->json)
		mr_json_begin_object(b->json);
	check(mr_results_put(&r, b->json), c->name);
	for (size_t i = 0; i < r.n; i++)
		if (all[i].peer)
			mr_contender_close(&all[i]); /* memory for the replays */
	prove_all(b, all, r.n);
	for (size_t i = 0; i < r.n; i++)
		if (!all[i].peer)
			mr_contender_close(&all[i]);
	if (b->json)
		mr_json_end_object(b->json);
	fflush(stdout);
}

static void begin_json(bench *b)
{
	char machine[512];

	if (!b->json_path)
		return;
	b->json_file = fopen(b->json_path, "we");
	if (!b->json_file) {
		perror(b->json_path);
		exit(1);
	}
	b->json = &b->writer;
	mr_json_init(b->json, b->json_file, true);
	mr_json_begin_object(b->json);
	mr_json_key(b->json, "machine");
	mr_json_put_string(b->json, mr_topo_print(&b->topo, machine, sizeof(machine)));
	mr_json_key(b->json, "kernels");
	mr_json_put_string(b->json, mr_kernels_library());
	mr_json_key(b->json, "cases");
	mr_json_begin_array(b->json);
}

static void end_json(bench *b)
{
	if (!b->json)
		return;
	mr_json_end_array(b->json);
	mr_json_end_object(b->json);
	check(mr_json_finish(b->json), b->json_path);
	if (fclose(b->json_file)) {
		perror(b->json_path);
		exit(1);
	}
	printf("\nwritten to %s\n", b->json_path);
}

static void usage(void)
{
	fputs("usage: steps [--tiny | --list] [--rounds N] [--case NAME] [--json FILE] [--torch PYTHON]\n"
	      "             [--llmc FOLDER] [--patience SECONDS]\n",
	      stderr);
	exit(2);
}

static const mr_case *find_case(const char *name)
{
	const mr_case *c = mr_cases;

	while (c->name && strcmp(c->name, name) != 0)
		c++;
	if (!c->name) {
		fprintf(stderr, "steps: no case is called \"%s\"; --list names them\n", name);
		exit(2);
	}
	return c;
}

static void list(void)
{
	for (const mr_case *c = mr_cases; c->name; c++)
		puts(c->name);
	exit(0);
}

static void parse(bench *b, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(argv[i], "--list"))
			list();
		else if (!strcmp(argv[i], "--tiny")) {
			b->small = true;
			continue;
		}
		if (!value)
			usage();
		if (!strcmp(argv[i], "--rounds"))
			b->rounds = atoi(value);
		else if (!strcmp(argv[i], "--case"))
			b->only = find_case(value)->name;
		else if (!strcmp(argv[i], "--json"))
			b->json_path = value;
		else if (!strcmp(argv[i], "--torch"))
			b->peers[TORCH].where = value;
		else if (!strcmp(argv[i], "--llmc"))
			b->peers[LLMC].where = value;
		else if (!strcmp(argv[i], "--patience"))
			b->peers[TORCH].patience_s = b->peers[LLMC].patience_s = atof(value);
		else
			usage();
		i++;
	}
	if (b->rounds < 1 || b->rounds > MR_MAX_ROUNDS) {
		fprintf(stderr, "steps: --rounds expects 1 to %d\n", MR_MAX_ROUNDS);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	bench *b = &the_bench;
	mr_env_params env = {.argv = argv};
	char machine[512];

	b->rounds = 7;
	b->peers[TORCH] = (mr_peer){.ops = &mr_peer_torch, .patience_s = 180};
	b->peers[LLMC] = (mr_peer){.ops = &mr_peer_llmc, .patience_s = 180};
	parse(b, argc, argv);
	if (!b->small && !b->peers[TORCH].where)
		b->peers[TORCH].where = from_environment("MILLRACE_PYTHON");
	if (!b->small && !b->peers[LLMC].where)
		b->peers[LLMC].where = from_environment("MILLRACE_LLMC");
	check(mr_env_prepare(&env), "environment");
	check(mr_topo_detect(&b->topo), "topology");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	printf("machine: %s\nkernels: %s\n", mr_topo_print(&b->topo, machine, sizeof(machine)), mr_kernels_library());
	for (int i = 0; i < MR_N_PEERS; i++)
		if (!b->peers[i].where && !b->small)
			printf("peers: no %s: %s\n", b->peers[i].ops->name, b->peers[i].ops->missing);
	begin_json(b);
	if (b->small) {
		b->rounds = 2;
		run_case(b, &mr_case_tiny);
	}
	for (const mr_case *c = mr_cases; !b->small && c->name; c++)
		if (!b->only || b->only == c->name)
			run_case(b, c);
	mr_topo_fini(&b->topo);
	end_json(b);
	return 0;
}
