#include "config_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const mr_test_lines[6] = {
	"model = { name = \"mlp\"; };",
	"data = { name = \"synthetic\"; };",
	"optimizer = { name = \"sgd\"; lr = 0.1; };",
	"system = { name = \"1f1b\"; };",
	"train = { steps = 10; batch = 8; };",
	"machine = { workers = 2; };",
};

static char folder[64];
static char names[32][64];
static size_t n_names;

const char *mr_test_file(const char *name, const char *text, size_t len)
{
	static char path[256];
	FILE *f;

	if (!folder[0]) {
		snprintf(folder, sizeof(folder), "/tmp/mr-cli-%d", (int)getpid());
		mkdir(folder, 0700);
	}
	snprintf(path, sizeof(path), "%.60s/%.60s", folder, name);
	f = fopen(path, "wb");
	if (f) {
		fwrite(text, 1, len, f);
		fclose(f);
	}
	for (size_t i = 0; i < n_names; i++)
		if (!strcmp(names[i], name))
			return path;
	if (n_names < 32)
		snprintf(names[n_names++], sizeof(names[0]), "%s", name);
	return path;
}

void mr_test_files_remove(void)
{
	char path[256];

	for (size_t i = 0; i < n_names; i++) {
		snprintf(path, sizeof(path), "%.60s/%.60s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
	folder[0] = '\0';
	n_names = 0;
}

mr_status mr_test_load(const char *text, size_t len, const char *const *sets, size_t n_sets, mr_strbuf *report,
		       mr_config **out)
{
	const char *path = mr_test_file("test.cfg", text, len);
	mr_strbuf raw = {0};
	mr_status st;

	*out = NULL;
	st = mr_config_load(path, sets, n_sets, &raw, out);
	for (const char *s = mr_strbuf_text(&raw), *hit; *s; s = hit) {
		hit = strstr(s, path);
		mr_strbuf_append_n(report, s, hit ? (size_t)(hit - s) : strlen(s));
		mr_strbuf_append(report, hit ? "F" : "");
		hit = hit ? hit + strlen(path) : s + strlen(s);
	}
	mr_strbuf_fini(&raw);
	return st;
}
