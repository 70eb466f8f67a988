#include "job/keys.h"

#include <math.h>

#include "mitigate/mitigate.h"
#include "nn/share.h"

#ifdef MR_DNNL
#define DEFAULT_BACKEND "auto"
#else
#define DEFAULT_BACKEND "reference"
#endif

/* "|f32|f64|bf16|bf16_pure" */
static const char precisions[] =
#define MR_PRECISION(id, types, backends) "|" #id
#include "nn/precisions.def"
	;

static const mr_option top[] = {
	{"backend", MR_OPT_ENUM, DEFAULT_BACKEND, 0, 0, "auto|fused|onednn|reference", NULL,
	 "auto: for each operation and shape fused or onednn, by a table of choices; fused: our AVX2, AVX-512 "
	 "and NEON kernels, and oneDNN for the products that they leave out; onednn: oneDNN where it has a primitive, "
	 "else fused; reference: portable C (slow, for checking)"},
	{"precision", MR_OPT_ENUM, "f32", 0, 0, &precisions[1], NULL,
	 "f32, f64: all numbers are of that type, and f64 needs backend = \"reference\"; bf16: weights and "
	 "activations are stored in bf16, all else in f32, also the exact weight that the optimizer steps; bf16_pure: "
	 "weights, activations, gradients and the optimizer's state are stored in bf16, with no exact weight beside "
	 "them: what a step makes is rounded up or down at random; a parameter takes half the bytes"},
	{"costs", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "file of millrace profile with the times that orders and buffers are made for, from this file's folder; "
	 "empty: nominal ones"},
	{"partition", MR_OPT_STRING, "auto", 0, 0, NULL, NULL,
	 "\"auto\", or a list of the layers or blocks at which the second and later stages begin"},
	{0},
};

static const mr_option lr_schedule[] = {
	{"name", MR_OPT_ENUM, "constant", 0, 0, "constant|cosine|linear|step|one_cycle|inverse_sqrt|wsd", NULL,
	 "what the learning rate does after warm-up: stays; falls to lr * min_ratio at the last step, along half a "
	 "cosine or a line; is multiplied by gamma behind each of milestones (step); rises along half a cosine, in "
	 "place of warm-up, and falls along another (one_cycle); is lr * sqrt(warmup / step) (inverse_sqrt); stays, "
	 "and falls over the last steps (wsd: warm-up, stable, decay). Resumed with other steps it follows the new "
	 "curve"},
	{"warmup", MR_OPT_INT, "0", 0, 1e15, NULL, "steps",
	 "steps over which the learning rate rises from 0; of one_cycle from lr * start_ratio, and 0 is three tenths "
	 "of the steps"},
	{"min_ratio", MR_OPT_FLOAT, "0.1", 0, 1, NULL, NULL, "cosine, linear, one_cycle and wsd end at lr * min_ratio"},
	{"milestones", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "of step: steps behind which the learning rate is multiplied by gamma, such as \"30000 60000\"; at "
	 "most 16"},
	{"step_every", MR_OPT_INT, "0", 0, 1e15, NULL, "steps",
	 "of step: the rate also falls each time this number of steps has passed; 0: at milestones only"},
	{"gamma", MR_OPT_FLOAT, "0.1", 0, 1, NULL, NULL, "of step: what the learning rate is multiplied by"},
	{"start_ratio", MR_OPT_FLOAT, "0.04", 0, 1, NULL, NULL,
	 "of one_cycle: the first step has the learning rate lr * start_ratio"},
	{"cooldown", MR_OPT_INT, "0", 0, 1e15, NULL, "steps",
	 "of wsd: over this many last steps the learning rate falls; 0: a tenth of the steps"},
	{"cooldown_curve", MR_OPT_ENUM, "linear", 0, 0, "linear|cosine|sqrt", NULL,
	 "of wsd: along what it falls: a line, half a cosine, or 1 - the root of the part that is over"},
	{0},
};

