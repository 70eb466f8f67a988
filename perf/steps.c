/*
 * steps.c - whole training steps of every system, side by side, and of other programs that train the same model.
 *
 *	steps [--tiny | --list] [--systems table|all] [--precision f32,bf16] [--rounds N] [--case NAME]...
 *	      [--json FILE] [--torch PYTHON] [--preload yes|no] [--jax PYTHON] [--llmc FOLDER] [--patience SECONDS]
 *	      [--choices TABLE] [--commit TEXT] [--still]
 *
 * Without --torch, --jax and --llmc the variables MILLRACE_PYTHON, MILLRACE_JAX and MILLRACE_LLMC name the peers.
 * --preload: PyTorch takes turns a second time with a library that makes its MKL use AVX-512 on processors of AMD; by
 * default where the processor is one. --precision: one or both, which is the default. --systems: of ours those that
 * the table needs (A, three pipelines, the planner's choice), in five rounds; or all, in seven, with replays. --commit
 * is what the table says of each row. Cases that are no rows of the table are timed where --case names them.
 *
 * For each case (perf/steps/cases.h) all systems are built in this one process, the peers (peer.h) beside it, and
 * take turns: a round times a burst of steps of each, in an order that rotates; an engine that is not timed stands
 * still. Before and after every burst a cache-line ping-pong tells whether the two cores share a cache now (NEAR, about
 * 50 ns one way) or not (FAR, about 250 ns): virtual machines move. Bursts that saw both are dropped, bursts during
 * which others used CPU (load.h) are left out; medians are reported per placement. `A` is sequential on all cores with
 * threads inside the operators, the thing to beat; with all systems, and where the planner chooses it, it runs twice in
 * each round, and the spread of that pair is the noise below which a ratio means nothing. The peaks of the cores are
 * measured before the rounds and after them; the best counts, of all cases so far.
 *
 * So that the table takes less than half an hour, what is far off after two bursts is not timed any more (contender.h),
 * but with all systems, and more rounds than asked for, of what lacks bursts that count, are made only while the run is
 * not late.
 *
 * With --choices two tables of choices (nn/choices.h) take turns in place of all systems: the built-in one and TABLE,
 * in `sequential` by one thread and by all cores.
 *
 * With all systems the hash of each plan is printed, and afterwards the weights of every pipeline are compared, bit for
 * bit, with the single-thread replay of as many steps, but in cases whose steps take seconds. Last comes one table of
 * all cases in Markdown.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "costs/measured_machine.h"
#include "host/clock.h"
#include "host/env.h"
#include "host/processor.h"
#include "perf/steps/summary.h"

enum { MOST_CASES = 32 };

#define SHARE_NS 84000000000u /* a case: 28 minutes in 20 cases. What one leaves of it the next ones may take */

typedef struct bench {
	bool small;
	bool still;          /* nothing asks where the cores are */
	int rounds;          /* 0: five, or seven of all systems */
	bool all;            /* systems, with replays */
	unsigned precisions; /* a bit for each */
	const mr_case *only[MOST_CASES];
	int n_only;          /* 0: all cases */
	uint64_t due_ns;     /* until then the cases so far may make rounds in place of bursts that do not count */
	const char *json_path;
	const char *commit;  /* "": not told */
	bool preload;        /* PyTorch once more, with MKL's code for AVX-512 on processors of AMD */
	const char *choices; /* beside the built-in table; NULL: systems and peers take turns */
	mr_topo topo;
	mr_peer peers[MR_N_PEERS];
	mr_peak peak;        /* of the cases so far */
	mr_summary summary;
	bool differs;        /* weights of a plan, from those of its replay */
	FILE *json_file;
	mr_json_writer writer, *json; /* json NULL: not wanted */
} bench;

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

static bool in_precision(const bench *b, int k)
{
	return (b->precisions & 1u << k) != 0;
}

static size_t add_peer(bench *b, mr_peer *p, const mr_case *c, mr_contender *all, size_t n)
{
	int threads = at_most(2, &b->topo);
	unsigned wanted = 0;

	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
		if (in_precision(b, k) && p->ops->takes(c, (mr_bench_precision)k))
			wanted |= 1u << k;
	if (!p->where || !wanted)
		return n;
	mr_peer_start(p, c, wanted, threads);
	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
		if (wanted & 1u << k)
			all[n++] = (mr_contender){.peer = p,
						  .label = p->label[k],
						  .precision = (mr_bench_precision)k,
						  .workers = 1,
						  .threads = threads};
	return n;
}

