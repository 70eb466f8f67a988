/* millrace launch: starts millrace-mpi on several hosts by the mpirun of an MPI, and again after a failure. */
#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "cli/args.h"
#include "ranks/mpirun.h"

/* Would the same happen again? Mistakes of the command line, the configuration and the data, and a user's signal. */
static bool is_final(int code)
{
	return code == 0 || (code >= 2 && code <= 5) || code == 128 + SIGINT || code == 127;
}

static mr_status check_hosts(const char *hosts)
{
	size_t n = strlen(hosts);

	if (n && *hosts != ',' && hosts[n - 1] != ',' && !strstr(hosts, ",,") && !strpbrk(hosts, " \t:"))
		return MR_OK;
	return mr_fail(MR_EUSAGE, "--hosts: expected names or addresses with a comma between two, such as a,b, got "
				  "\"%s\"; --ranks says how many processes a host gets", hosts);
}

static mr_status run(mr_args *args)
{
	const mr_values *v = args->values;
	mr_mpirun m = {.mpirun = mr_values_string(v, "mpirun"),
		       .agent = mr_values_string(v, "agent"),
		       .options = mr_values_string(v, "mpirun-options"),
		       .hosts = mr_values_string(v, "hosts"),
		       .each = mr_values_int(v, "ranks"),
		       .word = args->operand,
		       .n_words = args->n_operands};
	bool trains = !strcmp(args->operand[0], "train");
	int64_t left = mr_values_int(v, "restarts");
	int code;

	if (!trains && strcmp(args->operand[0], "probe-links") != 0)
		return mr_fail(MR_EUSAGE, "launch starts train or probe-links on several hosts, and not %s",
			       args->operand[0]);
	if (trains && args->n_operands < 2)
		return mr_fail(MR_EUSAGE,
			       "launch train: which configuration? millrace launch --hosts a,b -- train CONF");
	MR_TRY(check_hosts(m.hosts));
	MR_TRY(mr_mpirun_run(&m, false, &code));
	while (trains && !is_final(code) && left-- > 0) {
		mr_log(MR_LOG_WARN, "launch",
		       "the training ended with exit code %d: it goes on from its newest checkpoint (%lld more "
		       "restarts)", code, (long long)left);
		MR_TRY(mr_mpirun_run(&m, true, &code));
	}
	args->code = code; /* the ranks have said why */
	return MR_OK;
}

static const mr_option options[] = {
	{"hosts", MR_OPT_STRING, NULL, 0, 0, NULL, NULL, "names or addresses of the hosts, such as a,b"},
	{"ranks", MR_OPT_INT, "1", 1, 4096, NULL, NULL, "processes on each host"},
	{"restarts", MR_OPT_INT, "0", 0, 1000000, NULL, NULL,
	 "after a failure start again at most as often, each time from the newest checkpoint (train --continue)"},
	{"mpirun", MR_OPT_STRING, "mpirun", 0, 0, NULL, NULL,
	 "the launcher of the MPI that millrace-mpi was built with"},
	{"agent", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "a program that runs a command on a host, in place of ssh: AGENT HOST COMMAND..."},
	{"mpirun-options", MR_OPT_STRING, "", 0, 0, NULL, NULL, "more words for mpirun, separated by blanks"},
	{0},
};

const mr_command mr_command_launch = {
	.name = "launch",
	.operands = "COMMAND [CONF]",
	.min_operands = 1,
	.max_operands = 64,
	.summary = "train on several hosts: starts mpirun with the right words, and again after a failure",
	.help = "For hosts that ssh reaches without a password, with millrace and its files under the same path\n"
		"(conf/HOSTS.md). Under Slurm, `srun millrace-mpi train CONF` does the same. Options of train\n"
		"stand behind \"--\": millrace launch --hosts a,b -- train CONF --set train.steps=100. What messages\n"
		"between the hosts take says launch --hosts a,b -- probe-links -o FILE.\n",
	.options = options,
	.run = run,
};
