/* Malformed configurations: each says where, which key, and what. */
#include "check.h"

#include <string.h>

#include "config_help.h"

struct row {
	unsigned line;      /* of mr_test_lines that @text replaces; 0: it is the whole file; 7: it follows them */
	const char *text;
	unsigned n;         /* mistakes */
	const char *expect; /* lines of the report; each is looked for as the begin of one */
};

static const struct row rows[] = {
	/* names */
	{7, "modle = { name = \"gpt\"; };", 1, "F:7: modle: unknown key or group, did you mean \"model\"?"},
	{7, "xyzzy = 1;", 1, "F:7: xyzzy: unknown key or group (known: model,"},
	{7, "bakend = \"auto\";", 1, "F:7: bakend: unknown key or group, did you mean \"backend\"?"},
	{5, "train = { stps = 10; batch = 8; };", 2,
	 "F:5: train.stps: unknown key \"stps\", did you mean \"steps\"?\nF:5: train.steps: is missing (integer: "
	 "commits"},
	{5, "train = { steps = 10; batch = 8; name = \"x\"; };", 1, "F:5: train.name: unknown key"},
	{1, "model = { name = \"mpl\"; };", 1,
	 "F:1: model.name: no model is called \"mpl\"; did you mean \"mlp\"? (known: "},
	{1, "model = { name = \"forest\"; };", 1, "F:1: model.name: no model is called \"forest\" (known: mlp, "},
	{2, "data = { name = \"syntetic\"; };", 1, "F:2: data.name: no data source is called"},
	{3, "optimizer = { name = \"adma\"; };", 1,
	 "F:3: optimizer.name: no optimizer is called \"adma\"; did you mean \"adam\"?"},
	{4, "system = { name = \"pipedrem\"; };", 1,
	 "F:4: system.name: no system is called \"pipedrem\"; did you mean \"pipedream\"?"},
	{4, "system = { name = \"1F1B\"; };", 1, "F:4: system.name: no system is called \"1F1B\""},
	{1, "model = { name = \"mlp\"; layers = 3; };", 1,
	 "F:1: model.layers: unknown key \"layers\", expected one of: hidden,"},
	{1, "model = { name = \"gpt\"; laers = 3; };", 1,
	 "F:1: model.laers: unknown key \"laers\", did you mean \"layers\"?"},
	{3, "optimizer = { name = \"sgd\"; lr = 0.1; mu = 0.9; };", 1, "F:3: optimizer.mu: unknown key"},
	{4, "system = { name = \"gpipe\"; backwards = \"lifo\"; };", 1,
	 "F:4: system.backwards: unknown key \"backwards\", did you mean \"backward\"?"},
	/* groups */
	{1, "", 1, "F:1: model: the group is missing"},
	{1, "model = { };", 1, "F:1: model.name: is missing"},
	{1, "model = \"gpt\";", 1, "F:1: model: expected a group { key = value; ... }, got a string"},
	{1, "model = { name = 3; };", 1, "F:1: model.name: expected a string, got an integer"},
	{1, "model = { name = (\"gpt\"); };", 1, "F:1: model.name: expected a string, got a list"},
	{5, "train = 3;", 3, "F:5: train: expected a group { key = value; ... }, got an integer"},
	{5, "", 2, "F:1: train.steps: is missing\nF:1: train.batch: is missing"},
	{3, "optimizer = { name = \"sgd\"; };", 1, "F:3: optimizer.lr: is missing"},
	{5, "train = { steps = 10; batch = 8; lr = 0.1; };", 1,
	 "F:5: train.lr: unknown key \"lr\", did you mean optimizer.lr?"},
	{5, "train = { steps = 10; batch = 8; schedule = \"cosine\"; };", 1,
	 "F:5: train.schedule: is called lr_schedule.name now"},
	{5, "train = { steps = 10; batch = 8; warmup = 3; };", 1,
	 "F:5: train.warmup: unknown key \"warmup\", did you mean lr_schedule.warmup?"},
	{6, "machine = [1, 2];", 1, "F:6: machine: expected a group { key = value; ... }, got a list"},
	/* types */
	{5, "train = { steps = \"ten\"; batch = 8; };", 1,
	 "F:5: train.steps: expected an integer from 1 to 1000000000000000, got \"ten\""},
	{5, "train = { steps = 10.5; batch = 8; };", 1, "F:5: train.steps: expected an integer from 1 to"},
	{5, "train = { steps = true; batch = 8; };", 1, "F:5: train.steps: expected an integer from 1 to"},
	{5, "train = { steps = [10]; batch = 8; };", 1, "F:5: train.steps: expected an integer from 1 to"},
	{5, "train = { steps = { a = 1; }; batch = 8; };", 1,
	 "F:5: train.steps: expected integer, got a group"},
	{3, "optimizer = { name = \"sgd\"; lr = \"fast\"; };", 1,
	 "F:3: optimizer.lr: expected a number from 0 to 1000000, got \"fast\""},
	{3, "optimizer = { name = \"sgd\"; lr = false; };", 1, "F:3: optimizer.lr: expected a number"},
	{1, "model = { name = \"gpt\"; tied = 1; };", 1, "F:1: model.tied: expected true or false, got 1"},
	{1, "model = { name = \"gpt\"; tied = \"yes\"; };", 1, "F:1: model.tied: expected true or false, got \"yes\""},
	{1, "model = { name = \"mlp\"; hidden = 64; };", 1, "F:1: model.hidden: expected a list of numbers from 1"},
	{1, "model = { name = \"mlp\"; hidden = [\"a\"]; };", 1,
	 "F:1: model.hidden: expected a list of numbers, got a string at place 1"},
	{1, "model = { name = \"mlp\"; hidden = (64, \"a\"); };", 1,
	 "F:1: model.hidden: expected a list of numbers, got a string at place 2"},
	{1, "model = { name = \"mlp\"; hidden = [64, 0]; };", 1,
	 "F:1: model.hidden: expected a list of numbers from 1"},
	{1, "model = { name = \"mlp\"; activation = 3; };", 1,
	 "F:1: model.activation: expected one of relu|gelu|none, got 3"},
	{7, "run = { dir = 7; };", 1, "F:7: run.dir: expected a string, got 7"},
	{7, "backend = 1;", 1, "F:7: backend: expected one of auto|fused|onednn|reference, got 1"},
	{7, "precision = [\"f32\"];", 1, "F:7: precision: expected one of f32|f64|bf16|bf16_pure, got a list"},
	/* ranges and words */
	{5, "train = { steps = 0; batch = 8; };", 1,
	 "F:5: train.steps: expected an integer from 1 to 1000000000000000, got 0"},
	{5, "train = { steps = -3; batch = 8; };", 1, "F:5: train.steps: expected an integer from 1"},
	{3, "optimizer = { name = \"sgd\"; lr = -0.1; };", 1,
	 "F:3: optimizer.lr: expected a number from 0 to 1000000, got -0.1"},
	{3, "optimizer = { name = \"sgd\"; lr = 1.0e999; };", 1,
	 "F:3: optimizer.lr: expected a number from 0 to 1000000, got inf"},
	{6, "machine = { workers = 2; }; lr_schedule = { name = \"cosin\"; };", 1,
	 "F:6: lr_schedule.name: expected one of constant|cosine|linear|step|one_cycle|inverse_sqrt|wsd, got "
		"\"cosin\"; "
	 "did you mean \"cosine\"?"},
	{5, "train = { steps = 10; batch = 8; clip = -1.0; };", 1,
	 "F:5: train.clip: expected a number of at least 0, got -1"},
	{1, "model = { name = \"gpt\"; dropout = 1.5; };", 1,
	 "F:1: model.dropout: expected a number from 0 to 0.95, got 1.5"},
	{6, "machine = { workers = 5000; };", 1, "F:6: machine.workers: expected an integer from 0 to 4096, got 5000"},
	{7, "backend = \"dnnl\";", 1, "F:7: backend: \"dnnl\" is called \"auto\" now"},
	{7, "backend = \"onednm\";", 1,
	 "F:7: backend: expected one of auto|fused|onednn|reference, got \"onednm\"; did you mean \"onednn\"?"},
	{7, "precision = \"f16\";", 1, "F:7: precision: expected one of f32|f64|bf16|bf16_pure, got \"f16\""},
	{7, "checkpoint = { keep = 0; };", 1, "F:7: checkpoint.keep: expected an integer from 1"},
	/* integers that libconfig 1.5 misreads */
	{5, "train = { steps = 99999999999999999999L; batch = 8; };", 1,
	 "F:5: train.steps: 99999999999999999999 does not fit into 64 bits"},
	{5, "train = { steps = 99999999999999999999; batch = 8; };", 1,
	 "F:5: train.steps: 99999999999999999999 does not fit into 64 bits"},
	{5, "train = { steps = 0xFFFFFFFFFFFFFFFFL; batch = 8; };", 1,
	 "F:5: train.steps: 0xFFFFFFFFFFFFFFFF does not fit into 64 bits"},
	{5, "train = { steps = 10; batch = 8; seed = -9223372036854775809L; };", 1,
	 "F:5: train.seed: -9223372036854775809 does not fit into 64 bits"},
	{1, "model = { name = \"mlp\"; hidden = [64, 5000000000]; };", 1,
	 "F:1: model.hidden: expected a list of numbers from 1 to 1000000000, got 5000000000.0"},
	{1, "model = { name = \"mlp\"; hidden = [64, \"8\"]; };", 1,
	 "F:1: model.hidden: expected a list of numbers, got a string at place 2"},
	{5, "train = { steps = 10K; batch = 8; };", 1, "F:5: syntax error: train = { steps = 10K;"},
	{5, "train = { steps = 1.5; batch = 8; };", 1, "F:5: train.steps: expected an integer from 1 to"},
	/* keys that must suit each other */
	{4, "system = { name = \"pipemare\"; t2 = false; t2_memory = 0.5; };", 1,
	 "F:4: system.t2_memory: has no effect with t2 = false; it is for t2 = true"},
	{4, "system = { name = \"pipemare\"; t2 = false; t2_memory = 0.135; };", 1, /* its default */
	 "F:4: system.t2_memory: has no effect with t2 = false; it is for t2 = true"},
	{4, "system = { name = \"rpd\"; record = \"steps.txt\"; seed = 0; };", 1,
	 "F:4: system.seed: has no effect with record = "},
	{4, "system = { name = \"rpd\"; record = \"steps.txt\"; delta = -1; };", 1,
	 "F:4: system.delta: has no effect with record = "},
	{4, "system = { name = \"rpd\"; record = \"steps.txt\"; delays = \"max\"; };", 1,
	 "F:4: system.delays: has no effect with record = "},
	{4, "system = { name = \"local_sgd\"; outer_lr = 0.5; };", 1,
	 "F:4: system.outer_lr: has no effect with outer = none; it is for outer = nesterov"},
	{5, "train = { steps = 10; batch = 9; microbatches = 2; };", 1,
	 "F:5: train.batch: 9 samples cannot be cut into 2 equal micro-batches"},
	{5, "train = { steps = 10; batch = 6; };", 1,
	 "F:5: train.batch: 6 samples cannot be cut into 4 equal micro-batches, the default of 1f1b for 2 workers"},
	{6, "machine = { workers = 2; }; lr_schedule = { warmup = 11; };", 1,
	 "F:6: lr_schedule.warmup: warm-up of 11 steps is longer"},
	{6, "machine = { workers = 2; }; lr_schedule = { min_ratio = 0.2; };", 1,
	 "F:6: lr_schedule.min_ratio: has no effect with name = \"constant\""},
	{6, "machine = { workers = 2; }; lr_schedule = { gamma = 0.2; };", 1,
	 "F:6: lr_schedule.gamma: has no effect with name = \"constant\"; it is for name = \"step\""},
	{6, "machine = { workers = 2; }; lr_schedule = { name = \"cosine\"; cooldown = 2; };", 1,
	 "F:6: lr_schedule.cooldown: has no effect with name = \"cosine\"; it is for name = \"wsd\""},
	{6, "machine = { workers = 2; }; lr_schedule = { name = \"inverse_sqrt\"; min_ratio = 0.2; };", 1,
	 "F:6: lr_schedule.min_ratio: has no effect with name = \"inverse_sqrt\""},
	{6, "machine = { workers = 2; }; lr_schedule = { name = \"step\"; };", 1,
	 "F:6: lr_schedule.name: step needs milestones or step_every"},
	{6, "machine = { workers = 2; }; lr_schedule = { name = \"step\"; milestones = \"6, 4\"; };", 1,
	 "F:6: lr_schedule.milestones: expected at most 16 rising numbers"},
	{6, "machine = { workers = 2; }; lr_schedule = { name = \"step\"; milestones = \"2 5\"; warmup = 3; };", 1,
	 "F:6: lr_schedule.milestones: step 2 lies within the warm-up of 3 steps"},
	{6, "machine = { workers = 2; }; lr_schedule = { name = \"wsd\"; warmup = 6; cooldown = 5; };", 1,
	 "F:6: lr_schedule.cooldown: 6 steps of warm-up and 5 of cool-down are more than the run of 10"},
	{6, "machine = { workers = 2; }; lr_schedule = { name = \"one_cycle\"; warmup = 10; };", 1,
	 "F:6: lr_schedule.warmup: a cycle of 10 steps that rises for all of them never falls"},
	{7, "sample = { temperature = 0.0; top_p = 0.5; };", 1,
	 "F:7: sample.top_p: has no effect with temperature = 0"},
	{7, "sample = { temperature = 0.0; top_k = 5; };", 1, "F:7: sample.top_k: has no effect with temperature = 0"},
#ifdef MR_DNNL
	{7, "precision = \"f64\";", 1, "F:7: precision: "},
	{7, "dtype = \"f64\";", 1, "F:7: dtype: is called precision now"},
#else
	{7, "backend = \"auto\";", 1, "F:7: backend: "},
#endif
	{7, "partition = [\"fc.1\", \"fc.2\"];", 1,
	 "F:6: machine.workers: 2 workers, but partition names the begin of 2 further stages, which makes 3"},
	{7, "partition = [];", 1, "F:7: partition: expected \"auto\" or a list of layer names, got an empty list"},
	{7, "partition = [1.5];", 1,
	 "F:7: partition: expected \"auto\" or a list of layer names, got a number at place 1"},
	{7, "partition = (\"fc.1\", \"a,b\");", 1,
	 "F:7: partition: expected \"auto\" or a list of layer names, got a string at place 2"},
	{7, "trace = { steps = \"20-10\"; };", 1,
	 "F:7: trace.steps: expected a range of steps from 1 on, such as \"100-120\", got \"20-10\""},
	{7, "trace = { steps = \"all\"; };", 1, "F:7: trace.steps: expected a range"},
	{7, "trace = { steps = \"0-5\"; };", 1, "F:7: trace.steps: expected a range"},
	/* what shows when model and placement are made */
	{1, "model = { name = \"gpt\"; width = 10; heads = 3; };", 1,
	 "F:1: model.heads: 3 heads cannot share a width of 10 evenly"},
	{1, "model = { name = \"mlp\"; hidden = [8]; depth = 3; };", 1,
	 "F:1: model.hidden: give either hidden or width and depth, not both"},
	{1, "model = { name = \"mlp\"; hidden = [8.5]; };", 1, "F:1: model.hidden: a width is a whole number, got 8.5"},
	{1, "model = { name = \"chain\"; init = [1.0, 2.0]; };", 1,
	 "F:1: model.init: expected 1 value or 4, one a weight, got 2"},
	{7, "partition = [\"fc.9\"];", 1,
	 "F:7: partition: stage start \"fc.9\": the model has no such layer or block; did you mean \"fc.0\"?"},
	{7, "partition = [\"loss\"];", 1,
	 "F:7: partition: no stage may begin at loss, since a loss stays with the layer in front of it, fc."},
	{6, "partition = [\"xyzzy\", \"fc.0\"]; machine = { workers = 3; };", 3,
	 "F:6: partition: stage start \"xyzzy\": the model has no such layer or block\n"
	 "F:6: partition: stage start fc.0: the first stage begins there by itself"},
	{6, "partition = [\"fc.2\", \"fc.1\"]; machine = { workers = 3; };", 2,
	 "F:6: partition: stage start fc.1 does not come after fc.2"},
	{6, "machine = { workers = 6; };", 1,
	 "F:6: machine.workers: 6 stages were asked for, but this model of 4 layers can be cut into at most 3"},
	{6, "machine = { workers = 2; cpus = \"0 99999\"; };", 1,
	 "F:6: machine.cpus: CPU list of worker 1: CPU 99999 is not"},
	{6, "machine = { workers = 2; cpus = \"0\"; };", 1, "F:6: machine.cpus: 1 CPU lists for 2 workers"},
	{6, "machine = { workers = 2; topology = \"numa:two\"; };", 1, "F:6: machine.topology: topology \"numa:two\""},
	{6, "machine = { workers = 2; topology = \"core:2\"; cpus = \"0 7\"; };", 1,
	 "F:6: machine.cpus: CPU list of worker 1: CPU 7 is not the first CPU of a core that this process may use; "
	 "usable are 0-1"},
	{4, "system = { name = \"sequential\"; }; partition = [\"fc.1\"];", 1,
	 "F:4: partition: sequential is one stage and takes no names of others"},
	{2, "data = { name = \"text\"; path = \"\"; };", 1, "F:2: data.path: empty; expected the name of a file"},
	/* text */
	{7, "train = { };", 1, "F:7: duplicate setting name: train = { };"},
	{3, "optimizer = { name = \"sgd\" ", 1, "F:3: optimizer: the group is not closed"},
	{7, "run = { dir = \"runs/x; };", 1,
	 "F:7: run.dir: a string that does not end on its line, and one quote too few"},
	{4, "system = { name = \"1f1b; };", 1, "F:4: system.name: a string that does not end on its line"},
	{3, "/* optimizer = { name = \"sgd\"; };", 5, "F:3: a comment that does not end: */ is missing"},
	{7, "run = { dir = \"a\\x00b\"; };", 1, "F:7: run.dir: \\x00 cannot stand in a string"},
	{7, "zzz zzz = 3;", 1, "F:7: syntax error: zzz zzz = 3;"},
	{7, "precision = f32;", 1, "F:7: syntax error: precision = f32; (text stands in quotes: \"f32\")"},
	{7, "\tprecision = f32, # short  ", 1, "F:7: syntax error: precision = f32, # short (text stands in quotes: "
		"\"f32\")"},
	{7, "@include \"nowhere.cfg\"", 1, "F:7: @include: /tmp/"},
	{2, "@include \"nowhere.cfg\"", 1, "F:2: @include: /tmp/"}, /* what is missing may stand there */
	{5, "@include \"nowhere.cfg\"", 1, "F:5: @include: /tmp/"},
	{2, "@include nowhere.cfg", 1, "F:2: expected @include \"file\" alone on its line"},
	{7, "@include nowhere.cfg", 1, "F:7: expected @include \"file\" alone on its line"},
	{7, "@include \"a\" \"b\"", 1, "F:7: expected @include \"file\" alone on its line"},
	{7, "@include \"test.cfg\"", 1, "F:7: @include is nested more than 10 deep"},
	{0, "}", 1, "F:1: syntax error: }"},
	{0, "\xEF\xBB\xBF# nothing", 8, "F:1: the file begins with a byte order mark"},
};