/* With each table of choices: one thread, and A. */
static size_t line_up_tables(const bench *b, mr_contender *all)
{
	static const int systems[] = {MR_ONE_THREAD, MR_A};
	size_t n = 0;

	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
		for (int i = 0; in_precision(b, k) && i < 4; i++) {
			const mr_system *s = &mr_line_up[systems[i / 2]];
			mr_contender *x = &all[n++];

			*x = (mr_contender){.system = s, .label = x->chosen, .precision = (mr_bench_precision)k,
					    .choices = i % 2 ? b->choices : NULL, .workers = 1,
					    .threads = at_most(s->threads, &b->topo)};
			snprintf(x->chosen, sizeof(x->chosen), "%s, %s", s->label, i % 2 ? "the table" : "built in");
		}
	return n;
}

/* All build at once, each then compares its settings alone. */
static void await_peers(bench *b, mr_contender *all, size_t n)
{
	for (int i = 0; i < MR_N_PEERS; i++)
		mr_peer_built(&b->peers[i]);
	for (int i = 0; i < MR_N_PEERS; i++)
		mr_peer_choose(&b->peers[i]);
	for (size_t i = 0; i < n; i++)
		if (all[i].peer)
			all[i].out = !all[i].peer->precisions;
}

/* Peers are ready first: what memory they leave is what ours may have. */
static size_t line_up(bench *b, const mr_case *c, mr_contender *all)
{
	size_t n = 0, a = 0;

	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
		for (int i = 0; in_precision(b, k) && i < MR_N_SYSTEMS; i++) {
			const mr_system *s = &mr_line_up[i];

			if (!mr_case_has(c, i, (mr_bench_precision)k, b->all))
				continue;
			a = i == MR_A ? n : a;
			all[n++] = (mr_contender){.system = s,
						  .label = s->label,
						  .precision = (mr_bench_precision)k,
						  .workers = s->workers,
						  .threads = at_most(s->threads, &b->topo),
						  .same = i == MR_A_AGAIN && c->big ? &all[a] : NULL,
						  .a = i == MR_PLANNED && !b->all ? &all[a] : NULL};
		}
	for (int i = 0; i < MR_N_PEERS; i++)
		n = add_peer(b, &b->peers[i], c, all, n);
	await_peers(b, all, n);
	return n;
}

static void open_all(const mr_bout *bout, mr_contender *all, size_t n)
{
	const mr_case *c = bout->c;

	if (c->vocab)
		check(mr_case_tokens(c, tokens), c->name);
	for (size_t i = 0; i < n; i++)
		if (!all[i].peer)
			check(mr_contender_open(&all[i], bout, tokens), c->name);
	if (*tokens)
		unlink(tokens); /* opening has read all of it */
	*tokens = 0;
}

static double flops_of(const mr_case *c, const mr_contender *all, size_t n)
{
	if (mr_case_is_attention(c))
		return mr_attention_flops(&c->attention);
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
	b->differs = b->differs || !all_same;
}

static void print_backends(const bench *b, const mr_case *c)
{
	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
		if (in_precision(b, k))
			printf("  ours in %s by backend %s\n", mr_bench_precision_name((mr_bench_precision)k),
			       mr_case_backend(c, (mr_bench_precision)k));
}

/* Whether @x, which goes on there, has less than @wanted bursts that count in @place. */
static bool lacks(const mr_contender *x, int place, int wanted)
{
	return !x->out && !x->far_off[place] && mr_contender_samples(x, place)->n < (size_t)wanted;
}

/* How many lack some in the placement in which fewer do, which is *@place. */
static int lacking(const mr_contender *all, size_t n, int wanted, int *place)
{
	int count[2] = {0};

	for (size_t i = 0; i < 2 * n; i++)
		count[i % 2] += lacks(&all[i / 2], (int)(i % 2), wanted);
	*place = count[1] < count[0];
	return count[*place];
}

