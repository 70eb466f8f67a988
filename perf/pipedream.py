#!/usr/bin/env python3
"""PipeDream's tables of speed-ups over data parallel training, predicted anew by `millrace partition`.

    perf/pipedream.py MILLRACE [2018]

Narayanan et al., SOSP'19, table 1. Layers, bytes of weights and activations are those of our networks at the sizes of
the paper; a minibatch takes as long as in the profiles that its authors published (github.com/msr-fiddle/pipedream,
profiler/*/profiles/*/graph.txt: sums of forward and backward times without the input's), shared out over the layers as
`millrace plan --format layers` has them. AWD-LM and S2VT, of which no profile was published, take 7.8 and 4 TFLOP/s:
the rate of the profile of GNMT-16, and two thirds of a Titan X's peak.

Clusters: A has 4 V100 a server on PCIe (12 GB/s) and 10 Gbit/s between servers, B 8 V100 a server on NVLink (25 GB/s)
and 25 Gbit/s, C one Titan X a server and 40 Gbit/s.

For each row the cut with the shortest bottleneck: in the order of workers (--numa), and by levels (--levels). Data
parallel training takes the longer of computing and exchange where the two overlap, and their sum where they do not:
in a ring of g workers each link carries 2 (g - 1) / g W.

With 2018: Harlap et al., arXiv 1806.03377, table 1, and what its text says of AlexNet and ResNet-50 (throughputs), as
summaries of the paper quote them, which is all that we could read; of two rows they have the bytes as a range. One
worker a server; A: Titan X, which take as many times as long as V100 as their peak is lower (6.1 and 15.7 TFLOP/s),
and 25 Gbit/s; B: V100 and 10 Gbit/s. Replicas pay by that paper's rule, 4 (g - 1) / g W by a parameter server in
parts. What the pipeline saves is of bytes that cross: a boundary's forward and back, and (r - 1) / r of the weights
of each stage on r workers four times in r minibatches, beside (g - 1) / g of all weights four times in each.
"""
import json
import os
import subprocess
import sys
import tempfile

IMAGES = 'data = { name = "synthetic"; image = [%d, %d, 3]; classes = 1000; samples = 1024; };'
GNMT = 'data = { name = "reversal"; letters = 32316; shortest = %d; longest = %d; samples = 1024; };'
TEXT = 'data = { name = "tokens"; path = "tokens.bin"; vocab = 10000; };'
VIDEO = ('data = { name = "captions"; frames = 40; features = 4096; words = 12590; shortest = 39; longest = 39; '
         'samples = 1024; };')