/* Does the report have a line that begins with the @len bytes of @start? */
static bool has_line(const char *report, const char *start, size_t len)
{
	for (const char *s = report; s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
		if (!strncmp(s, start, len))
			return true;
	return false;
}

static unsigned count_lines(const char *s)
{
	unsigned n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

static void build(const struct row *r, mr_strbuf *text)
{
	if (!r->line)
		mr_strbuf_append(text, r->text);
	for (unsigned i = 1; r->line && i <= 7; i++)
		mr_strbuf_printf(text, "%s\n", i == r->line ? r->text : i < 7 ? mr_test_lines[i - 1] : "");
}

static void check_row(size_t i)
{
	const struct row *r = &rows[i];
	mr_strbuf text = {0}, report = {0};
	mr_config *c;
	mr_status st;
	bool well;

	build(r, &text);
	st = mr_test_load(text.data, text.len, NULL, 0, &report, &c);
	well = st == MR_ECONFIG && !c && count_lines(mr_strbuf_text(&report)) >= 1;
	if (r->line && strncmp(r->text, "@include \"test", 14) != 0)
		well = well && count_lines(mr_strbuf_text(&report)) == r->n;
	for (const char *s = r->expect; s && *s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
		well = well && has_line(mr_strbuf_text(&report), s, strcspn(s, "\n"));
	if (!well)
		fprintf(stderr, "\nrow %zu: %s\nexpected %u: %s\ngot %s (%s)\n%s", i, r->text, r->n, r->expect,
			mr_status_name(st), mr_error_text(), mr_strbuf_text(&report));
	CU_ASSERT_TRUE(well);
	mr_config_destroy(c);
	mr_strbuf_fini(&text);
	mr_strbuf_fini(&report);
}

static void malformed(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(i);
	mr_test_files_remove();
}

/* Mistakes of the model and the machine stand in line with all others. */
static void what_is_built_joins_the_others(void)
{
	static const char text[] = "model = { name = \"gpt\"; tied = true; layers = 2;\n"
				   "\tcontext = 8; };\n"
				   "data = { name = \"text\"; path = \"\"; };\n"
				   "optimizer = { name = \"sgd\"; lr = 0.1; }; system = { name = \"pipedream\"; };\n"
				   "train = { steps = 10; batch = 8; clip = -1; };\n"
				   "machine = { workers = 2; cpus = \"0 99999\"; };\n";
	static const char *const order[] = {"F:1: model.tied: ", "F:3: data.path: empty", "F:5: train.clip: expected",
					    "F:6: machine.cpus: CPU list"};
	mr_strbuf report = {0};
	mr_config *c;
	const char *at;

	CU_ASSERT_EQUAL(mr_test_load(text, strlen(text), NULL, 0, &report, &c), MR_ECONFIG);
	CU_ASSERT_EQUAL(count_lines(mr_strbuf_text(&report)), 4);
	at = mr_strbuf_text(&report);
	for (size_t i = 0; i < 4; i++) {
		at = strstr(at, order[i]);
		CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	}
	mr_strbuf_fini(&report);
	mr_test_files_remove();
}

static mr_status load_lines(const char *const *sets, size_t n, const char *more, mr_strbuf *report, mr_config **out)
{
	mr_strbuf text = {0};
	mr_status st;

	for (unsigned i = 0; i < 6; i++)
		mr_strbuf_printf(&text, "%s\n", mr_test_lines[i]);
	mr_strbuf_append(&text, more);
	st = mr_test_load(text.data, text.len, sets, n, report, out);
	mr_strbuf_fini(&text);
	return st;
}

static void all_at_once_in_order(void)
{
	static const char text[] = "model = { name = \"mlp\";\n"
				   "\twidht = 3;\n"
				   "\tdepth = -1;\n"
				   "};\n"
				   "train = { steps = 50000000000000000000;\n"
				   "\tclip = \"x\"; };\n"
				   "data = { name = \"synthetic\"; };\n"
				   "optimizer = { name = \"sgd\"; lr = 0.1; }; system = { name = \"none\"; };\n"
				   "foo = 1;\n";
	static const char *const sets[] = {"train.batch=0", "nonsense", "train.stps=3", "mdel.name=gpt", "model=gpt"};
	static const char *const order[] = {
		"F:2: model.widht:",
		"F:3: model.depth:",
		"F:5: train.steps: 50000000000000000000",
		"F:6: train.clip:",
		"F:8: system.name:",
		"F:9: foo:",
		"--set: train.batch:",
		"--set: expected key=value",
		"--set: train.stps:",
		"--set: mdel: unknown group, did you mean \"model\"?",
		"--set: model: is a group",
	};
	mr_strbuf report = {0};
	mr_config *c;
	const char *at;

	CU_ASSERT_EQUAL(mr_test_load(text, strlen(text), sets, 5, &report, &c), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), ": 11 mistakes, the first: "));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(mr_error_text(), ":2: model.widht: unknown key \"widht\", did you mean \"width\"?"));
	at = mr_strbuf_text(&report);
	for (size_t i = 0; i < 10; i++) {
		const char *found = strstr(at, order[i]);

		if (!found)
			fprintf(stderr, "\nnot in order: %s\n%s", order[i], mr_strbuf_text(&report));
		CU_ASSERT_PTR_NOT_NULL_FATAL(found);
		at = found;
	}
	mr_strbuf_fini(&report);
	mr_test_files_remove();
}