/* More of those that lack some, where the cores have moved or others disturbed, unless the run is late. */
static void run_rounds(const bench *b, mr_results *r, mr_bout *bout, mr_contender *all)
{
	int rounds = r->c->rounds && r->c->rounds < b->rounds ? r->c->rounds : b->rounds;
	int most = b->all ? rounds : 3 * rounds < MR_MAX_ROUNDS ? 3 * rounds : MR_MAX_ROUNDS, place;

	check(mr_peak_measure(&b->topo, &r->peak), r->c->name);
	for (int k = 0; k < most; k++) {
		if (k >= rounds && (!lacking(all, r->n, rounds, &place) || mr_clock_ns() > b->due_ns))
			break;
		for (size_t i = 0; i < r->n; i++) {
			mr_contender *x = &all[(i + (size_t)k) % r->n];

			if (k < rounds || lacks(x, place, rounds))
				check(mr_contender_burst(x, bout), r->c->name);
		}
		if (!b->all)
			mr_contenders_judge(all, r->n);
	}
	check(mr_peak_measure(&b->topo, &r->peak), r->c->name);
}

static void run_case(bench *b, const mr_case *c)
{
	static mr_contender all[MR_N_CONTENDERS];
	mr_results r = {.c = c, .all = all, .peers = b->peers, .peak = b->peak, .precisions = b->precisions};
	mr_bout bout = {.c = c, .topo = &b->topo, .still = b->still, .peers = b->peers};
	uint64_t begin = mr_clock_ns(), started, opened;

	b->due_ns += SHARE_NS;
	printf("\n%s: %s, batch %d, %d micro-batches for the synchronous pipelines\n", c->name, c->what, c->batch,
	       c->micro);
	print_backends(b, c);
	fflush(stdout);
	r.n = b->choices ? line_up_tables(b, all) : line_up(b, c, all);
	started = mr_clock_ns();
	open_all(&bout, all, r.n);
	opened = mr_clock_ns();
	run_rounds(b, &r, &bout, all);
	b->peak = r.peak;
	r.flops = flops_of(c, all, r.n);
	r.rest = bout.rest;
	r.seconds = (double)(mr_clock_ns() - begin) / 1e9;
	if (b->json)
		mr_json_begin_object(b->json);
	check(mr_results_put(&r, b->json), c->name);
	mr_summary_add(&b->summary, &r);
	for (size_t i = 0; i < r.n; i++)
		if (all[i].peer)
			mr_contender_close(&all[i]); /* memory for the replays */
	if (b->all && !c->long_steps)
		prove_all(b, all, r.n);
	for (size_t i = 0; i < r.n; i++)
		if (!all[i].peer)
			mr_contender_close(&all[i]);
	if (b->json)
		mr_json_end_object(b->json);
	printf("  %s took %.0f s: %.0f to start the peers, %.0f to open ours\n", c->name,
	       (double)(mr_clock_ns() - begin) / 1e9, (double)(started - begin) / 1e9,
	       (double)(opened - started) / 1e9);
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
	mr_json_key(b->json, "of");
	mr_json_put_string(b->json, b->summary.of);
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
	mr_json_key(b->json, "summary");
	mr_summary_put(&b->summary, b->json);
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
	fputs("usage: steps [--tiny | --list] [--systems table|all] [--precision f32,bf16] [--rounds N]\n"
	      "             [--case NAME]... [--json FILE] [--torch PYTHON] [--preload yes|no] [--jax PYTHON]\n"
	      "             [--llmc FOLDER] [--patience SECONDS] [--choices TABLE] [--commit TEXT] [--still]\n",
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

static unsigned precisions_of(const char *text)
{
	if (!strcmp(text, "f32"))
		return 1u << MR_BENCH_F32;
	if (!strcmp(text, "bf16"))
		return 1u << MR_BENCH_BF16;
	if (!strcmp(text, "f32,bf16") || !strcmp(text, "bf16,f32"))
		return 1u << MR_BENCH_F32 | 1u << MR_BENCH_BF16;
	fprintf(stderr, "steps: --precision expects f32, bf16 or f32,bf16, got \"%s\"\n", text);
	exit(2);
}

static bool all_systems(const char *text)
{
	if (strcmp(text, "all") != 0 && strcmp(text, "table") != 0) {
		fprintf(stderr, "steps: --systems expects table or all, got \"%s\"\n", text);
		exit(2);
	}
	return !strcmp(text, "all");
}

static void add_case(bench *b, const char *name)
{
	if (b->n_only == MOST_CASES) {
		fprintf(stderr, "steps: --case can be given %d times\n", MOST_CASES);
		exit(2);
	}
	b->only[b->n_only++] = find_case(name);
}

static bool wanted(const bench *b, const mr_case *c)
{
	if (b->choices && mr_case_is_attention(c))
		return false; /* no table decides anything of it */
	for (int i = 0; i < b->n_only; i++)
		if (b->only[i] == c)
			return true;
	return b->n_only == 0 && !c->apart;
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
		} else if (!strcmp(argv[i], "--still")) {
			b->still = true;
			continue;
		}
		if (!value)
			usage();
		if (!strcmp(argv[i], "--rounds"))
			b->rounds = atoi(value);
		else if (!strcmp(argv[i], "--case"))
			add_case(b, value);
		else if (!strcmp(argv[i], "--precision"))
			b->precisions = precisions_of(value);
		else if (!strcmp(argv[i], "--systems"))
			b->all = all_systems(value);
		else if (!strcmp(argv[i], "--commit"))
			b->commit = value;
		else if (!strcmp(argv[i], "--json"))
			b->json_path = value;
		else if (!strcmp(argv[i], "--choices"))
			b->choices = value;
		else if (!strcmp(argv[i], "--torch"))
			b->peers[MR_TORCH].where = value;
		else if (!strcmp(argv[i], "--preload"))
			b->preload = !strcmp(value, "yes");
		else if (!strcmp(argv[i], "--jax"))
			b->peers[MR_JAX].where = value;
		else if (!strcmp(argv[i], "--llmc"))
			b->peers[MR_LLMC].where = value;
		else if (!strcmp(argv[i], "--patience"))
			for (int k = 0; k < MR_N_PEERS; k++)
				b->peers[k].patience_s = atof(value);
		else
			usage();
		i++;
	}
	if (!b->rounds)
		b->rounds = b->all ? 7 : 5;
	if (b->rounds < 1 || b->rounds > MR_MAX_ROUNDS) {
		fprintf(stderr, "steps: --rounds expects 1 to %d\n", MR_MAX_ROUNDS);
		exit(2);
	}
}

