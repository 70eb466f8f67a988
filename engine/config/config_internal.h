/*
 * config_internal.h - the inside of mr_config, for the config_*.c files only.
 *
 * Loading: config_text.c reads the files and finds what libconfig would silently misread; config_parse.c lets libconfig
 * parse and passes every setting to the tables; config_set.c does the same for --set; config_job.c makes the job and
 * has it checked; config_print.c writes the result. All of them note mistakes in one list, and only its owner sorts and
 * reports it.
 */
#ifndef MR_CONFIG_CONFIG_INTERNAL_H
#define MR_CONFIG_CONFIG_INTERNAL_H

#include <string.h>

#include "config/config.h"
#include "job/plugins.h"

/* The place at which a value was written. */
typedef enum mr_origin_kind {
	MR_ORIGIN_DEFAULT,
	MR_ORIGIN_FILE,
	MR_ORIGIN_SET,
	MR_ORIGIN_RESUMED,
	MR_ORIGIN_JOB /* of the library */
} mr_origin_kind;

typedef struct mr_origin {
	mr_origin_kind kind;
	uint16_t file; /* FILE: index into mr_config_text.files */
	uint32_t line; /* FILE: from 1; SET: which --set, from 0 */
} mr_origin;

typedef struct mr_mistake {
	mr_origin at;
	size_t order;  /* number of the mistake in the order of detection: keeps the sort stable */
	char *key;     /* NULL: none */
	char *message;
} mr_mistake;

typedef struct mr_mistakes {
	mr_mistake *list;
	size_t n;
	bool failed;   /* no memory for one of them */
} mr_mistakes;

/** Note a mistake. Copies @key (may be NULL) and the message. Out of memory shows in @m->failed. */
void mr_mistakes_add(mr_mistakes *m, mr_origin at, const char *key, const char *fmt, ...) MR_PRINTF(4, 5);
/** Is there a mistake about @key already? */
bool mr_mistakes_has(const mr_mistakes *m, const char *key);
/** Is a mistake known at the place @at? */
bool mr_mistakes_at(const mr_mistakes *m, mr_origin at);
void mr_mistakes_fini(mr_mistakes *m);

/* One line of all files together. */
typedef struct mr_config_line {
	mr_origin at;           /* where it was written */
	uint32_t unit;          /* the unit that it belongs to */
} mr_config_line;

/*
 * A text that libconfig parses by itself: the main file, or one that is included at the top of another file or of one
 * of its groups. The settings of a file win over those of the files that it includes, and those of a later one over
 * those of an earlier one.
 */
typedef struct mr_config_unit {
	char group[64];         /* the group whose settings it holds; "": it holds groups */
	mr_strbuf text;         /* its lines, with numbers and brackets in libconfig's syntax; made by
	                           mr_config_text_scan */
	uint32_t *line;         /* [n_lines] of the text: the number of each line in all files, from 0 */
	uint32_t n_lines;
} mr_config_unit;

typedef struct mr_config_text {
	mr_strbuf text;         /* all files, each in place of the @include that names it */
	char **files;           /* [n_files] names for messages; files[0] is the main one */
	uint32_t n_files;
	mr_config_line *lines;  /* [n_lines] */
	size_t n_lines;
	mr_config_unit *units;  /* [n_units] in the order in which they begin; units[0] is the main file */
	uint32_t n_units;
	uint32_t *order;        /* [n_ended] units in the order in which they end: the later wins */
	uint32_t n_ended;
	bool partial;           /* an @include could not be followed, and may hold missing settings */
} mr_config_text;

/** Read @path and the files that it includes; @given, if not NULL, is the text of @path, and no file is read for it.
 * Errors: MR_ECONFIG when @path cannot be read; MR_ERESOURCE. All other mistakes are noted in @m. */
mr_status mr_config_text_read(const char *path, const char *given, mr_config_text *t, mr_mistakes *m) MR_MUST_USE;
/**
 * Make the texts of the units, noting integers that are too large, and strings and groups that do not end (*@whole
 * false: do not parse the rest). A number may have k, M or G behind it; integers of any size need no L; a list may mix
 * 1 and 2.5. Errors: MR_ERESOURCE.
 */