static void good_values(void)
{
	static const char *const sets[] = {"optimizer.lr=1", "model.depth=0x3", "optimizer.lr=0.5", "partition=fc.1",
					 "system.name=\"gpipe\""};
	mr_strbuf report = {0};
	uint64_t first, last;
	mr_config *c;
	

	MR_CHECK_OK(load_lines(sets, 5, "trace = { steps = \"7-9\"; };\nbackend = \"reference\"; precision = \"f64\"",
			       &report, &c));
	CU_ASSERT_EQUAL(mr_config_job(c)->train.steps, 10);
	CU_ASSERT_EQUAL(mr_job_lr(mr_config_job(c)).base, 0.5);
	CU_ASSERT_EQUAL(mr_values_int(mr_config_job(c)->model.values, "depth"), 3);
	CU_ASSERT_EQUAL(mr_job_n_micro(mr_config_job(c)), 4);
	CU_ASSERT_EQUAL(mr_job_samples(mr_config_job(c)), 2);
	CU_ASSERT_EQUAL(mr_job_workers(mr_config_job(c)), 2);
	CU_ASSERT_EQUAL(mr_config_job(c)->precision, MR_PRECISION_F64);
	CU_ASSERT_EQUAL_FATAL(mr_config_job(c)->n_cut, 1);
	CU_ASSERT_STRING_EQUAL(mr_config_job(c)->cut[0], "fc.1");
	CU_ASSERT_TRUE(mr_job_trace_steps(mr_config_job(c), &first, &last));
	CU_ASSERT_EQUAL(first, 7);
	CU_ASSERT_EQUAL(last, 9);
	CU_ASSERT_STRING_EQUAL(mr_config_job(c)->name, "test");
	CU_ASSERT_STRING_EQUAL(mr_config_job(c)->run_dir, "runs/test");
	CU_ASSERT_EQUAL(mr_job_spin_us(mr_config_job(c)), UINT32_MAX);
	CU_ASSERT_STRING_EQUAL(mr_job_model(mr_config_job(c))->name, "mlp");
	CU_ASSERT_STRING_EQUAL(mr_job_system(mr_config_job(c))->name, "gpipe");
	mr_config_destroy(c);
	mr_strbuf_fini(&report);
	mr_test_files_remove();
}