/* Those that no option names. */
static void find_peers(bench *b)
{
	static const struct {
		int peer;
		const char *variable;
	} known[] = {{MR_TORCH, "MILLRACE_PYTHON"}, {MR_JAX, "MILLRACE_JAX"}, {MR_LLMC, "MILLRACE_LLMC"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!b->peers[known[i].peer].where)
			b->peers[known[i].peer].where = from_environment(known[i].variable);
}

int main(int argc, char **argv)
{
	bench *b = &the_bench;
	mr_env_params env = {.argv = argv};
	mr_measured_machine here;
	char machine[512], processor[64];

	b->commit = "";
	b->precisions = 1u << MR_BENCH_F32 | 1u << MR_BENCH_BF16;
	b->preload = mr_peer_is_amd();
	b->peers[MR_TORCH] = (mr_peer){.ops = &mr_peer_torch, .patience_s = 420};
	b->peers[MR_TORCH_AMD] = (mr_peer){.ops = &mr_peer_torch_amd, .patience_s = 420};
	b->peers[MR_JAX] = (mr_peer){.ops = &mr_peer_jax, .patience_s = 180};
	b->peers[MR_LLMC] = (mr_peer){.ops = &mr_peer_llmc, .patience_s = 180};
	parse(b, argc, argv);
	if (!b->small)
		find_peers(b);
	b->peers[MR_TORCH_AMD].where = b->preload ? b->peers[MR_TORCH].where : NULL;
	check(mr_env_prepare(&env), "environment");
	check(mr_topo_detect(&b->topo), "topology");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	printf("machine: %s\nkernels: %s\n", mr_topo_print(&b->topo, machine, sizeof(machine)), mr_kernels_library());
	for (int i = 0; i < MR_N_PEERS; i++)
		if (!b->peers[i].where && !b->small)
			printf("peers: no %s: %s\n", b->peers[i].ops->name, b->peers[i].ops->missing);
	mr_processor_name(processor, sizeof(processor));
	snprintf(b->summary.of, sizeof(b->summary.of), "%.40s%s%s", b->commit, *b->commit ? ", " : "", processor);
	if (!b->small)
		check(mr_measured_machine_rates(&here, &b->topo), "machine"); /* kept, for the planner's choices */
	begin_json(b);
	b->due_ns = mr_clock_ns();
	if (b->small) {
		b->rounds = 2;
		run_case(b, &mr_case_tiny);
	}
	for (const mr_case *c = mr_cases; !b->small && c->name; c++)
		if (wanted(b, c))
			run_case(b, c);
	for (int i = 0; i < MR_N_PEERS; i++)
		mr_peer_stop(&b->peers[i]);
	mr_summary_print(&b->summary, stdout);
	mr_topo_fini(&b->topo);
	end_json(b);
	return b->differs;
}