mr_status mr_config_text_scan(mr_config_text *t, mr_mistakes *m, bool *whole) MR_MUST_USE;
/** The origin of line @line (from 1) of all files. */
mr_origin mr_config_text_origin(const mr_config_text *t, uint32_t line);
/** The origin of line @line (from 1) of the text of unit @u. */
mr_origin mr_config_unit_origin(const mr_config_text *t, const mr_config_unit *u, uint32_t line);
void mr_config_text_fini(mr_config_text *t);
/* The state of a text after @s[0]: outside of strings and comments, or inside one. *@skip is 1 when s[1] belongs to it.
 */
typedef enum mr_text_state { MR_TEXT_PLAIN, MR_TEXT_STRING, MR_TEXT_LINE_COMMENT, MR_TEXT_BLOCK_COMMENT } mr_text_state;
mr_text_state mr_config_text_advance(mr_text_state state, const char *s, int *skip);

typedef struct mr_config_section {
	mr_plugin plugin;       /* of a plug-in group; name NULL while unknown */
	const mr_option *table; /* of the group or its plug-in; NULL while unknown */
	mr_values *values;      /* by the table; NULL while unknown. Of a plug-in: the job's, once there is
	                           one */
	mr_origin *origin;      /* [options] of each value */
	mr_origin name_origin;  /* of a plug-in's name */
	mr_origin group_origin; /* of the group in the file; DEFAULT if the file does not have it */
} mr_config_section;

struct mr_config {
	char *path, *name, *base_dir;
	const char *given;      /* the text of the file while it is loaded; NULL: it is read. Borrowed */
	mr_config_text text;
	mr_config_section part[MR_N_JOB_GROUPS];
	mr_job job;
	mr_config_before *before; /* with before_arg: called ahead of the job's checks; NULL: nothing is */
	void *before_arg;
	mr_mistakes mistakes;
	mr_strbuf notes;        /* lines about what was left out */
};

/* One --set, split into its parts. */
typedef struct mr_set {
	const char *text;       /* as given */
	mr_job_group group;
	char *key;              /* owned; NULL: it could not be read */
	const char *value;      /* inside @text, or @plain */
	char *plain;            /* owned: a plug-in's name without quotes; else NULL */
} mr_set;

/** Split the --set texts; mistakes are noted. Errors: MR_ERESOURCE. */
mr_status mr_config_sets_read(mr_config *c, const char *const *texts, size_t n, mr_set **out) MR_MUST_USE;
void mr_config_sets_free(mr_set *sets, size_t n);

/** Apply them. Errors: MR_ERESOURCE. */
mr_status mr_config_sets_apply(mr_config *c, const mr_set *sets, size_t n) MR_MUST_USE;

/** Parse the text and apply it; plug-ins named in @sets win. Errors: MR_ERESOURCE. */
mr_status mr_config_parse(mr_config *c, const mr_set *sets, size_t n_sets) MR_MUST_USE;

/** Give @group its values and origins, all defaults. For a plug-in group: of the plug-in @name; an unknown one is
 * noted. */
mr_status mr_config_section_open(mr_config *c, mr_job_group group, const char *name, mr_origin at) MR_MUST_USE;
/** Note that @key of @group came from @at. */
void mr_config_section_mark(mr_config *c, mr_job_group group, const char *key, mr_origin at);
/** Unknown word at the top or in front of the dot: message with the nearest known name, MR_ECONFIG. */
mr_status mr_config_unknown_group(const char *word, bool keys_too) MR_MUST_USE;
/** The group called @name, or MR_N_JOB_GROUPS. */
mr_job_group mr_config_group_find(const char *name);

/**
 * Note a mistake about @key of @group at the place where the key was written, else at the group, else at the begin of
 * the file. A message that begins with "KEY: " is about that key of the group.
 */
void mr_config_mistake(mr_config *c, mr_job_group group, const char *key, const char *text);

/** Make the job, and note its mistakes. Errors: MR_ERESOURCE. */
mr_status mr_config_make_job(mr_config *c) MR_MUST_USE;

/* Is the value of @key in @group a list of names or numbers, which is kept as one text with commas? */
static inline bool mr_config_takes_names(mr_job_group group, const char *key)
{
	return (group == MR_JOB_TOP && !strcmp(key, "partition")) ||
	       (group == MR_JOB_TRAIN && (!strcmp(key, "frozen") || !strcmp(key, "class_weights")));
}

#endif