/* The message that ends the program says what the one mistake is. */
static void one_mistake(void)
{
	static const char *const sets[] = {"train.steps=ten"};
	mr_strbuf report = {0};
	mr_config *c;

	CU_ASSERT_EQUAL(load_lines(sets, 1, "", &report, &c), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(mr_error_text(), ": 1 mistake: --set: train.steps: expected an integer from 1 to"));
	mr_strbuf_fini(&report);
	mr_test_files_remove();
}

static double hidden_at(const mr_config *c, size_t i)
{
	const double *list;
	size_t n = 0;

	list = mr_values_floats(mr_config_job(c)->model.values, "hidden", &n);
	return i < n ? list[i] : -1;
}

/* One rule for numbers: in files, in lists and with --set, for integers and for others. */
static void numbers_of_all_forms(void)
{
	static const char *const forms[] = {"1e3", "1k", "1000", "0.001M", "1000.0", "0x3E8", "1000L", "1.0e3"};
	char text[256], set[3][64];
	const char *sets[3] = {set[0], set[1], set[2]};
	mr_strbuf report = {0};
	mr_config *c;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(text, sizeof(text), "checkpoint = { every = %s; };\n", forms[i]);
		snprintf(set[0], sizeof(set[0]), "train.steps=%s", forms[i]);
		snprintf(set[1], sizeof(set[1]), "train.clip=%s", forms[i]);
		snprintf(set[2], sizeof(set[2]), "model.hidden=[%s, 2.0, 3]", forms[i]);
		CU_ASSERT_EQUAL(load_lines(sets, 3, text, &report, &c), MR_OK);
		CU_ASSERT_PTR_NOT_NULL_FATAL(c);
		CU_ASSERT_EQUAL(mr_config_job(c)->checkpoint.every, 1000);
		CU_ASSERT_EQUAL(mr_config_job(c)->train.steps, 1000);
		CU_ASSERT_EQUAL(mr_config_job(c)->train.clip, 1000);
		CU_ASSERT_TRUE(hidden_at(c, 0) == 1000 && hidden_at(c, 1) == 2);
		mr_config_destroy(c);
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(text, sizeof(text),
			 "model = { name = \"mlp\"; hidden = [2, %s, 2.0]; };\ndata = { name = \"synthetic\"; };\n"
			 "optimizer = { name = \"sgd\"; lr = 0.1; };\nsystem = { name = \"gpipe\"; };\n"
			 "train = { steps = 10; batch = 8; };\n",
			 forms[i]);
		CU_ASSERT_EQUAL(mr_test_load(text, strlen(text), NULL, 0, &report, &c), MR_OK);
		CU_ASSERT_PTR_NOT_NULL_FATAL(c);
		CU_ASSERT_TRUE(hidden_at(c, 0) == 2 && hidden_at(c, 1) == 1000 && hidden_at(c, 2) == 2);
		mr_config_destroy(c);
	}
	mr_strbuf_fini(&report);
	mr_test_files_remove();
}

