#include "starter/starter.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/notice.h"
#include "base/printable.h"
#include "data/dataset.h"
#include "starter/columns.h"
#include "starter/sniff.h"

#define SECONDS 300.0        /* of training that are aimed at */
#define CORE_FLOPS 2e10      /* that small layers reach on a core, about */
#define TEXT_BATCH 16
#define TEXT_LEAST 400       /* bytes */

typedef struct starter {
	const char *path, *folder, *target;
	const mr_topo *machine;
	mr_starter_draft *draft;
	mr_strbuf *out, *notes; /* of the draft: the groups in front of `system`; lines for the user */
} starter;

/* What the groups behind model and data are filled with. */
typedef struct course {
	const char *optimizer; /* the lines of its group, name and all */
	uint64_t steps, batch, warmup;
	double lr;
	bool evaluates;
} course;

static uint64_t clamp(double x, uint64_t low, uint64_t high)
{
	return x < (double)low ? low : x > (double)high ? high : (uint64_t)x;
}

/* A number with two digits that count, such as 1200. */
static uint64_t rounded(uint64_t n)
{
	uint64_t unit = 1;

	while (n / unit >= 100)
		unit *= 10;
	return n / unit * unit;
}

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

static void put_quoted(const starter *s, const char *text)
{
	for (; *text; text++)
		mr_strbuf_printf(s->out, *text == '"' || *text == '\\' ? "\\%c" : is_control(*text) ? "\\x%02x" : "%c",
				 (unsigned char)*text);
}

/* A path in quotes, as a configuration has it. */
static void put_path(const starter *s, const char *key, const char *path)
{
	mr_strbuf_printf(s->out, "\t%s = \"", key);
	put_quoted(s, *path == '/' ? "" : s->folder);
	put_quoted(s, path);
	mr_strbuf_append(s->out, "\";\n");
}

static void put_head(const starter *s, const char *what)
{
	mr_strbuf_append(s->out, "# Written by millrace init for ");
	for (const char *c = s->path; *c; c++)
		mr_strbuf_printf(s->out, "%c", is_control(*c) ? '?' : *c);
	mr_strbuf_printf(s->out,
			 " (%s), on a machine with %u core%s.\n"
			 "#\n"
			 "#\tmillrace train THIS_FILE          train; Ctrl-C saves, train --resume goes on\n"
			 "#\tmillrace plan THIS_FILE           stages, memory and speed without training\n"
			 "#\tmillrace eval THIS_FILE           loss on the data that was not trained on\n"
			 "#\n"
			 "# Every key: man millrace.cfg, or millrace list KIND NAME. Values that are worth trying are\n"
			 "# marked with \"Try\"; --set group.key=value tries one without a change of this file.\n\n",
			 what, s->machine->n_usable, s->machine->n_usable == 1 ? "" : "s");
}

static void put_course(starter *s, const course *c)
{
	uint64_t every = c->steps >= 8 ? c->steps / 4 : 1;
	mr_starter_draft *d = s->draft;

	mr_strbuf_printf(s->out, "optimizer = {\n%s"
				 "\t# Try three times as much and a third of it: no other number matters more.\n"
				 "\tlr = %.2g;\n};\n\nlr_schedule = {\n\tname = \"cosine\";\n", c->optimizer, c->lr);
	if (c->warmup)
		mr_strbuf_printf(s->out, "\twarmup = %llu;\n", (unsigned long long)c->warmup);
	mr_strbuf_append(s->out, "};\n\n");
	d->batch = c->batch;
	mr_strbuf_printf(&d->train, "\tsteps = %llu;\n\tbatch = %llu; # samples a step\n",
			 (unsigned long long)c->steps, (unsigned long long)c->batch);
	if (c->evaluates)
		mr_strbuf_printf(&d->train, "\teval_every = %llu;\n", (unsigned long long)every);
	mr_strbuf_printf(&d->after, "checkpoint = {\n\tevery = %llu;\n};\n", (unsigned long long)every);
}

/* Open the data source @name with @key = @path without loading it: its counts and classes, and its refusals. */
static mr_status look(const char *name, const char *const *settings, mr_dataset **out)
{
	const mr_dataset_ops *ops = mr_dataset_find(name);
	mr_data_want want = {.dtype = MR_F32, .seed = 1};
	mr_values *values;
	mr_status st;

	MR_TRY(mr_values_create(ops->options, &values));
	st = MR_OK;
	for (; st == MR_OK && *settings; settings += 2)
		st = mr_values_set_text(values, settings[0], settings[1]);
	if (st == MR_OK)
		st = mr_dataset_look(ops, values, &want, out);
	mr_values_destroy(values);
	return st;
}

