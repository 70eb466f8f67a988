/* millrace completion: prints a script that completes the command line, for a shell. */
#include <string.h>

#include "cli/args.h"
#include "manual/completion.h"

static mr_status run(mr_args *args)
{
	const char *shell = args->operand[0];

	if (!strcmp(shell, "bash"))
		mr_completion_bash(mr_commands(), stdout);
	else if (!strcmp(shell, "zsh"))
		mr_completion_zsh(mr_commands(), stdout);
	else if (!strcmp(shell, "fish"))
		mr_completion_fish(mr_commands(), stdout);
	else
		return mr_fail(MR_EUSAGE, "no completion for \"%.60s\"; expected bash, zsh or fish", shell);
	return MR_OK;
}

const mr_command mr_command_completion = {
	.name = "completion",
	.operands = "bash|zsh|fish",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "print a script that completes commands, options and keys in a shell",
	.help = "bash: millrace completion bash > ~/.local/share/bash-completion/completions/millrace\n"
		"zsh:  millrace completion zsh > FOLDER/_millrace, with FOLDER in $fpath before compinit\n"
		"fish: millrace completion fish > ~/.config/fish/completions/millrace.fish\n"
		"An installed package has these files already.\n",
	.run = run,
};