/* Large integers survive libconfig 1.5, with their L and without. */
static void large_integers(void)
{
	static const char *const sets[] = {"train.steps=5000000000"};
	mr_strbuf report = {0};
	mr_config *c;

	MR_CHECK_OK(load_lines(NULL, 0, "checkpoint = { every = 5000000000L; }; # 9999999999 /* 9999999999\n", &report,
			       &c));
	CU_ASSERT_EQUAL(mr_config_job(c)->checkpoint.every, 5000000000);
	mr_config_destroy(c);
	MR_CHECK_OK(load_lines(NULL, 0, "checkpoint = { every = 5000000000; };", &report, &c));
	CU_ASSERT_EQUAL(mr_config_job(c)->checkpoint.every, 5000000000);
	mr_config_destroy(c);
	MR_CHECK_OK(load_lines(sets, 1, "run = { dir = \"a\\\" 9999999999\"; };", &report, &c));
	CU_ASSERT_EQUAL(mr_config_job(c)->train.steps, 5000000000);
	CU_ASSERT_STRING_EQUAL(mr_config_job(c)->run_dir, "a\" 9999999999");
	mr_config_destroy(c);
	mr_strbuf_fini(&report);
	mr_test_files_remove();
}

/* One configuration serves several systems: the file's keys of the replaced one go with it. */
static void plugin_replaced(void)
{
	static const char *const to_pipedream[] = {"system.name=pipedream"}, *const to_sequential[] = {
										     "system.name=sequential"};
	static const char text[] =
		"model = { name = \"mlp\"; };\ndata = { name = \"synthetic\"; };\n"
		"optimizer = { name = \"sgd\"; lr = 0.1; };\nsystem = { name = \"gpipe\"; backward = \"lifo\"; };\n"
		"train = { steps = 10; batch = 8; };\n";
	mr_strbuf report = {0};
	mr_config *c;

	MR_CHECK_OK(mr_test_load(text, strlen(text), NULL, 0, &report, &c));
	CU_ASSERT_STRING_EQUAL(mr_values_string(mr_config_job(c)->system.values, "backward"), "lifo");
	mr_config_destroy(c);
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&report), "");
	MR_CHECK_OK(mr_test_load(text, strlen(text), to_pipedream, 1, &report, &c));
	CU_ASSERT_EQUAL(mr_job_n_micro(mr_config_job(c)), 1);
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&report), "millrace: system.backward of F is left out: it is meant for "
							"gpipe, and --set takes pipedream\n");
	mr_config_destroy(c);
	MR_CHECK_OK(mr_test_load(text, strlen(text), to_sequential, 1, &report, &c));
	CU_ASSERT_STRING_EQUAL(mr_job_system(mr_config_job(c))->name, "sequential");
	CU_ASSERT_EQUAL(mr_job_workers(mr_config_job(c)), 1);
	mr_config_destroy(c);
	mr_strbuf_fini(&report);
	mr_test_files_remove();
}