/* --- rows --- */

static void put_mlp(const starter *s, uint64_t n_rows, uint32_t n_tables)
{
	mr_strbuf_printf(s->out,
			 "# Layers between the columns and the target. Try more or fewer, and wider ones.\n"
			 "model = {\n\tname = \"mlp\";\n\thidden = [%s];\n",
			 n_rows < 5000 ? "64, 32" : n_rows < 200000 ? "128, 64" : "256, 128, 64");
	if (n_tables)
		mr_strbuf_printf(s->out, "\tcategories = %u; # columns with a table of embeddings each\n", n_tables);
	mr_strbuf_append(s->out, "};\n\n");
}

/* Few rows are learned by heart unless weights decay at once: perf/tables.py has what this reaches on twelve tables. */
static course course_of_rows(uint64_t n_rows)
{
	uint64_t batch = n_rows < 20000 ? 32 : 128;
	double epochs = n_rows < 20000 ? 40 : n_rows < 200000 ? 20 : 5;

	return (course){
		.optimizer = n_rows < 20000    ? "\tname = \"adamw\";\n\tweight_decay = 1.0; # less if it underfits\n"
			     : n_rows < 200000 ? "\tname = \"adamw\";\n\tweight_decay = 0.3;\n"
					       : "\tname = \"adamw\";\n\tweight_decay = 0.1;\n",
		.steps = rounded(clamp((double)n_rows * 0.9 * epochs / (double)batch, 1000, 20000)),
		.batch = batch,
		.lr = 0.003,
		.evaluates = true,
	};
}

/* The reasons, a sentence a line: comments of the configuration, and notes. */
static void put_why(starter *s, const char *why)
{
	for (size_t n; *why; why += n + 1) {
		n = strcspn(why, "\n");
		mr_strbuf_printf(s->out, "\t# %.*s\n", (int)n, why);
		mr_strbuf_printf(s->notes, "%.*s\n", (int)n, why);
	}
}

static void put_target(const starter *s, const mr_columns *c)
{
	mr_strbuf_append(s->out, "\t# The column that the others are to predict: its name, or its number from 1.\n");
	put_path(&(starter){.folder = "", .out = s->out}, "target", c->target);
	if (c->classes)
		mr_strbuf_printf(s->out, "\ttargets = \"classes\"; # it has %llu different values\n",
				 (unsigned long long)c->n_values);
	else
		mr_strbuf_printf(s->out, "\ttargets = \"numbers\"; # from %g to %g\n"
					 "\t# Trained at mean 0 and deviation 1; predictions and errors are in the "
					 "target's unit.\n\ttarget_scale = \"standard\";\n", c->low, c->high);
	mr_strbuf_printf(s->notes, "target   %s, %s: ", c->target, c->reason);
	if (c->classes)
		mr_strbuf_printf(s->notes, "%llu classes", (unsigned long long)c->n_values);
	else
		mr_strbuf_printf(s->notes, "numbers from %g to %g", c->low, c->high);
	mr_strbuf_append(s->notes, *s->target ? "\n" : "; --target NAME names another column\n");
}

static void put_columns(starter *s, const mr_columns *c)
{
	put_why(s, c->why.len ? mr_printable(c->why.data) : "");
	if (c->ignored.len)
		mr_strbuf_printf(s->out, "\tignore = \"%s\";\n", mr_strbuf_text(&c->ignored));
	if (c->n_damaged)
		mr_strbuf_printf(s->out, "\tdamaged = %llu; # with more damaged rows than these it stops\n",
				 (unsigned long long)c->n_damaged);
	if (c->categories.len) {
		mr_printable(c->texts.data);
		mr_strbuf_printf(s->notes, "texts    %s\n", c->texts.data);
		for (char *at = c->texts.data; (at = strchr(at, '\n'));)
			*at = ' ';
		mr_strbuf_printf(s->out, "\t# Columns of text: %s.\n\tcategories = \"%s\";\n"
					 "\t# Up to one_hot = 64 values become numbers of 0 or 1.\n"
					 "\tcategory = \"known\";\n",
				 c->texts.data, mr_strbuf_text(&c->categories));
	}
	mr_strbuf_append(s->out, "\tempty = \"mean\"; # what cells without a value are: empty ones, NA, ?, null\n");
}

