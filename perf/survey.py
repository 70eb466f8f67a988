#!/usr/bin/env python3
"""The table of a survey of pipeline parallelism, row by row, beside what the systems do here.

    perf/survey.py MILLRACE [--text FILE] [--seeds N] [--jobs N] [--rounds N] costs|idle|compute|learn|epochs|recompute

The survey: Guan et al., Advances of Pipeline Model Parallelism for Deep Learning Training, JCST 2024, whose table "The
Frontier of Pipeline Parallelism" repeats with a word for the convergence of each approach.

costs      4 workers, 8 micro-batches, 16 equal layers: bubble of the walk; versions of weights, saved activations and
           messages between workers, counted while the system trains in virtual time.
idle       2 workers, 16 layers of 512, micro-batches of 32 samples: part of the training time in which workers did not
           compute, beside the bubble of the walk. Of up to N rounds (7) of 200 micro-batches the first one in which
           other programs had less than 2 % of the workers' time, else the least disturbed one. Wants two quiet cores.
compute    the processor time of a step in virtual time beside that of the system without what the row adds, medians of
           interleaved runs. One thread computes and nothing waits, so that other programs disturb it little.
learn      three tasks with N seeds (3), each system at its best rate: digits (a perceptron of 8 layers;
           scikit-learn's 1,797 scanned digits), text (a GPT on --text), pairs (an LSTM encoder and decoder that
           reverses letters).
epochs     accuracy of LeNet on the digits after each epoch with weights stashed, with vertical sync and with neither, N
           seeds.
recompute  the same for one worker that runs forward passes again, beside one that keeps activations.

Everything but processor times and what is idle is the same in each run of a build. Markdown on the standard output.
Needs scikit-learn for the digits.
"""
import argparse
import concurrent.futures
import json
import os
import re
import resource
import statistics
import struct
import subprocess
import sys
import tempfile

HEAD = "train = { batch = 16; microbatches = 4; eval_every = 0; }; machine = { workers = 4; threads = 1; };\n"
EQUAL = """model = { name = "mlp"; hidden = [%s]; };
data = { name = "synthetic"; features = 256; classes = 256; samples = 4096; validation = 0.0; };
optimizer = { name = "momentum"; lr = 0.001; };
train = { batch = 64; microbatches = 8; steps = 8; eval_every = 0; gradients = "each"; };
machine = { workers = 4; threads = 1; };
""" % ", ".join(["256"] * 15)
LENET = 'model = { name = "lenet"; form = "caffe"; };'
DIGITS = """model = { name = "mlp"; hidden = [64, 64, 64, 64, 64, 64, 64, 64]; };
data = { name = "mnist"; images = "train-images"; labels = "train-labels"; validation_images = "test-images";
    validation_labels = "test-labels"; mean = 0.3; std = 0.37; };
optimizer = { name = "momentum"; };
""" + HEAD
TEXT = """model = { name = "gpt"; layers = 6; width = 32; heads = 2; context = 32; dropout = 0.0; init_std = 0.06; };
data = { name = "text"; path = "%s"; validation = 0.02; };
optimizer = { name = "adamw"; beta2 = 0.95; weight_decay = 0.1; };
lr_schedule = { name = "constant"; warmup = 50; };
""" + HEAD
PAIRS = """model = { name = "gnmt"; layers = 4; width = 48; dropout = 0.0; smoothing = 0.0; };
data = { name = "reversal"; letters = 10; shortest = 3; longest = 6; validation = 0.01; };
optimizer = { name = "adamw"; };
lr_schedule = { name = "constant"; warmup = 50; };
""" + HEAD
# task: configuration, steps, rates, which figure of the validation
TASKS = {
    "digits": (DIGITS, 450, ["0.003", "0.01"], "accuracy"),
    "text": (TEXT, 600, ["2e-3", "4e-3"], "loss"),
    "pairs": (PAIRS, 900, ["8e-3"], "loss"),
}
# Of the survey: approach, bubble, convergence, weights, activations, extra computation; ours: system, micro-batches of
# a step in costs and in learn, options.
ROWS = [
    ("GPipe", "(D-1)/(T+D-1)", "Excellent", "1", "T", "", "gpipe", 8, 4, {}),
    ("GEMS", "(D-1)/(D+1/2)", "Excellent", "2", "1", "", "gems", 8, 4, {}),
    ("DAPPLE", "(D-1)/(D+T-1)", "Excellent", "1", "1 to D", "", "dapple", 8, 4, {}),
    ("Chimera", "(D-2)/(2T+D-2)", "Excellent", "2", "D/2+1 to D", "", "chimera", 8, 4, {}),
    ("Megatron-LM", "(D-1)/(vT)", "Excellent", "1", "T", "", "interleaved", 8, 4, {}),
    ("Zero Bubble, ZB-H2", "0", "Excellent", "1", "2D-1", "yes", "zb_h2", 8, 4, {}),
    ("AMPNet", "0", "Poor", "1", "1 to D", "", "ampnet", 1, 1, {}),
    ("AMPNet, 8 or 4 a step", "", "", "", "", "", "ampnet", 8, 4, {}),
    ("PipeDream", "0", "Good", "1 to D", "1 to D", "", "pipedream", 1, 1, {}),
    ("XPipe", "0", "Good", "1", "1 to D", "yes", "xpipe", 8, 4, {}),
    ("SpecTrain", "0", "Good", "1", "1 to D", "yes", "spectrain", 1, 1, {}),
    ("PipeDream-2BW", "0", "Good", "2", "1 to D", "", "pipedream_2bw", 8, 4, {}),
    ("PipeMare", "0", "Good", "1", "1 to D", "yes", "pipemare", 1, 1, {}),
    ("AvgPipe", "0", "Good", "P", "up to D T P", "", "avgpipe", 8, 2, {}),
    ("WPipe", "0", "Good", "2", "T", "", "wpipe", 8, 4, {}),
]
# What the extra computation is compared with: system, micro-batches of a step, options, and the same without it.
EXTRA = [
    ("xpipe", 8, {}, ("ampnet", 8, {})),
    ("spectrain", 1, {}, ("pipedream", 1, {"system.stashing": "false"})),
    ("pipemare", 1, {}, ("pipedream", 1, {"system.stashing": "false"})),
    ("zb_h2", 8, {"system.optimizer": "validated", "train.clip": "1000"}, ("zb_h2", 8, {"train.clip": "1000"})),
    ("pipedream", 1, {}, ("pipedream", 1, {"system.stashing": "false"})),
]