/* A key whose type is another in the new plug-in goes with the old one, too; what --set gives stays. */
static void plugin_replaced_by_one_with_a_key_of_another_type(void)
{
	static const char *const sets[] = {"data.name=csv", "data.path=x.csv", "data.categories=2-3"};
	static const char text[] = "model = { name = \"mlp\"; };\n"
				   "data = { name = \"clicks\"; categories = 8; samples = 400; };\n"
				   "optimizer = { name = \"sgd\"; lr = 0.1; };\nsystem = { name = \"gpipe\"; };\n"
				   "train = { steps = 10; batch = 8; };\n";
	mr_strbuf report = {0};
	mr_config *c;

	MR_CHECK_OK(mr_test_load(text, strlen(text), sets, 3, &report, &c));
	CU_ASSERT_STRING_EQUAL(mr_values_string(mr_config_job(c)->data.values, "categories"), "2-3");
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&report),
			       "millrace: data.categories of F is left out: it is meant for clicks, and --set takes "
			       "csv\nmillrace: data.samples of F is left out: it is meant for clicks, and --set takes "
			       "csv\n");
	mr_config_destroy(c);
	mr_strbuf_reset(&report);
	MR_CHECK_OK(mr_test_load(text, strlen(text), sets, 2, &report, &c));
	CU_ASSERT_STRING_EQUAL(mr_values_string(mr_config_job(c)->data.values, "categories"), "");
	mr_config_destroy(c);
	mr_strbuf_fini(&report);
	mr_test_files_remove();
}