static mr_status write_csv(starter *s)
{
	mr_columns c;
	course k;
	mr_status st = mr_columns_look(s->path, s->target, &c);

	if (st != MR_OK) {
		mr_columns_fini(&c);
		return st;
	}
	put_head(s, "CSV");
	k = course_of_rows(c.n_rows);
	put_mlp(s, c.n_rows, c.n_tables);
	mr_strbuf_printf(s->out, "# %llu rows; a tenth of them, drawn once, validates.\ndata = {\n\tname = \"csv\";\n",
			 (unsigned long long)c.n_rows);
	put_path(s, "path", s->path);
	put_target(s, &c);
	put_columns(s, &c);
	mr_strbuf_append(s->out, "};\n\n");
	put_course(s, &k);
	mr_columns_fini(&c);
	return MR_OK;
}

static mr_status write_libsvm(starter *s)
{
	mr_strbuf unheard = {0}, *heard = mr_notice_to(&unheard); /* what is wrong is said below */
	mr_dataset *d = NULL;
	bool classes = look("libsvm", (const char *const[]){"path", s->path, "labels", "classes", NULL}, &d) == MR_OK &&
		       d->classes <= 1000;
	course k;

	mr_notice_to(heard);
	mr_strbuf_fini(&unheard);
	if (!classes) {
		mr_dataset_close(d);
		MR_TRY(look("libsvm", (const char *const[]){"path", s->path, NULL}, &d));
	}
	put_head(s, "LIBSVM");
	put_mlp(s, d->n_train, 0);
	mr_strbuf_printf(s->out,
			 "# %llu rows of %lld numbers; the last tenth validates. Rows are read in the file's order.\n"
			 "data = {\n\tname = \"libsvm\";\n",
			 (unsigned long long)d->n_train, (long long)mr_shape_count(d->input));
	put_path(s, "path", s->path);
	mr_strbuf_printf(s->out, "\tlabels = \"%s\";\n\tvalidation = 0.1;\n};\n\n", classes ? "classes" : "numbers");
	k = course_of_rows(d->n_train);
	put_course(s, &k);
	mr_dataset_close(d);
	return MR_OK;
}

/* --- images --- */

static void put_resnet(const starter *s)
{
	bool large = s->machine->n_usable >= 16;

	mr_strbuf_printf(s->out,
			 "# A residual network of 18 layers, %s. Try \"lenet\" (smaller) or \"vit\".\n"
			 "model = {\n\tname = \"resnet18\";\n\tform = \"cifar\";\n\twidth = %d;\n};\n\n",
			 large ? "in its usual width" : "narrow enough for this machine: 64 is the usual width",
			 large ? 64 : 16);
}

static course course_of_images(uint64_t n_train, bool residual)
{
	uint64_t batch = n_train < 500 ? 16 : 32;

	return (course){
		.optimizer = "\tname = \"momentum\";\n\tmu = 0.9;\n\tweight_decay = 0.0005;\n"
			     "\tdecay_kind = \"coupled\";\n",
		.steps = rounded(clamp((double)n_train * (residual ? 10 : 20) / (double)batch, 100,
				       residual ? 1500 : 3000)),
		.batch = batch,
		.lr = residual ? 0.05 : 0.03,
		.warmup = residual ? 20 : 0,
		.evaluates = true,
	};
}

/* Is @name a digit or letter, "7", "digit_7", "B", or an English digit? Mirrored, it is another one, or none. */
static bool is_character(const char *name)
{
	static const char *const digits[] = {"zero", "one", "two",   "three", "four",
					     "five", "six", "seven", "eight", "nine"};
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof(digits) / sizeof(digits[0]); i++)
		if (!strcasecmp(name, digits[i]))
			return true;
	if (n && isdigit((unsigned char)name[n - 1]) && strspn(name, "0123456789") == n)
		return true;
	return n && isalnum((unsigned char)name[n - 1]) && (n == 1 || strchr("_- ", name[n - 2]));
}

/* Are all classes in the folder @path digits or letters? */
static bool are_characters(const char *path)
{
	bool all = true, any = false;
	DIR *d = opendir(path);

	for (struct dirent *e = d ? readdir(d) : NULL; e && all; e = readdir(d)) {
		char *inner = e->d_name[0] == '.' ? NULL : mr_path_join(path, e->d_name);
		struct stat is;

		if (inner && !stat(inner, &is) && S_ISDIR(is.st_mode)) {
			any = true;
			all = is_character(e->d_name);
		}
		free(inner);
	}
	if (d)
		closedir(d);
	return any && all;
}