# network: configuration, minibatch of a worker, seconds of one on one worker, or FLOP/s and steps of a sample
NETWORKS = {
    "VGG-16": ('name = "vgg16"; form = "imagenet";', IMAGES % (224, 224), 64, 0.672 * 64 / 128, None),
    "Inception-v3": ('name = "inception_v3";', IMAGES % (299, 299), 32, 0.689 * 32 / 128, None),
    "ResNet-50": ('name = "resnet50"; form = "imagenet";', IMAGES % (224, 224), 128, 0.443, None),
    "AlexNet": ('name = "alexnet"; form = "imagenet";', IMAGES % (224, 224), 256, 0.0853, None),
    "GNMT-16": ('name = "gnmt"; layers = 8;', GNMT % (48, 48), 64, 0.5205, None),
    "GNMT-8": ('name = "gnmt"; layers = 4;', GNMT % (22, 22), 64, 0.0894, None),
    "AWD-LM": ('name = "awd_lm"; layers = 6; embed = 400; width = 1370; context = 70;', TEXT, 80, None, (7.8e12, 70)),
    "S2VT": ('name = "s2vt";', VIDEO, 80, None, (4e12, 80)),
}
# name: workers of a server, bytes a second inside a server and between servers
CLUSTERS = {"A": (4, 12e9, 1.25e9), "B": (8, 25e9, 3.125e9), "C": (1, 0, 5e9)}
# network, cluster, servers, published configuration and speed-up of an epoch
ROWS = [
    ("VGG-16", "A", 4, "15-1", 5.28),
    ("VGG-16", "B", 2, "15-1", 2.98),
    ("ResNet-50", "A", 4, "16", 1.0),
    ("ResNet-50", "B", 2, "16", 1.0),
    ("AlexNet", "A", 4, "15-1", 4.92),
    ("AlexNet", "B", 2, "15-1", 2.04),
    ("GNMT-16", "A", 1, "straight", 1.46),
    ("GNMT-16", "A", 4, "straight", 2.34),
    ("GNMT-16", "B", 2, "straight", 3.14),
    ("GNMT-8", "A", 1, "straight", 1.5),
    ("GNMT-8", "A", 3, "straight", 2.95),
    ("GNMT-8", "B", 2, "16", 1.0),
    ("AWD-LM", "A", 1, "straight", 4.25),
    ("S2VT", "C", 4, "2-1-1", 3.01),
]
# network, minibatch, cluster, workers, published configuration, speed-up and saved bytes in percent
ROWS_2018 = [
    ("VGG-16", 32, "A", 4, "2-1-1", 2.13, "90 to 95"),
    ("VGG-16", 32, "A", 8, "7-1", 2.99, "95"),
    ("VGG-16", 32, "A", 16, "9-5-1-1", 3.00, "90 to 95"),
    ("VGG-16", 32, "B", 8, "7-1", 5.12, "95"),
    ("Inception-v3", 32, "A", 8, "8", 1.00, "0"),
    ("Inception-v3", 32, "B", 8, "7-1", 1.45, "47"),
    ("ResNet-50", 128, "B", 8, "-", 1.21, "-"),
    ("AlexNet", 256, "B", 8, "-", 6.78, "-"),
    ("S2VT", 80, "A", 4, "2-1-1", 3.01, "95"),
]
SLOWER, LINK_2018 = {"A": 15.7 / 6.1, "B": 1}, {"A": 3.125e9, "B": 1.25e9}  # than V100; bytes a second
MOST_ROWS = 60  # of a table: neighbours of little time are added up


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def merge(rows):
    """The rows, of which the two neighbours that take least together become one until there are few."""
    while len(rows) > MOST_ROWS:
        at = min(range(len(rows) - 1), key=lambda i: rows[i][1] + rows[i][2] + rows[i + 1][1] + rows[i + 1][2])
        a, b = rows[at], rows[at + 1]
        rows[at : at + 2] = [(a[0], a[1] + b[1], a[2] + b[2], b[3], a[4] + b[4])]
    return rows


def layers(millrace, network, batch=None, slower=1):
    """Write NETWORK.csv; returns the seconds of a minibatch, the bytes of all weights, and the rows."""
    model, data, size, seconds, rate = NETWORKS[network]
    batch = batch or size
    seconds = seconds and seconds * slower * batch / size
    with open("one.cfg", "w") as f:
        f.write(f"model = {{ {model} }};\n{data}\n")
        f.write('optimizer = { name = "sgd"; lr = 0.01; };\nsystem = { name = "sequential"; };\n')
        f.write(f"train = {{ steps = 1; batch = {batch}; microbatches = 1; }};\n")
    # One core, so that times are those of operations and not of threads; the machine has room for the plan.
    text = run(millrace, "plan", "one.cfg", "--format", "layers", "--topology", "numa:1(memory=999GB) core:1")
    rows = []
    for line in [x for x in text.splitlines() if x[0] != "#"][1:]:
        name, *numbers = line.split(",")
        rows.append((name, *map(float, numbers)))
    total = sum(r[1] + r[2] for r in rows)
    if seconds is None:
        multiplied = sum(r[4] for r in rows if "embed" not in r[0]) / 4
        seconds = 6 * multiplied * batch * rate[1] / rate[0]
    by = seconds / total
    rows = merge([(n, f * by, b * by, a, w) for n, f, b, a, w in rows])
    with open(f"{network}.csv", "w") as f:
        f.write("name,forward,backward,activation,weights\n")
        f.writelines("%s,%.9g,%.9g,%.9g,%.9g\n" % r for r in rows)
    return seconds, sum(r[4] for r in rows), rows


