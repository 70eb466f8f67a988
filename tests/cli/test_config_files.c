/* The shipped configurations: each loads, resolves and parses back; conf/reference.cfg says what the tables say. */
#include "check.h"

#include <dirent.h>
#include <string.h>

#include "base/file.h"
#include "manual/help.h"
#include "config/config_help.h"
#include "reference_text.h"

static const char *conf_path(const char *name, char buf[512])
{
	const char *source = getenv("MR_SOURCE");

	snprintf(buf, 512, "%s/conf/%s", source ? source : ".", name);
	return buf;
}

/* Without oneDNN in the build the reference configuration, which names it, is loaded with the other backend. */
static mr_status load_file(const char *path, mr_config **out)
{
	static const char *const sets[] = {"backend=reference"};
	mr_strbuf report = {0};
	mr_status st;

#ifdef MR_DNNL
	st = mr_config_load(path, sets, 0, &report, out);
#else
	st = mr_config_load(path, sets, 1, &report, out);
#endif
	if (st != MR_OK)
		fprintf(stderr, "\n%s%s\n", mr_strbuf_text(&report), mr_error_text());
	mr_strbuf_fini(&report);
	return st;
}

static bool same_values(const mr_values *a, const mr_values *b)
{
	char x[4096], y[4096];

	if (mr_values_table(a) != mr_values_table(b))
		return false;
	for (const mr_option *o = mr_values_table(a); o->name; o++) {
		mr_values_print(a, o->name, x, sizeof(x));
		mr_values_print(b, o->name, y, sizeof(y));
		if (strcmp(x, y) != 0 || mr_values_is_set(a, o->name) != mr_values_is_set(b, o->name)) {
			fprintf(stderr, "\n%s: %s became %s\n", o->name, x, y);
			return false;
		}
	}
	return true;
}

static void check_round_trip(const char *path)
{
	mr_config *first, *second;
	mr_strbuf text = {0};
	uint32_t n, m;

	MR_CHECK_OK(load_file(path, &first));
	MR_CHECK_OK(mr_config_print(first, &text));
	MR_CHECK_OK(load_file(mr_test_file("resolved.cfg", text.data, text.len), &second));
	for (int g = 0; g < MR_N_JOB_GROUPS; g++)
		CU_ASSERT_TRUE(same_values(mr_config_values(first, (mr_job_group)g),
					   mr_config_values(second, (mr_job_group)g)));
	CU_ASSERT_STRING_EQUAL(mr_config_job(first)->run_dir, mr_config_job(second)->run_dir);
	n = mr_config_job(first)->n_cut;
	m = mr_config_job(second)->n_cut;
	CU_ASSERT_EQUAL(n, m);
	mr_config_destroy(first);
	mr_config_destroy(second);
	mr_strbuf_fini(&text);
}

static void shipped_files_round_trip(void)
{
	char path[512];
	DIR *dir = opendir(conf_path("", path));
	unsigned n = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		size_t len = strlen(e->d_name);

		if (len < 5 || strcmp(e->d_name + len - 4, ".cfg") != 0)
			continue;
		check_round_trip(conf_path(e->d_name, path));
		n++;
	}
	closedir(dir);
	CU_ASSERT_TRUE(n >= 5);
	mr_test_files_remove();
}

/* Values with everything that needs care in print: lists, L, quotes, --set. */
static void odd_values_round_trip(void)
{
	static const char text[] =
		"model = { name = \"mlp\"; hidden = [64, 32]; width = 128; };\ndata = { name = \"numbers\";\n"
		"x = [1e-300, 0.1, -3.0]; y = [1.0, 2.0, 3.0]; };\noptimizer = { name = \"sgd\"; lr = 0.1; };\n"
		"system = { name = \"gpipe\"; };\ntrain = { steps = 5000000000L; batch = 30; };\n"
		"sample = { prompt = \"a \\\"b\\\"\\n\\t\\\\ #c\"; };\npartition = [\"fc.1\", \"2\"];\n";

	check_round_trip(mr_test_file("odd.cfg", text, strlen(text)));
	mr_test_files_remove();
}

static void origins(void)
{
	static const char *const sets[] = {"optimizer.lr=0.5", "optimizer.name=momentum"};
	mr_strbuf text = {0}, report = {0};
	mr_config *c;

	for (unsigned i = 0; i < 6; i++)
		mr_strbuf_printf(&text, "%s\n", mr_test_lines[i]);
	MR_CHECK_OK(mr_test_load(text.data, text.len, sets, 2, &report, &c));
	mr_strbuf_reset(&text);
	MR_CHECK_OK(mr_config_print(c, &text));
	CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "\tlr = 0.5;\t# --set\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "\tname = \"momentum\";\t# --set\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "\tmu = 0.9;\t# default\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "\tbatch = 8;\t# /tmp/"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "/test.cfg:5\n"));
	mr_config_destroy(c);
	mr_strbuf_fini(&text);
	mr_strbuf_fini(&report);
	mr_test_files_remove();
}