static mr_status write_pictures(starter *s)
{
	mr_dataset *d;
	course k;

	MR_TRY(look("images", (const char *const[]){"path", s->path, "size", "32", NULL}, &d));
	mr_strbuf_printf(s->notes, "data     %s\n", d->describe); /* it says what is skipped */
	put_head(s, "a folder of pictures for each class");
	put_resnet(s);
	mr_strbuf_printf(s->out,
			 "# %llu pictures of %lld classes; the last tenth of each class validates. Try a larger size:\n"
			 "# four times the pixels take four times as long, and show more.\n"
			 "data = {\n\tname = \"images\";\n",
			 (unsigned long long)(d->n_train + d->n_valid), (long long)d->classes);
	put_path(s, "path", s->path);
	mr_strbuf_append(s->out, "\tsize = 32;\n\tcrop = \"random\"; # a square is cut out anywhere\n");
	mr_strbuf_append(s->out, are_characters(s->path)
					 ? "\tflip = false; # digits and letters, which the mirror changes\n"
					 : "\tflip = true; # mirrored at random: false where left and right matter\n");
	mr_strbuf_append(s->out, "};\n\n");
	k = course_of_images(d->n_train, true);
	put_course(s, &k);
	mr_dataset_close(d);
	return MR_OK;
}

static mr_status write_cifar(starter *s)
{
	mr_dataset *d;
	course k;

	MR_TRY(look("cifar", (const char *const[]){"path", s->path, NULL}, &d));
	put_head(s, "CIFAR");
	put_resnet(s);
	mr_strbuf_append(s->out, "data = {\n\tname = \"cifar\";\n");
	put_path(s, "path", s->path);
	put_path(s, "validation_path", s->path);
	mr_strbuf_append(s->out, "};\n\n");
	k = course_of_images(d->n_train, true);
	put_course(s, &k);
	mr_dataset_close(d);
	return MR_OK;
}

static mr_status write_idx(starter *s, const mr_sniff *found)
{
	const char *settings[] = {"images", found->images, "labels", found->labels, "classes", "256", NULL};
	mr_dataset *d;
	course k;
	int64_t side;
	bool small;

	MR_TRY(look("mnist", settings, &d));
	side = d->image.dim[0] < d->image.dim[1] ? d->image.dim[0] : d->image.dim[1];
	small = side < 16;
	put_head(s, "images and labels of MNIST's format");
	if (small)
		put_mlp(s, d->n_train, 0);
	else
		mr_strbuf_append(s->out, "# LeNet-5: two convolutions and three layers. Try form = \"caffe\", which is "
					 "wider.\nmodel = {\n\tname = \"lenet\";\n};\n\n");
	mr_strbuf_append(s->out, "data = {\n\tname = \"mnist\";\n");
	put_path(s, "images", found->images);
	put_path(s, "labels", found->labels);
	if (found->test_images) {
		put_path(s, "validation_images", found->test_images);
		put_path(s, "validation_labels", found->test_labels);
	}
	mr_strbuf_append(s->out, "\tmean = 0.1307; # of MNIST's pixels; others do well with it\n\tstd = 0.3081;\n"
				 "\t# Labels must be below this.\n\tclasses = 10;\n};\n\n");
	k = course_of_images(d->n_train, false);
	if (small)
		k.optimizer = "\tname = \"adamw\";\n", k.lr = 0.002;
	put_course(s, &k);
	mr_dataset_close(d);
	return MR_OK;
}

/* --- text --- */

