#include "store/kept_machine.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/result.h"
#include "base/stats.h"
#include "base/str.h"
#include "store/kept_path.h"

#define NAME "kept-machine.csv"
#define FIRST "# millrace machine 1\n"
#define MAX_BYTES ((size_t)1 << 16)

/* The value of @name in @text, until the end of its line; "": it is not there. */
static void value_of(const char *text, const char *name, char *value, size_t size)
{
	char want[40];
	const char *at;

	snprintf(want, sizeof(want), "\n%s ", name);
	at = strstr(text, want);
	snprintf(value, size, "%.*s", at ? (int)strcspn(at + strlen(want), "\n") : 0, at ? at + strlen(want) : "");
}

/* Is @text whole, and of the machine of @k? Then take its numbers. */
static bool take(const char *text, mr_kept_machine *k)
{
	const char *end = strstr(text, "\nhash ");
	char value[128], hash[20], name[20];
	double number[MR_KEPT_MACHINE_NUMBERS];

	if (strncmp(text, FIRST, strlen(FIRST)) != 0 || !end)
		return false;
	snprintf(hash, sizeof(hash), "%016" PRIx64, mr_hash64(0, text, (size_t)(end - text)));
	value_of(text, "hash", value, sizeof(value));
	if (strcmp(value, hash) != 0)
		return false;
	value_of(text, "processor", value, sizeof(value));
	if (strcmp(value, k->processor) != 0)
		return false;
	value_of(text, "cores", value, sizeof(value));
	if (strtoul(value, NULL, 10) != k->n_cores)
		return false;
	for (int i = 0; i < MR_KEPT_MACHINE_NUMBERS; i++) {
		snprintf(name, sizeof(name), "number%d", i);
		value_of(text, name, value, sizeof(value));
		number[i] = strtod(value, NULL);
		if (!isfinite(number[i]) || number[i] < 0)
			return false;
	}
	value_of(text, "date", k->date, sizeof(k->date));
	memcpy(k->number, number, sizeof(number));
	return true;
}

bool mr_kept_machine_read(mr_kept_machine *k)
{
	char path[4096], *text;
	size_t len;
	bool ok;

	if (!mr_kept_path(NAME, path, sizeof(path)) || mr_file_read(path, MAX_BYTES, &text, &len) != MR_OK)
		return false;
	ok = strlen(text) == len && take(text, k);
	free(text);
	return ok;
}

void mr_kept_machine_forget(void)
{
	char path[4096];

	if (mr_kept_path(NAME, path, sizeof(path)))
		unlink(path);
}

mr_status mr_kept_machine_store(const mr_kept_machine *k)
{
	char path[4096];
	mr_strbuf text = {0};
	mr_status st;

	MR_TRY(mr_kept_path_make(NAME, path, sizeof(path)));
	mr_strbuf_printf(&text, FIRST "processor %s\ncores %u\ndate %s", k->processor, k->n_cores, k->date);
	for (int i = 0; i < MR_KEPT_MACHINE_NUMBERS; i++)
		mr_strbuf_printf(&text, "\nnumber%d %.17g", i, k->number[i]);
	mr_strbuf_printf(&text, "\nhash %016" PRIx64 "\n", mr_hash64(0, mr_strbuf_text(&text), text.len));
	st = text.failed ? mr_fail(MR_ERESOURCE, "no memory for %s", path)
					 : mr_result_write(path, text.data, text.len, MR_RESULT_OWN);
	mr_strbuf_fini(&text);
	return st;
}