def config(stages):
    """ "15-1"; all stages of one worker are "straight"; one stage is the number of its workers."""
    workers = [s for s in stages if s]
    return "straight" if len(workers) > 1 and set(workers) == {1} else "-".join(map(str, workers))


def leaves(stages):
    """Workers of the innermost stages of a cut by levels, one part of each counted as often as there are."""
    out, times = [], {}
    for s in stages:
        times[s["level"]] = s["parts"]
        if s["level"] == 1:
            above = 1
            for level, parts in times.items():
                above *= parts if level > 1 else 1
            out.append(above * s["parts"])
    return out


def crossing(stages, rows):
    """Bytes that cross for a minibatch of a cut, in the unit of (g - 1) / g W for data parallel training."""
    names = [r[0] for r in rows]
    first = [names.index(s["first"]) for s in stages] + [len(rows)]
    n = sum(rows[i - 1][3] for i in first[1:-1])
    for s, a, b in zip(stages, first, first[1:]):
        n += (s["replicas"] - 1) / s["replicas"] * sum(r[4] for r in rows[a:b])
    return n


def table_2018(millrace):
    print("| network, minibatch | workers | published | ours | data parallel, ms: computes, exchanges | "
          "speed-up: overlapped, not | published | bytes saved | published |")
    print("|---|---|---|---|---|---|---|---|---|")
    for network, batch, cluster, n, published, speed, saved in ROWS_2018:
        seconds, weights, rows = layers(millrace, network, batch, SLOWER[cluster])
        best = json.loads(run(millrace, "partition", f"{network}.csv", "--workers", str(n), "--sync", "2018",
                              "--bandwidth", f"{LINK_2018[cluster]:g}", "--format", "json"))["best"]
        sync = 4 * (n - 1) / n * weights / LINK_2018[cluster]
        less = 1 - crossing(best["stages"], rows) / ((n - 1) / n * weights)
        print(f"| {network}, {batch} | {n} ({cluster}) | {published} "
              f"| {config([s['replicas'] for s in best['stages']])}: {1e3 * best['bottleneck']:.3g} ms "
              f"| {1e3 * seconds:.0f}, {1e3 * sync:.0f} | {max(seconds, sync) / n / best['bottleneck']:.2f}, "
              f"{(seconds + sync) / n / best['bottleneck']:.2f} | {speed:.2f} | {100 * less:.0f} % "
              f"| {saved if saved == '-' else saved + ' %'} |", flush=True)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["2018"]):
        sys.exit(__doc__.strip())
    millrace = os.path.realpath(sys.argv[1])
    if sys.argv[2:]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            table_2018(millrace)
        return
    known = {}
    print("| network | cluster | published | in order | by levels | data parallel, ms: computes, exchanges | "
          "speed-up: overlapped, not | published |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("tokens.bin", "wb") as f:
            f.write(bytes(400000))
        for network, cluster, servers, published, speed in ROWS:
            if network not in known:
                known[network] = layers(millrace, network)
            seconds, weights, _ = known[network]
            each, inside, between = CLUSTERS[cluster]
            n = each * servers
            words = [millrace, "partition", f"{network}.csv", "--workers", str(n), "--sync", "2019", "--format", "json"]
            levels = [f"{each}@{inside:g}"] if each > 1 else []
            levels += [f"{servers}@{between:g}"] if servers > 1 else []
            flat = json.loads(run(*words, "--numa", f"{each},{inside or between:g},{between:g}"))["best"]
            nested = json.loads(run(*words, "--levels", ",".join(levels)))
            best = min(flat["bottleneck"], nested["bottleneck"])
            link = between if servers > 1 else inside
            sync = 2 * (n - 1) / n * weights / link
            print(f"| {network} | {servers} x {each} ({cluster}) | {published} "
                  f"| {config([s['replicas'] for s in flat['stages']])}: {1e3 * flat['bottleneck']:.3g} ms "
                  f"| {config(leaves(nested['stages']))}: {1e3 * nested['bottleneck']:.3g} ms "
                  f"| {1e3 * seconds:.0f}, {1e3 * sync:.0f} "
                  f"| {max(seconds, sync) / n / best:.2f}, {(seconds + sync) / n / best:.2f} | {speed} |", flush=True)


main()
