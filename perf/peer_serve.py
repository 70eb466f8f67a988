"""How a program in Python takes turns with ours: what perf/steps/peer.h expects of it.

It imports its libraries once. Each line "case NAME PRECISIONS" on standard input forks a process that has that case
until the line "end", and says "process ID" first. That one says "trying PRECISION NAME" before each first step and
"built" when it has made one of each setting. At the line "choose" it times these in turns, alone on the machine, says
"setting PRECISION NAME: what each took", and "ready NAME VERSION". Then, for each line "go N PRECISION [WARM]", it runs
WARM steps (1) and then N, and answers "ms X", the time of one of the N. Both end with their input.

A setting is a function that makes a step, which is a function, too; the fastest setting of each precision is timed.
"""
import ctypes
import gc
import os
import signal
import sys
import time

TRY_S = 0.5  # a setting is tried for that long, or one step
FAR_OFF = 1.5  # times the fastest: no longer tried
COMPILE_S = 400  # at most


def keep_answers():
    """What a compiler prints is no answer: from here on, print answers."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = answers


def threads():
    return int(sys.argv[1]) if len(sys.argv) > 1 else 2


def too_long(_signal, _frame):
    raise TimeoutError(f"not ready after {COMPILE_S} s")


def first(step):
    """The step that compiles, packs and allocates."""
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(COMPILE_S)
    try:
        step()
    finally:
        signal.alarm(0)


def reason(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:80]}" if lines else type(error).__name__


def build(settings, precision):
    """A step of each of these settings, after its first one; and what the others lack."""
    steps, lacks = {}, {}
    for name, make in settings.items():
        try:
            print(f"trying {precision} {name}", flush=True)
            step = make()
            first(step)
            steps[name] = step
        except Exception as error:  # whatever a version, a compiler or a CPU lacks
            lacks[name] = f"{name} cannot run here ({reason(error)})"
        gc.collect()
    if not steps:
        raise RuntimeError("; ".join(lacks.values()))
    return steps, lacks


def compare(steps):
    """Seconds of the fastest step of each, in turns."""
    took, left, turns = dict.fromkeys(steps, float("inf")), steps, 0
    begin = time.perf_counter()
    while time.perf_counter() - begin < TRY_S * len(left):
        for name, step in left.items():
            at = time.perf_counter()
            step()
            took[name] = min(took[name], time.perf_counter() - at)
        turns += 1
        if turns >= 5:
            left = {name: step for name, step in left.items() if took[name] <= FAR_OFF * min(took.values())}
    return took


def choose(steps, lacks, precision):
    """The fastest of these; says what each took."""
    if len(steps) + len(lacks) == 1:
        return next(iter(steps.values()))
    print(f"trying {precision} in turns", flush=True)
    took = compare(steps)
    best = min(took, key=took.get)
    told = [f"{name} {seconds * 1000:.3g} ms" for name, seconds in took.items()] + list(lacks.values())
    print(f"setting {precision} {best}: {'; '.join(told)}", flush=True)
    return steps[best]


def give_back():
    """What the settings that were not chosen have left behind, to the kernel: others need memory, too."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):  # not glibc
        pass


def serve_case(program, commands, settings):
    """`settings`: of each precision, its settings by name."""
    built = {p: build(s, p) for p, s in settings.items()}
    print("built", flush=True)
    steps = {}
    while words := commands.readline().decode().split():
        if words == ["end"]:
            break
        if words == ["choose"]:
            steps = {p: choose(*b, p) for p, b in built.items()}
            built = None
            give_back()
            for precision, step in steps.items():  # has its memory again before it is timed
                print(f"trying {precision} again", flush=True)
                step()
            print(f"ready {program}", flush=True)
            continue
        _, count, precision, *warm = words
        step, warm = steps[precision], int(warm[0]) if warm else 1
        for i in range(warm + int(count)):  # the first finds caches that others used meanwhile
            if i == warm:
                begin = time.perf_counter()
            step()
        print(f"ms {(time.perf_counter() - begin) * 1000 / int(count):.6f}", flush=True)


def serve(program, settings_of):
    """`settings_of`: a function of a case and its precisions, for serve_case. No thread may run before."""
    commands = open(0, "rb", buffering=0, closefd=False)  # what it does not read yet is for the other process
    while line := commands.readline():
        _, case, precisions = line.decode().split()
        pid = os.fork()
        if pid == 0:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
            print(f"process {os.getpid()}", flush=True)
            serve_case(program, commands, settings_of(case, precisions.split(",")))
            os._exit(0)
        if os.waitpid(pid, 0)[1]:
            sys.exit(1)