static void asynchronous_takes_one(void)
{
	static const char *const sets[] = {"system.name=pipedream", "train.microbatches=4"};
	mr_strbuf report = {0};
	mr_config *c;

	CU_ASSERT_EQUAL(load_lines(sets, 2, "", &report, &c), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		mr_strbuf_text(&report),
		"--set: train.microbatches: pipedream commits after every micro-batch, so it takes 1 a commit, got 4"));
	mr_strbuf_fini(&report);
	mr_test_files_remove();
}

/* Lines of an included file are named by that file; lines behind the @include keep their numbers. */
static void includes(void)
{
	static const char inner[] = "# a comment\ncheckpoint = { evry = 3; };";
	mr_strbuf report = {0};
	mr_config *c;

	mr_test_file("inner.cfg", inner, strlen(inner));
	mr_test_file("newline.cfg", "# only a comment\n", 17);
	CU_ASSERT_EQUAL(
		load_lines(NULL, 0,
			   "@include \"newline.cfg\"\n  @include \"inner.cfg\" # why not\nsample = { tokens = 0; };\n",
			   &report, &c),
		MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&report), "/inner.cfg:2: checkpoint.evry: unknown key"));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&report), "F:9: sample.tokens: expected an integer from 1"));
	mr_strbuf_fini(&report);
	mr_test_files_remove();
}

/*
 * A file wins over what it includes, wherever the @include stands: base.cfg has all that is needed, and more.cfg, which
 * is included after it, wins over that. Groups are joined key by key.
 */
