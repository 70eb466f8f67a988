#include "cli/args.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define MR_COMMAND(id) extern const mr_command mr_command_##id;
#include "cli/commands.def"
#undef MR_COMMAND

static const mr_command *const commands[] = {
#define MR_COMMAND(id) &mr_command_##id,
#include "cli/commands.def"
#undef MR_COMMAND
	NULL,
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]) - 1)

static const mr_option no_options[] = {{0}};

const mr_command *const *mr_commands(void)
{
	return commands;
}

mr_status mr_command_get(const char *name, const mr_command **out)
{
	const char *names[N_COMMANDS], *near;

	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (!strcmp(commands[i]->name, name)) {
			*out = commands[i];
			return MR_OK;
		}
		names[i] = commands[i]->name;
	}
	if (*name == '-') {
		near = mr_nearest(name, (const char *const[]){"--help", "--version"}, 2);
		if (near)
			return mr_fail(MR_EUSAGE, "there is no option %.60s; did you mean %s?", name, near);
		return mr_fail(MR_EUSAGE, "the command comes before its options, got \"%.60s\"; see millrace --help",
			       name);
	}
	near = mr_nearest(name, names, N_COMMANDS);
	if (near)
		return mr_fail(MR_EUSAGE, "no command is called \"%.60s\"; did you mean \"%s\"?", name, near);
	return mr_fail(MR_EUSAGE, "no command is called \"%.60s\"; see millrace --help", name);
}

static bool is_flag(const mr_option *o)
{
	return o->type == MR_OPT_BOOL && o->def && !strcmp(o->def, "false");
}

static mr_status unknown_option(const mr_command *command, const char *name, size_t len)
{
	const mr_option *table = command->options ? command->options : no_options;
	const char *names[64], *near;
	char word[64];
	size_t n = 0;

	snprintf(word, sizeof(word), "%.*s", (int)(len < 60 ? len : 60), name);
	for (; table[n].name && n < 62; n++)
		names[n] = table[n].name;
	names[n++] = "help";
	if (command->sets)
		names[n++] = "set";
	near = mr_nearest(word, names, n);
	if (near)
		return mr_fail(MR_EUSAGE, "%s has no option --%s; did you mean --%s?", command->name, word, near);
	return mr_fail(MR_EUSAGE, "%s has no option --%s; see millrace %s --help", command->name, word, command->name);
}

/* The value of the option at argv[*i]: behind its "=", or the next argument. */
static mr_status value_of(int argc, char **argv, int *i, const char *equals, const char **value)
{
	if (equals) {
		*value = equals + 1;
		return MR_OK;
	}
	if (*i + 1 >= argc)
		return mr_fail(MR_EUSAGE, "%s needs a value", argv[*i]);
	*value = argv[++*i];
	return MR_OK;
}

static mr_status take_option(mr_args *a, int argc, char **argv, int *i)
{
	const mr_option *table = a->command->options ? a->command->options : no_options, *o = NULL;
	const char *name = argv[*i] + 2, *equals = strchr(name, '='), *value;
	size_t len = equals ? (size_t)(equals - name) : strlen(name);

	if (argv[*i][1] != '-') { /* the only short one that comes here */
		name = "output";
		equals = NULL;
		len = strlen(name);
	}
	if (a->command->sets && len == 3 && !strncmp(name, "set", 3)) {
		MR_TRY(value_of(argc, argv, i, equals, &value));
		a->set[a->n_sets++] = value;
		return MR_OK;
	}
	for (const mr_option *t = table; t->name; t++)
		if (strlen(t->name) == len && !strncmp(t->name, name, len))
			o = t;
	if (!o)
		return unknown_option(a->command, name, len);
	value = "true";
	if (!is_flag(o) || equals)
		MR_TRY(value_of(argc, argv, i, equals, &value));
	if (mr_values_set_text(a->values, o->name, value) != MR_OK)
		return mr_fail(MR_EUSAGE, "--%s: %s", o->name, mr_error_text());
	return MR_OK;
}

static mr_status check_counts(const mr_args *a)
{
	const mr_command *c = a->command;
	const char *missing = mr_values_missing(a->values);

	if (a->n_operands < c->min_operands)
		return mr_fail(MR_EUSAGE, "usage: millrace %s %s; see millrace %s --help", c->name, c->operands,
			       c->name);
	if (a->n_operands > c->max_operands && a->n_sets && a->operand[c->max_operands][0] == '=')
		return mr_fail(MR_EUSAGE, "%s: --set takes key=value without blanks around the \"=\"", c->name);
	if (a->n_operands > c->max_operands)
		return mr_fail(MR_EUSAGE, "%s: one argument too many: \"%.100s\"", c->name,
			       a->operand[c->max_operands]);
	if (missing)
		return mr_fail(MR_EUSAGE, "%s needs --%s", c->name, missing);
	return MR_OK;
}

static mr_status parse(mr_args *a, int argc, char **argv, bool *help)
{
	bool only_operands = false;

	for (int i = 2; i < argc; i++) {
		const char *s = argv[i];

		if (only_operands || s[0] != '-' || !s[1]) {
			a->operand[a->n_operands++] = s;
		} else if (!strcmp(s, "--")) {
			only_operands = true;
		} else if (!strcmp(s, "--help") || !strcmp(s, "-h")) {
			*help = true;
			return MR_OK;
		} else if (s[1] == '-' || !strcmp(s, "-o")) {
			MR_TRY(take_option(a, argc, argv, &i));
		} else {
			return mr_fail(MR_EUSAGE, "%s has no option %.60s; see millrace %s --help", a->command->name, s,
				       a->command->name);
		}
	}
	return check_counts(a);
}

mr_status mr_args_parse(const mr_command *command, int argc, char **argv, mr_args *out, bool *help)
{
	mr_status st;

	*help = false;
	*out = (mr_args){.command = command, .argv = argv};
	out->operand = calloc((size_t)argc + 1, sizeof(*out->operand));
	out->set = calloc((size_t)argc + 1, sizeof(*out->set));
	st = mr_values_create(command->options ? command->options : no_options, &out->values);
	if (!out->operand || !out->set)
		st = mr_fail(MR_ERESOURCE, "no memory for %d arguments", argc);
	if (st == MR_OK)
		st = parse(out, argc, argv, help);
	if (st != MR_OK || *help)
		mr_args_fini(out);
	return st;
}

mr_status mr_args_set_key(mr_args *args, const char *option, const char *key)
{
	char *value, *set = NULL;
	bool empty;

	if (!mr_values_is_set(args->values, option))
		return MR_OK;
	value = mr_values_text(args->values, option);
	empty = value && !*value;
	if (value && !empty && asprintf(&set, "%s=%s", key, value) < 0)
		set = NULL;
	free(value);
	if (!set)
		return empty ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for --%s", option);
	args->own[args->n_own++] = set;
	args->set[args->n_sets++] = set; /* there is room: one for each argument */
	return MR_OK;
}

void mr_args_fini(mr_args *args)
{
	for (uint32_t i = 0; i < args->n_own; i++)
		free(args->own[i]);
	mr_values_destroy(args->values);
	free(args->operand);
	free(args->set);
	*args = (mr_args){0};
}
