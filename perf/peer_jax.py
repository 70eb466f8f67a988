"""The perceptrons of perf/steps/cases.c in JAX, as a yardstick that takes turns with ours: python3 peer_jax.py
[THREADS]

A step is one compiled function, which owns weights and momentum (donated). bf16: the products and what lies between
them, of f32 weights that are rounded in the step. The dialogue is that of peer_serve.py. By hand:
printf 'case mlp1024-b32 f32\\nchoose\\ngo 20 f32\\n' | python3 perf/peer_jax.py
"""
import os
import sys

sys.dont_write_bytecode = True
import peer_serve

SHAPES = {
    "tiny": ([8] + [16] * 4 + [10], 8),
    "mlp1024-b32": ([784] + [1024] * 6 + [10], 32),
    "mlp1024-b128": ([784] + [1024] * 6 + [10], 128),
    "mlp128-b8": ([128] + [128] * 16 + [10], 8),
    "mlp128-b16": ([128] + [128] * 16 + [10], 16),
    "mlp128-b32": ([128] + [128] * 16 + [10], 32),
    "mlp256-b16": ([256] + [256] * 16 + [10], 16),
}


def stepper(jax, shape, batch, dtype):
    jnp = jax.numpy
    keys = jax.random.split(jax.random.PRNGKey(1), len(shape))
    weights = [(jax.random.normal(k, (a, b)) / a ** 0.5, jnp.zeros(b)) for k, a, b in zip(keys, shape, shape[1:])]
    momentum = jax.tree.map(jnp.zeros_like, weights)
    x = jax.random.normal(keys[-1], (batch, shape[0]))
    targets = jax.random.randint(keys[-1], (batch,), 0, shape[-1])

    def loss(weights):
        h = x.astype(dtype)
        for i, (w, b) in enumerate(weights):
            h = h @ w.astype(dtype) + b.astype(dtype)
            h = jax.nn.relu(h) if i + 1 < len(weights) else h.astype(jnp.float32)
        return -jnp.take_along_axis(jax.nn.log_softmax(h), targets[:, None], 1).mean()

    def update(state):
        weights, momentum = state
        value, grad = jax.value_and_grad(loss)(weights)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grad)
        return value, (jax.tree.map(lambda w, m: w - 1e-4 * m, weights, momentum), momentum)

    jitted, kept = jax.jit(update, donate_argnums=0), [(weights, momentum)]

    def step():
        value, kept[0] = jitted(kept[0])
        jax.block_until_ready((value, kept[0]))
    return step


def main():
    peer_serve.keep_answers()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:peer_serve.threads()])  # its pool has a thread for each
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    dtypes = {"f32": jax.numpy.float32, "bf16": jax.numpy.bfloat16}
    peer_serve.serve(f"JAX {jax.__version__}",
                     lambda case, precisions: {p: {"jit": lambda p=p: stepper(jax, *SHAPES[case], dtypes[p])}
                                               for p in precisions})


main()
