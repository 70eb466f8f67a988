"""How a program in Python takes turns with ours: what perf/steps/peer.h expects of it.

It says "trying PRECISION NAME" before each first step, "setting PRECISION NAME: what each took", and "ready NAME
VERSION" when all is built. Then, for each line "go N PRECISION [WARM]" on standard input, it runs WARM steps (1) and
then N, and answers "ms X", the time of one of the N; it ends with its input.

A setting is a function that makes a step, which is a function, too; the fastest setting of each precision is timed.
"""
import ctypes
import gc
import os
import signal
import sys
import time

TRY_S = 0.5  # a setting is tried for that long, or one step
COMPILE_S = 400  # at most


def keep_answers():
    """What a compiler prints is no answer: from here on, print answers."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = answers


def arguments():
    """The case, the number of threads and the precisions."""
    return (sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2,
            sys.argv[3].split(",") if len(sys.argv) > 3 else ["f32"])


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


def compare(steps):
    """Seconds of the fastest step of each, in turns."""
    took = dict.fromkeys(steps, float("inf"))
    begin = time.perf_counter()
    while time.perf_counter() - begin < TRY_S * len(steps):
        for name, step in steps.items():
            at = time.perf_counter()
            step()
            took[name] = min(took[name], time.perf_counter() - at)
    return took


def choose(settings, precision):
    """The step of the fastest of these settings; says what each took."""
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


def serve(program, settings):
    """`settings`: of each precision, its settings by name."""
    steps = {p: choose(s, p) for p, s in settings.items()}
    give_back()
    for precision, step in steps.items():  # has its memory again before it is timed
        print(f"trying {precision} again", flush=True)
        step()
    print(f"ready {program}", flush=True)
    while line := sys.stdin.readline():
        _, count, precision, *warm = line.split()
        step, warm = steps[precision], int(warm[0]) if warm else 1
        for i in range(warm + int(count)):  # the first finds caches that others used meanwhile
            if i == warm:
                begin = time.perf_counter()
            step()
        print(f"ms {(time.perf_counter() - begin) * 1000 / int(count):.6f}", flush=True)