class Failed(Exception):
    pass


def run(command, **more):
    """Standard output of COMMAND; its first line of complaint where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, **more)
    if done.returncode:
        raise Failed("%s: %s" % (" ".join(command), (done.stderr.strip() or "no message").split("\n")[-1]))
    return done.stdout


def settings(values):
    return [word for key, value in values.items() for word in ("--set", "%s=%s" % (key, value))]


def save_digits():
    """The digits as IDX files in this folder, the first fifth of a fixed permutation for the test."""
    import numpy
    from sklearn.datasets import load_digits
    digits = load_digits()
    order = numpy.random.default_rng(1).permutation(len(digits.target))
    images = (digits.images[order] * 255 / 16).round().astype("u1")
    images = images.repeat(2, 1).repeat(2, 2)  # LeNet needs 16 x 16 pixels
    labels, test = digits.target[order].astype("u1"), len(order) // 5
    for name, a in (("test-images", images[:test]), ("test-labels", labels[:test]), ("train-images", images[test:]),
                    ("train-labels", labels[test:])):
        with open(name, "wb") as f:
            f.write(struct.pack(">BBBB", 0, 0, 8, a.ndim) + struct.pack(">%dI" % a.ndim, *a.shape) + a.tobytes())


def simulate(args, conf, folder, system, micro, values):
    return run([args.millrace, "simulate", conf] + settings(dict(values, **{
        "run.dir": '"%s"' % folder, "system.name": system, "train.microbatches": micro})))


# --- costs


def placement(args, system, micro):
    """Worker of each stage of each pipe, and the plan; without a flush that of a few steps from start to end."""
    plan = json.loads(run([args.millrace, "schedule", system, "--workers", "4", "--microbatches", str(micro),
                           "--format", "json"]))
    return [p["stage_to_worker"] for p in plan["pipes"]], plan


def per_worker(where, folder, what):
    """Sums over the stages of each of the 4 workers of what memory.json counted."""
    sums = [0] * 4
    with open(folder + "/memory.json") as f:
        for stage in json.load(f)["stages"]:
            sums[where[stage["pipe"]][stage["stage"]]] += stage[what]["measured"]
    return sums


def messages(where, plan):
    """Boundaries that cross workers, forward and backward, a micro-batch."""
    crossings = 0
    for share in plan["workers"]:
        for op, _, stage, pipe in (i[:4] for i in share):
            to = stage + 1 if op == "F" else stage - 1 if op in "BI" else -1
            if 0 <= to < len(where[pipe]) and where[pipe][to] != where[pipe][stage]:
                crossings += 1
    return crossings / plan["T"]


def bubble(args, system, micro, workers=4):
    text = run([args.millrace, "schedule", system, "--workers", str(workers), "--microbatches", str(micro)])
    found = re.search(r"period (\S+), bubble \S+ of the makespan, (\S+) of the period", text)
    return found.group(2) if found else "fill and drain"


def span(numbers):
    low, high = min(numbers), max(numbers)
    return "%.3g" % high if high - low < 0.05 else "%.3g to %.3g" % (low, high)


def costs(args):
    with open("equal.cfg", "w") as f:
        f.write(EQUAL + 'system = { name = "naive"; };\n')
    simulate(args, "equal.cfg", "unit", "naive", 8, {})
    where, _ = placement(args, "naive", 8)
    weights = sum(per_worker(where, "unit", "weight_bytes")) / 4
    kept = max(per_worker(where, "unit", "activation_bytes"))
    print("| approach | here | bubble: survey, walk | weights: survey, counted | activations: survey, counted | "
          "messages a micro-batch |\n|---|---|---|---|---|---|")
    for name, formula, _, copies, slots, _, system, micro, _, options in ROWS:
        values = dict(options, **{"train.batch": 8 * micro})
        folder = "costs.%s.%d" % (system, micro)
        simulate(args, "equal.cfg", folder, system, micro, values)
        where, plan = placement(args, system, max(micro, 8))
        print("| %s | `%s`, T = %d | %s; %s | %s; %s | %s; %s | %.3g |" % (
            name, system, micro, formula or "-", bubble(args, system, 8), copies or "-",
            span([x / weights for x in per_worker(where, folder, "weight_bytes")]), slots or "-",
            span([x / kept for x in per_worker(where, folder, "activation_bytes")]), messages(where, plan)), flush=True)


# --- idle time


def idle_parts(args, row, turn):
    """Percent of both workers' time in which other programs had their cores; idle; waiting for each other."""
    folder, micro = "idle.%s.%d.%d" % (row[6], row[7], turn), row[7]
    run([args.millrace, "train", "wide.cfg"] + settings(dict(row[9], **{
        "run.dir": '"%s"' % folder, "system.name": row[6], "machine.workers": 2, "machine.peak_gflops": 100,
        "checkpoint.every": 0, "train.batch": 32 * micro, "train.microbatches": micro,
        "train.steps": 200 // micro})))
    with open(folder + "/run.json") as f:
        figures = json.load(f)["figures"]
    waits = [figures["wait_" + cause] for cause in ("upstream", "downstream", "weights", "optimizer")]
    return [100 * x for x in (figures["wait_descheduled"], figures["bubble"], sum(waits))]


def idle(args):
    with open("wide.cfg", "w") as f:
        f.write(EQUAL.replace("256", "512"))
    best = [[100, 0, 0]] * len(ROWS)
    for turn in range(args.rounds):
        for i, row in enumerate(ROWS):
            if best[i][0] >= 2:
                best[i] = min(best[i], idle_parts(args, row, turn))
        print("round %d: %d rows are disturbed" % (turn, sum(x[0] >= 2 for x in best)), file=sys.stderr, flush=True)
    print("| here | walk | idle, measured | waits for the other | others had the cores |\n|---|---|---|---|---|")
    for row, (others, idle_part, waits) in zip(ROWS, best):
        print("| `%s`, T = %d | %s | %.1f%% | %.1f%% | %.1f%% |" % (
            row[6], row[7], bubble(args, row[6], 8, 2), idle_part, waits, others))


# --- processor time


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def step_ms(args, conf, values, steps):
    """Processor time of a step: that of a run of STEPS steps less that of one of a quarter, for the steps between."""
    times = []
    for n in (steps // 4, steps):
        folder = tempfile.mkdtemp(dir=".")
        times.append(seconds([args.millrace, "simulate", conf] + settings(dict(values, **{
            "run.dir": '"%s/run"' % folder, "train.steps": n}))))
    return 1000 * (times[1] - times[0]) / (steps - steps // 4)


def ratio(pairs):
    return "%+.0f %% (%+.0f to %+.0f)" % tuple(100 * (x - 1) for x in (
        statistics.median(pairs), min(pairs), max(pairs)))


def compute(args):
    with open("equal.cfg", "w") as f:
        f.write(EQUAL + 'system = { name = "naive"; };\n')
    print("| system | without | processor time a step | more |\n|---|---|---|---|")
    for system, micro, options, (base, base_micro, base_options) in EXTRA:
        steps, got = 80 if micro > 1 else 400, []
        for _ in range(args.rounds):
            both = [step_ms(args, "equal.cfg", dict(o, **{
                "system.name": s, "train.microbatches": m, "train.batch": 8 * m}), steps)
                for s, m, o in ((system, micro, options), (base, base_micro, base_options))]
            got.append(both)
        print("| `%s`%s | `%s`%s | %.3g and %.3g ms | %s |" % (
            system, words(options), base, words(base_options), statistics.median(b[0] for b in got),
            statistics.median(b[1] for b in got), ratio([b[0] / b[1] for b in got])), flush=True)


def words(options):
    return "".join(", %s = %s" % (k.split(".")[1], v) for k, v in options.items())


def recompute(args):
    nets = {
        "GPT, 4 layers of 128, context 128": 'model = { name = "gpt"; layers = 4; width = 128; heads = 4; '
        'context = 128; dropout = 0.0; }; data = { name = "text"; path = "%s"; validation = 0.1; };\n' % args.text,
        "ResNet-18 of half the width, 32 x 32": 'model = { name = "resnet18"; form = "cifar"; width = 32; }; '
        'data = { name = "synthetic"; image = [32, 32, 3]; classes = 10; samples = 1024; validation = 0.0; };\n',
        "mlp, 8 layers of 1024": 'model = { name = "mlp"; hidden = [%s]; }; data = { name = "synthetic"; features = '
        '1024; classes = 1024; samples = 1024; validation = 0.0; };\n' % ", ".join(["1024"] * 7),
    }
    print("| network | kept | recomputed | more | memory: kept, recomputed |\n|---|---|---|---|---|")
    for name, text in nets.items():
        batch = 128 if name.startswith("mlp") else 16
        with open("net.cfg", "w") as f:
            f.write(text + 'train = { batch = %d; microbatches = 8; eval_every = 0; eval_at_end = false; '
                    'gradients = "each"; };\n'
                    'machine = { workers = 1; threads = 1; };\noptimizer = { name = "momentum"; lr = 1e-4; };\n'
                    'system = { name = "gpipe"; };\n' % batch)
        got = [[step_ms(args, "net.cfg", {"system.recompute": how}, 24) for how in ("never", "always")]
               for _ in range(args.rounds)]
        need = [re.search(r"peak memory  predicted (.*?B) ", run([args.millrace, "simulate", "net.cfg"] + settings({
            "system.recompute": how, "train.steps": 3, "run.dir": '"need.%s.%s"' % (name[0], how)}))).group(1)
            for how in ("never", "always")]
        print("| %s | %.4g ms | %.4g ms | %s | %s, %s |" % (
            name, statistics.median(g[0] for g in got), statistics.median(g[1] for g in got),
            ratio([g[1] / g[0] for g in got]), *need), flush=True)


# --- convergence


def validation(folder):
    with open(folder + "/metrics.jsonl") as f:
        return [record for record in map(json.loads, f) if "val_loss" in record]


def learn_one(args, task, system, micro, options, rate, seed, steps, every=0):
    """The evaluations of one run; [] where it diverged."""
    folder = "%s.%s.%d%s.%s.%d" % (task, system, micro, words(options).replace(", ", ".").replace(" ", ""), rate, seed)
    values = dict(options, **{"train.steps": steps, "train.seed": seed, "optimizer.lr": rate,
                              "train.eval_every": every})
    try:
        simulate(args, task + ".cfg", folder, system, micro, values)
    except Failed as e:
        if "not a number" not in str(e):
            raise
        return []
    return validation(folder)


def prepare(args):
    save_digits()
    for task, (text, *_) in TASKS.items():
        with open(task + ".cfg", "w") as f:
            f.write((text % args.text if "%s" in text else text) + 'system = { name = "1f1b"; };\n')


def best_of(task, runs):
    """Rate, mean and deviation over seeds at the rate whose mean is best. RUNS: rate: [evaluations of a seed]."""
    high = TASKS[task][3] == "accuracy"
    best = None
    for rate, seeds in runs.items():
        if not all(seeds):
            continue
        last = [100 * e[-1]["val_accuracy"] if high else e[-1]["val_loss"] for e in seeds]
        mean = statistics.mean(last)
        if best is None or (mean > best[1] if high else mean < best[1]):
            best = rate, mean, statistics.stdev(last) if len(last) > 1 else 0
    return best


def learn(args):
    prepare(args)
    # All systems that flush give the same weights (tests: system.equal_sync), so the first row of them is trained.
    done = set()
    rows = [("all that flush", "1f1b", 4, {})]
    for r in ROWS:
        if r[2] != "Excellent" and (r[6], r[8]) not in done:
            done.add((r[6], r[8]))
            rows.append((r[0], r[6], r[8], r[9]))
    for option in ("system.stashing", "false"), ("system.vertical_sync", "true"):
        rows.append(("PipeDream", "pipedream", 1, dict([option])))
    jobs = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for task in args.tasks:
            for _, system, micro, options in rows:
                for rate in TASKS[task][2]:
                    for seed in range(1, args.seeds + 1):
                        key = task, system, micro, words(options), rate, seed
                        jobs[key] = pool.submit(learn_one, args, task, system, micro, options, rate, seed,
                                                TASKS[task][1])
        print("| approach | here | %s |\n|---|---|%s" % (" | ".join(
            "%s: %s" % (t, TASKS[t][3]) for t in args.tasks), "---|" * len(args.tasks)))
        for name, system, micro, options in rows:
            cells = []
            for task in args.tasks:
                best = best_of(task, {rate: [jobs[task, system, micro, words(options), rate, seed].result()
                                             for seed in range(1, args.seeds + 1)] for rate in TASKS[task][2]})
                cells.append("diverged" if not best else ("%.2f +- %.2f, %s" if TASKS[task][3] == "accuracy" else
                                                          "%.3f +- %.3f, %s") % (best[1], best[2], best[0]))
            print("| %s | `%s`%s, T = %d | %s |" % (name, system, words(options), micro, " | ".join(cells)), flush=True)


def epochs(args):
    prepare(args)
    with open("lenet.cfg", "w") as f:
        f.write(re.sub("model = .*", LENET, DIGITS) + 'system = { name = "1f1b"; };\n')
    shown, target = [1, 2, 3, 4, 5, 7, 10, 15, 20], 97.0
    rows = [("without delay", "1f1b", 1, {}), ("stashed", "pipedream", 1, {}),
            ("vertical sync", "pipedream", 1, {"system.vertical_sync": "true"}),
            ("neither", "pipedream", 1, {"system.stashing": "false"})]
    epoch = 1438 // 16
    for workers in ("2", "4"):
        for rate in ("1e-3", "2e-3"):
            print("\n%s workers, rate %s: mean accuracy of %d seeds after epochs\n" % (workers, rate, args.seeds))
            print("| weights | %s | epochs to %g %% |\n|---|%s---|" % (
                " | ".join(map(str, shown)), target, "---|" * len(shown)))
            for name, system, micro, options in rows:
                values = dict(options, **{"machine.workers": workers})
                with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
                    runs = list(pool.map(lambda seed: learn_one(
                        args, "lenet", system, micro, values, rate, seed, 20 * epoch, epoch), range(1, args.seeds + 1)))
                if not all(runs):
                    print("| %s | %s |" % (name, "diverged, %d of %d" % (runs.count([]), len(runs))))
                    continue
                mean = [100 * statistics.mean(r[e]["val_accuracy"] for r in runs) for e in range(20)]
                reached = next((str(e + 1) for e in range(20) if mean[e] >= target), "not in 20")
                print("| %s | %s | %s |" % (name, " | ".join("%.1f" % mean[e - 1] for e in shown), reached), flush=True)


def main():
    modes = {"costs": costs, "idle": idle, "compute": compute, "learn": learn, "epochs": epochs, "recompute": recompute}
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("millrace")
    p.add_argument("mode", choices=modes)
    p.add_argument("--text", help="a text to learn, such as tiny Shakespeare")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--rounds", type=int, default=7, help="of idle, compute and recompute")
    p.add_argument("--jobs", type=int, default=1, help="runs of learn and epochs at a time")
    p.add_argument("--tasks", default=",".join(TASKS), type=lambda s: s.split(","))
    args = p.parse_args()
    args.millrace = os.path.abspath(args.millrace)
    if args.mode in ("learn", "recompute") and not args.text:
        p.error("%s: a text is needed: --text FILE" % args.mode)
    args.text = args.text and os.path.abspath(args.text)
    with tempfile.TemporaryDirectory(prefix="millrace-survey.") as work:
        os.chdir(work)
        try:
            modes[args.mode](args)
        except Failed as e:
            sys.exit("survey.py: %s" % e)
        finally:
            os.chdir("/")


if __name__ == "__main__":
    main()