/* Find the block that begins at @text's line "# --- ..." of @block; report how it should be if it is not there. */
static bool block_stands(const char *text, const mr_strbuf *block)
{
	if (strstr(text, mr_strbuf_text(block)))
		return true;
	fprintf(stderr, "\nconf/reference.cfg should have this block:\n%s\n", mr_strbuf_text(block));
	return false;
}

/* Everything in the tables is in the file... */
static unsigned check_blocks(const char *text)
{
	unsigned n = 0;
	mr_plugin p;

	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		const mr_job_group_info *info = mr_job_group_of((mr_job_group)g);

		for (uint32_t i = 0; info->plugin ? mr_plugin_at(info->kind, i, &p) : i == 0; i++) {
			mr_strbuf block = {0};

			mr_reference_block((mr_job_group)g, info->plugin ? &p : NULL, &block);
			CU_ASSERT_TRUE(block_stands(text, &block));
			mr_strbuf_fini(&block);
			n++;
		}
	}
	return n;
}

/* ... and the file has nothing else: as many blocks, and every line of a setting belongs to one. */
static void reference_equals_tables(void)
{
	char path[512], *text;
	unsigned found = 0, settings = 0, wanted;
	size_t len;

	MR_CHECK_OK(mr_file_read(conf_path("reference.cfg", path), 1 << 20, &text, &len));
	wanted = check_blocks(text);
	for (const char *s = text; s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL) {
		const char *word = strncmp(s, "#| ", 3) ? s : s + 3;

		found += !strncmp(s, "# --- ", 6);
		word += strspn(word, "\t");
		settings += *word && !strchr("#\n}", *word);
	}
	CU_ASSERT_EQUAL(found, wanted);
	/* every group gives one line of its own and one a key (and its name) */
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		const mr_job_group_info *info = mr_job_group_of((mr_job_group)g);
		mr_plugin p = {.options = info->options};

		for (uint32_t i = 0; info->plugin ? mr_plugin_at(info->kind, i, &p) : i == 0; i++) {
			settings -= (*info->name != '\0') + info->plugin;
			for (const mr_option *o = p.options; o->name; o++)
				settings--;
		}
	}
	CU_ASSERT_EQUAL(settings, 0);
	free(text);
}

/* Each alternative of the reference is a configuration that loads; systems with many stages a worker need layers for
 * them. */
static void reference_alternatives_load(void)
{
	static const char deep[] = "model = { name = \"mlp\"; depth = 16; };";

	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		const mr_job_group_info *info = mr_job_group_of((mr_job_group)g);
		mr_plugin p;

		for (uint32_t i = 0; info->plugin && mr_plugin_at(info->kind, i, &p); i++) {
			mr_strbuf text = {0}, block = {0}, report = {0};
			mr_config *c;

			mr_reference_block((mr_job_group)g, &p, &block);
			for (unsigned k = 0; k < 6; k++)
				if (strncmp(mr_test_lines[k], info->name, strlen(info->name)) != 0)
					mr_strbuf_printf(&text, "%s\n",
							 k || g != MR_JOB_SYSTEM ? mr_test_lines[k] : deep);
			for (const char *s = mr_strbuf_text(&block); *s; s += strcspn(s, "\n") + 1) {
				const char *from = strncmp(s, "#| ", 3) ? s : s + 3;

				mr_strbuf_printf(&text, "%.*s\n", (int)strcspn(from, "\n"), from);
			}
			if (mr_test_load(text.data, text.len, NULL, 0, &report, &c) != MR_OK)
				fprintf(stderr, "\n%s\n%s", text.data, mr_strbuf_text(&report));
			CU_ASSERT_PTR_NOT_NULL(c);
			mr_config_destroy(c);
			mr_strbuf_fini(&text);
			mr_strbuf_fini(&block);
			mr_strbuf_fini(&report);
		}
	}
	mr_test_files_remove();
}

void mr_suite_config_files(void);
void mr_suite_config_files(void)
{
	MR_SUITE("config_files");
	MR_TEST(shipped_files_round_trip);
	MR_TEST(odd_values_round_trip);
	MR_TEST(origins);
	MR_TEST(reference_equals_tables);
	MR_TEST(reference_alternatives_load);
}