static const mr_option train[] = {
	{"steps", MR_OPT_INT, NULL, 1, 1e15, NULL, NULL, "commits to train for"},
	{"batch", MR_OPT_INT, NULL, 1, 1 << 24, NULL, "samples", "samples a commit"},
	{"microbatches", MR_OPT_INT, "0", 0, 1000000, NULL, NULL,
	 "micro-batches a commit; must divide batch; 0: the system's default"},
	{"clip", MR_OPT_FLOAT, "0", 0, INFINITY, NULL, NULL,
	 "largest gradient norm, global where the system synchronises, per stage where it does not; 0: no clipping"},
	{"nonfinite", MR_OPT_ENUM, "stop", 0, 0, "stop|skip", NULL,
	 "a step whose gradient norm is not finite: stop the run, or leave the weights as they are; skip needs clip"},
	{"norm_every", MR_OPT_INT, "100", 0, 1e15, NULL, "steps",
	 "steps between those whose gradient norm is measured, for metrics.jsonl and the progress line: that of the "
	 "last stage where the system "
	 "has no global one. No weight depends on it; 0: never; with clip it is known of every step"},
	{"gradients", MR_OPT_ENUM, "auto", 0, 0, "auto|each|merged", NULL,
	 "where a system flushes, the weight gradients of a step's micro-batches; each: where the system puts them; "
	 "merged: behind the forward passes and input gradients of the step, all of them as one product, so that what "
	 "a micro-batch saves is kept until then; auto: merged, if memory suffices, for stages that gain by it. The "
	 "weights are the same"},
	{"frozen", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "names of layers, or of the blocks that they are in, whose weights stay as they are, with commas between "
	 "them: they have no gradients and no optimizer state, and nothing goes backward before the first layer that "
	 "trains. ? and * stand for characters as in a shell, ! before a name for those that train after all: "
	 "[\"*\", \"!head\"] trains the head alone. Under a system that flushes"},
	{"class_weights", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "of losses over classes: the loss of each training sample is multiplied by the weight of its class. A list "
	 "has a weight for each class, in their order; balanced: the weight of a class is the number of training "
	 "samples by that of classes and that of the samples of the class, so that all classes count alike and the "
	 "mean weight is 1. The sum is divided by the number of samples, as without weights; evaluations are not "
	 "weighted. Empty: all samples count alike"},
	{"untie", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "a system that cannot share a parameter between stages (tied embeddings without a flush of all stages) is "
	 "refused; with true each use gets weights of its own instead, with a warning"},
	{"seed", MR_OPT_INT, "1", 0, INFINITY, NULL, NULL, "of initial weights, order of the data and dropout"},
	{"eval_every", MR_OPT_INT, "0", 0, 1e15, NULL, "steps", "steps between evaluations; 0: only at the end"},
	{"eval_at_end", MR_OPT_BOOL, "true", 0, 0, NULL, NULL,
	 "evaluate behind the last step as well; false: only where eval_every asks for it"},
	{"patience", MR_OPT_INT, "0", 0, 1e15, NULL, "evaluations",
	 "the training ends after this many evaluations (eval_every) in a row without a better one than the best so "
	 "far, and each better one is saved at once; 0: all steps are made, and the best checkpoint is the best among "
	 "those of checkpoint.every"},
	{0},
};

static const mr_option run[] = {
	{"dir", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "folder for what the run writes, from the current folder; empty: runs/<name of the configuration file>"},
	{"tensorboard", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "also write event files for TensorBoard, into the folder tensorboard of the run: scalars, texts, the timeline "
	 "as a picture"},
	{0},
};

static const mr_option machine[] = {
	{"workers", MR_OPT_INT, "0", 0, 4096, NULL, NULL,
	 "pipeline workers; 0: as many as make the stages that partition lists, else 2; sequential always has one"},
	{"threads", MR_OPT_INT, "0", 0, 4096, NULL, NULL,
	 "threads a worker; 0: as many as teams says; with uneven teams the most that one gets"},
	{"shares", MR_OPT_INT, "1", 1, MR_SHARES_MOST, NULL, NULL,
	 "parts into which linear layers and attention of a worker are cut (tensor parallelism), each with its "
	 "threads, its cores and its part of the weights; they divide the model's heads and hidden widths. 1: workers "
	 "are whole"},
	{"sequence_parallel", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "norms, sums and dropout between layers that are cut take a part of each sample's positions at each share "
	 "(sequence parallelism); the shares divide the positions. Nothing without shares"},
	{"teams", MR_OPT_ENUM, "equal", 0, 0, "equal|uneven", NULL,
	 "workers get as many cores each and leave over what does not divide, or the workers of a node share all its "
	 "cores; a cut that is not named then follows the threads of the workers"},
	{"cpus", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "CPU lists to pin to, one a worker, such as \"0-3 4-7\"; empty: chosen from the topology"},
	{"ranks", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "of millrace-mpi: the rank that has each worker, such as \"0 0 1\", or each share of the first worker, then "
	 "of the second, and so on; empty: equal stretches"},
	{"hosts", MR_OPT_INT, "0", 0, 1024, NULL, NULL,
	 "of plan, simulate and the cut: hosts over which workers, or the ranks of ranks, lie in equal stretches; "
	 "topology then has the cores of all; 0: as ranks or costs say"},
	{"links", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "of plan, simulate and the cut: what a message between hosts takes, such as 5e-5,1.25e8: seconds,bytes/s and, "
	 "if known, seconds a message,bytes/s each way while messages go both ways,seconds of a core a message,a byte; "
	 "empty: what costs says"},
	{"topology", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "plan for this machine, such as \"numa:4 core:16 pu:2\", a name of millrace list machines, such a "
	 "name*4 for four hosts, or a file of lstopo, machine.xml; empty: the one at hand"},
	{"loaders", MR_OPT_INT, "0", 0, 256, NULL, NULL,
	 "threads that make samples, where data decode files (images); 0: as many as cores are left over, up to 8"},
	{"spin_us", MR_OPT_INT, "-1", -1, 1e9, NULL, "microseconds",
	 "how long a worker that waits spins at most before it sleeps, less while other programs take the cores; -1: "
	 "long on own cores, short on shared ones"},
	{"memory_limit", MR_OPT_INT, "0", 0, INFINITY, NULL, "bytes",
	 "refuse what needs more in all (program, plan, data, workers, checkpoints); 0: what cgroups and the machine "
	 "allow"},
	{"watchdog", MR_OPT_FLOAT, "-1", -1, 1e6, NULL, "seconds",
	 "give up when nothing happens for this long, also where files are written; 0: never; -1: for 20 times as long "
	 "as the longest operation, at least 10 seconds, and with files for a minute"},
	{"choices", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "file of millrace tune by which backend auto chooses, from this file's folder; empty: the program's own "
	 "table"},
	{"peak_gflops", MR_OPT_FLOAT, "0", 0, 1e9, NULL, "GFLOP/s",
	 "what a core can do at most, which percent of peak divides by; 0: measured at the start, a quarter of a "
	 "second"},
	{0},
};