static void included_base_is_overridden(void)
{
	static const char base[] =
		"model = { name = \"mlp\"; width = 64; depth = 3; };\ndata = { name = \"synthetic\"; samples = 500; "
		"};\n"
		"optimizer = { name = \"sgd\"; lr = 0.1; };\nsystem = { name = \"gpipe\"; backward = \"lifo\"; };\n"
		"train = { steps = 10; batch = 8; clip = 5.0; };\nprecision = \"f64\"; backend = "
		"\"reference\";\n";
	static const char more[] = "train = { steps = 20; norm_every = 20; };\n@include \"deep.cfg\"\n";
	static const char deep[] = "train = { steps = 15; seed = 4; }";
	static const char train[] = "# settings of a group\nclip = 7.0;\neval_every = 2; # the last";
	static const char main_file[] =
		"system = { name = \"pipedream\"; }; precision = \"f32\";\n@include \"base.cfg\"\n@include "
			"\"more.cfg\"\n"
		"train = { norm_every = 30;\n\t@include \"train.cfg\"\n clip = 0.0; };\nmodel = { depth = 2; };\n";
	const mr_values *v;
	mr_strbuf report = {0};
	mr_config *c;

	mr_test_file("base.cfg", base, strlen(base));
	mr_test_file("more.cfg", more, strlen(more));
	mr_test_file("deep.cfg", deep, strlen(deep));
	mr_test_file("train.cfg", train, strlen(train));
	CU_ASSERT_EQUAL(mr_test_load(main_file, strlen(main_file), NULL, 0, &report, &c), MR_OK);
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&report), "");
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	v = mr_config_values(c, MR_JOB_TRAIN);
	CU_ASSERT_EQUAL(mr_values_int(v, "steps"), 20);
	CU_ASSERT_EQUAL(mr_values_int(v, "norm_every"), 30);
	CU_ASSERT_EQUAL(mr_values_int(v, "seed"), 4);
	CU_ASSERT_EQUAL(mr_values_float(v, "clip"), 0);
	CU_ASSERT_EQUAL(mr_values_int(v, "eval_every"), 2);
	CU_ASSERT_EQUAL(mr_values_int(mr_config_job(c)->model.values, "width"), 64);
	CU_ASSERT_EQUAL(mr_values_int(mr_config_job(c)->model.values, "depth"), 2);
	/* and what was gpipe's went with it */
	CU_ASSERT_STRING_EQUAL(mr_job_system(mr_config_job(c))->name, "pipedream");
	CU_ASSERT_EQUAL(mr_config_job(c)->precision, MR_PRECISION_F32);
	mr_config_destroy(c);
	/* Mistakes are named where they stand, in whichever file. */
	mr_test_file("train.cfg", "clip = 7.0;\neval_every = -2;\n", 29);
	CU_ASSERT_EQUAL(mr_test_load(main_file, strlen(main_file), NULL, 0, &report, &c), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&report), "/train.cfg:2: train.eval_every: expected an integer"));
	mr_strbuf_reset(&report);
	mr_test_file("train.cfg", "clip = 7.0;\neval_every = = 2;\n", 30);
	CU_ASSERT_EQUAL(mr_test_load(main_file, strlen(main_file), NULL, 0, &report, &c), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&report), "/train.cfg:2: syntax error: eval_every = = 2;"));
	mr_strbuf_fini(&report);
	mr_test_files_remove();
}

static void odd_files(void)
{
	char *big = malloc(MR_CONFIG_MAX_BYTES + 2);
	mr_strbuf report = {0};
	mr_config *c;

	memset(big, ' ', MR_CONFIG_MAX_BYTES + 1);
	CU_ASSERT_EQUAL(mr_test_load(big, MR_CONFIG_MAX_BYTES + 1, NULL, 0, &report, &c), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "larger than 1"));
	free(big);
	CU_ASSERT_EQUAL(mr_test_load("", 0, NULL, 0, &report, &c), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "is empty"));
	CU_ASSERT_EQUAL(mr_config_load("/nonexistent/x.cfg", NULL, 0, &report, &c), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "/nonexistent/x.cfg"));
	CU_ASSERT_EQUAL(mr_config_load("/tmp", NULL, 0, &report, &c), MR_ECONFIG);
	CU_ASSERT_EQUAL(mr_test_load("model\0 = 3;", 11, NULL, 0, &report, &c), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&report), "F:1: a NUL byte"));
	MR_CHECK_OK(load_lines(NULL, 0, "sample = { tokens = 3; };\r\n# dos\r\n", &report, &c));
	mr_config_destroy(c);
	mr_strbuf_fini(&report);
	mr_test_files_remove();
}

void mr_suite_config(void);
void mr_suite_config(void)
{
	MR_SUITE("config");
	MR_TEST(malformed);
	MR_TEST(all_at_once_in_order);
	MR_TEST(what_is_built_joins_the_others);
	MR_TEST(good_values);
	MR_TEST(one_mistake);
	MR_TEST(numbers_of_all_forms);
	MR_TEST(large_integers);
	MR_TEST(plugin_replaced);
	MR_TEST(plugin_replaced_by_one_with_a_key_of_another_type);
	MR_TEST(asynchronous_takes_one);
	MR_TEST(includes);
	MR_TEST(included_base_is_overridden);
	MR_TEST(odd_files);
}