static mr_status write_text(starter *s)
{
	uint32_t cores = s->machine->n_usable, layers = 4, width = 128, context = 128;
	double bytes, flops;
	struct stat info;
	course k;

	if (stat(s->path, &info))
		return mr_fail(MR_EDATA, "%s: cannot be looked at", s->path);
	bytes = (double)info.st_size;
	if (bytes < TEXT_LEAST)
		return mr_fail(MR_EDATA, "%s: a text of %.0f bytes is too short to learn from; at least %d are needed",
			       s->path, bytes, TEXT_LEAST);
	while (context > 16 && 0.1 * bytes < 4.0 * (context + 1))
		context /= 2;
	if (bytes < 1e5)
		width = 64;
	else if (bytes >= 1e6 && cores >= 8)
		width = 256, layers = 8;
	if (bytes >= 1e7 && cores >= 32)
		width = 512;
	s->draft->workers = cores < 2 ? 1 : cores < 4 ? 2 : cores < 16 || layers < 8 ? 4 : 8;
	flops = 6.0 * (12.0 * layers * width * width + 128.0 * width) * TEXT_BATCH * context;
	k = (course){
		.optimizer = "\tname = \"adamw\";\n\tbeta2 = 0.95;\n\tweight_decay = 0.1;\n",
		.steps = rounded(clamp(fmin(SECONDS * CORE_FLOPS * cores / flops, 20 * bytes / (TEXT_BATCH * context)),
				       400, 20000)),
		.batch = TEXT_BATCH,
		.lr = width <= 128 ? 2e-3 : width <= 256 ? 1e-3 : 6e-4,
		.evaluates = true,
	};
	k.warmup = k.steps / 20;
	put_head(s, "text");
	mr_strbuf_printf(s->out,
			 "# A GPT over single characters. Try \"llama\" in place of gpt. Twice the width takes four\n"
			 "# times as long, and learns more from a long text.\n"
			 "model = {\n\tname = \"gpt\";\n\tlayers = %u;\n\twidth = %u;\n\theads = %u;\n"
			 "\tcontext = %u; # characters that it sees at once\n\tinit_std = %.2g;\n};\n\n",
			 layers, width, width / 32, context, 0.7 / sqrt(width));
	mr_strbuf_append(s->out, "# The last tenth of the text validates. Try tokenizer = \"tokenizer.json\" for the\n"
				 "# tokens of GPT-2, Llama 3 or another model with byte-level BPE; it is that\n"
				 "# model's file of this name.\n"
				 "data = {\n\tname = \"text\";\n");
	put_path(s, "path", s->path);
	mr_strbuf_append(s->out, "};\n\n");
	put_course(s, &k);
	mr_strbuf_append(&s->draft->after, "\n# What it writes at the end, and millrace sample THIS_FILE at any time.\n"
				 "sample = {\n\ttokens = 300;\n\ttemperature = 0.8;\n};\n");
	return MR_OK;
}

mr_status mr_starter_write(const char *path, const char *folder, const char *target, const mr_topo *machine,
			   mr_starter_draft *out)
{
	starter s = {path, folder, target, machine, out, &out->before, &out->notes};
	mr_sniff found;
	mr_status st;

	/* Small layers: more than two stages of them are hand-overs and little else. */
	*out = (mr_starter_draft){.workers = machine->n_usable < 2 ? 1 : 2};
	st = mr_sniff_look(path, &found);
	if (st == MR_OK && *target && found.kind != MR_SNIFF_CSV)
		st = mr_fail(MR_EDATA, "%s: it is no table (CSV), so it has no column --target %s", path, target);
	if (st == MR_OK)
		switch (found.kind) {
		case MR_SNIFF_CSV: st = write_csv(&s); break;
		case MR_SNIFF_LIBSVM: st = write_libsvm(&s); break;
		case MR_SNIFF_PICTURES: st = write_pictures(&s); break;
		case MR_SNIFF_CIFAR: st = write_cifar(&s); break;
		case MR_SNIFF_IDX: st = write_idx(&s, &found); break;
		case MR_SNIFF_TEXT: st = write_text(&s); break;
		}
	mr_sniff_fini(&found);
	if (st == MR_OK && (out->before.failed || out->train.failed || out->after.failed || out->notes.failed))
		st = mr_fail(MR_ERESOURCE, "no memory for a configuration");
	return st;
}

void mr_starter_fini(mr_starter_draft *d)
{
	mr_strbuf_fini(&d->before);
	mr_strbuf_fini(&d->train);
	mr_strbuf_fini(&d->after);
	mr_strbuf_fini(&d->notes);
}

mr_status mr_starter_complete(const mr_starter_draft *d, const mr_starter_system *system, mr_strbuf *out)
{
	mr_strbuf_append(out, mr_strbuf_text(&d->before));
	mr_strbuf_printf(out, "# %s\n# Try millrace plan THIS_FILE --compare, which shows all systems, or init with "
			      "--system.\nsystem = {\n\tname = \"%s\";\n};\n\ntrain = {\n%s", system->why, system->name,
			 mr_strbuf_text(&d->train));
	if (system->n_micro > 1)
		mr_strbuf_printf(out, "\tmicrobatches = %u; # parts of a batch; must divide it\n", system->n_micro);
	mr_strbuf_printf(out, "};\n\n# Workers are pinned to cores of their own%s.\nmachine = {\n\tworkers = %u;\n",
			 system->threads ? "" : "; each has its share of the cores", system->workers);
	if (system->threads)
		mr_strbuf_printf(out, "\tthreads = %u; # of each worker\n", system->threads);
	mr_strbuf_printf(out, "};\n\n%s", mr_strbuf_text(&d->after));
	return out->failed ? mr_fail(MR_ERESOURCE, "no memory for a configuration") : MR_OK;
}