static const mr_option checkpoint[] = {
	{"every", MR_OPT_INT, "0", 0, 1e15, NULL, "steps",
	 "steps between checkpoints; 0: only at the end and on signals"},
	{"keep", MR_OPT_INT, "2", 1, 1000000, NULL, NULL,
	 "newest checkpoints that are kept, beside the best one (the lowest loss of an evaluation)"},
	{"keep_every", MR_OPT_INT, "0", 0, 1e15, NULL, "steps",
	 "checkpoints of these steps and their multiples are kept for ever; a multiple of every; 0: none"},
	{"at_end", MR_OPT_BOOL, "true", 0, 0, NULL, NULL,
	 "save behind the last step as well; false: only where every asks for it, on signals and where patience ends "
	 "the training. A training without checkpoints cannot be continued, and nothing predicts from it"},
	{"hung", MR_OPT_ENUM, "end", 0, 0, "end|skip", NULL,
	 "a checkpoint whose write hangs for machine.watchdog, as on a network disk that is gone: end the run with "
	 "exit code 8, or train on and skip checkpoints until the disk answers; the checkpoints before it stay"},
	{"parts", MR_OPT_ENUM, "auto", 0, 0, "auto|shared|local|rank0", NULL,
	 "over several ranks, who writes: all into the same files of a shared folder; each its own parts into its own "
	 "folder, which millrace gather brings together; rank 0, which needs memory for all. auto: shared where all "
	 "ranks see the folder of rank 0, else local"},
	{0},
};

static const mr_option trace[] = {
	{"steps", MR_OPT_STRING, "", 0, 0, NULL, NULL, "steps to trace, such as \"100-120\"; empty: none"},
	{0},
};

static const mr_option sample[] = {
	{"tokens", MR_OPT_INT, "200", 1, 1000000, NULL, NULL, "length of a sample"},
	{"temperature", MR_OPT_FLOAT, "0.8", 0, 100, NULL, NULL, "divides the logits; 0: always the most likely token"},
	{"top_k", MR_OPT_INT, "0", 0, 1000000, NULL, NULL, "draw from the k most likely tokens only; 0: from all"},
	{"top_p", MR_OPT_FLOAT, "1", 1e-6, 1, NULL, NULL,
	 "draw from the fewest tokens whose probabilities are at least this together, of those that top_k leaves; 1: "
	 "from all"},
	{"prompt", MR_OPT_STRING, "", 0, 0, NULL, NULL, "text that the sample continues; empty: a line break"},
	{0},
};

static const mr_job_group_info groups[MR_N_JOB_GROUPS] = {
	[MR_JOB_TOP] = {"", "keys outside any group", .options = top},
	[MR_JOB_MODEL] = {"model", "the network", true, MR_PLUGIN_MODEL, NULL},
	[MR_JOB_DATA] = {"data",
			 "where samples come from; relative paths start at the configuration file's folder, those of "
			 "--set "
			 "at the current one",
			 true, MR_PLUGIN_DATA, NULL},
	[MR_JOB_OPTIMIZER] = {"optimizer", "how a gradient becomes a step", true, MR_PLUGIN_OPTIMIZER, NULL},
	[MR_JOB_MITIGATION] = {"mitigation", "what is done about stale gradients, where the system has any", true,
			       MR_PLUGIN_MITIGATION, NULL, MR_MITIGATE_NONE},
	[MR_JOB_SYSTEM] = {"system", "the pipeline system", true, MR_PLUGIN_SYSTEM, NULL},
	[MR_JOB_LR_SCHEDULE] = {"lr_schedule", "how the learning rate changes from step to step",
				.options = lr_schedule},
	[MR_JOB_TRAIN] = {"train", "how long to train, and with how many samples a step", .options = train},
	[MR_JOB_RUN] = {"run", "where results go", .options = run},
	[MR_JOB_MACHINE] = {"machine", "what of the machine is used", .options = machine},
	[MR_JOB_CHECKPOINT] = {"checkpoint", "when to save", .options = checkpoint},
	[MR_JOB_TRACE] = {"trace", "what to record for a timeline", .options = trace},
	[MR_JOB_SAMPLE] = {"sample", "text that a trained model writes", .options = sample},
};

const mr_job_group_info *mr_job_group_of(mr_job_group group)
{
	return &groups[group];
}
