#include "job_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define MOST_WORDS 128

typedef struct words {
	char *text; /* the words themselves, each ended by NUL */
	const char *at[MOST_WORDS];
	size_t n;
} words;

static void split(words *w, const char *text)
{
	char *rest = NULL;

	*w = (words){.text = strdup(text)};
	CU_ASSERT_PTR_NOT_NULL_FATAL(w->text);
	for (char *word = strtok_r(w->text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		CU_ASSERT_FATAL(w->n < MOST_WORDS);
		w->at[w->n++] = word;
	}
}

static mr_status set_word(mr_job *j, const char *word)
{
	size_t n = strcspn(word, "=");
	char key[128];

	CU_ASSERT_FATAL(word[n] == '=' && n < sizeof(key));
	memcpy(key, word, n);
	key[n] = '\0';
	return mr_job_set(j, key, word + n + 1);
}

static bool names_plugin(const char *word)
{
	const char *at = strstr(word, ".name=");

	return at && at < strchr(word, '=');
}

static mr_status set_words(mr_job *j, const char *const *word, size_t n, bool names)
{
	for (size_t i = 0; i < n; i++)
		if (names_plugin(word[i]) == names)
			MR_TRY(set_word(j, word[i]));
	return MR_OK;
}

/* Is @word about a key that the plug-in which was chosen in the end does not have? */
static bool is_anothers(const mr_job *j, const char *word)
{
	const char *dot = strchr(word, '.');
	char key[128];

	for (int g = 0; dot && dot < strchr(word, '=') && g < MR_N_JOB_GROUPS; g++) {
		const char *name = mr_job_group_of((mr_job_group)g)->name;
		size_t n = strlen(name);

		if (strncmp(word, name, n) || word + n != dot)
			continue;
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(dot + 1, "="), dot + 1);
		return mr_job_table(j, (mr_job_group)g) && !mr_option_find(mr_job_table(j, (mr_job_group)g), key);
	}
	return false;
}

static mr_status fill(mr_job *j, const words *base, const char *const *sets, size_t n)
{
	MR_TRY(set_words(j, base->at, base->n, true));
	MR_TRY(set_words(j, sets, n, true));
	for (size_t i = 0; i < base->n; i++)
		if (!names_plugin(base->at[i]) && !is_anothers(j, base->at[i]))
			MR_TRY(set_word(j, base->at[i]));
	MR_TRY(set_words(j, sets, n, false));
	return mr_job_check(j);
}

mr_status mr_test_job(mr_job *j, const char *base, const char *const *sets, size_t n)
{
	words w;
	mr_status st;

	MR_TRY(mr_job_init(j));
	split(&w, base);
	st = fill(j, &w, sets, n);
	free(w.text);
	if (st != MR_OK)
		mr_job_fini(j);
	return st;
}

void mr_test_job_of(mr_job *j, const char *base, const char *sets)
{
	words w;

	split(&w, sets);
	MR_CHECK_OK(mr_test_job(j, base, w.at, w.n));
	free(w.text);
}
