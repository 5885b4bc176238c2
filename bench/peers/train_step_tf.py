#!/usr/bin/env python3
"""Time of one training step in TensorFlow 2: forward, loss, backward, SGD with momentum, on synthetic data."""
import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402
from measure import repeated, report, spread  # noqa: E402
from models_tf import MODELS, synthetic_batch  # noqa: E402


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--model", choices=sorted(MODELS), default="headline")
    p.add_argument("--batch", type=int, help="default: the model's own")
    p.add_argument("--threads", type=int, default=1, help="intra-op threads")
    p.add_argument("--inter-op", type=int, default=1, help="inter-op threads")
    p.add_argument("--xla", action="store_true", help="compile the step with XLA")
    p.add_argument("--repeats", type=int, default=5)
    p.add_argument("--steps", type=int, default=20, help="steps in each repeat")
    p.add_argument("--warmup", type=int, default=5)
    p.add_argument("--json", action="store_true")
    a = p.parse_args()

    tf.config.threading.set_intra_op_parallelism_threads(a.threads)
    tf.config.threading.set_inter_op_parallelism_threads(a.inter_op)
    tf.random.set_seed(1)
    model = MODELS[a.model]()
    batch = a.batch or model.batch
    x, y = synthetic_batch(model, batch)
    model(x)  # makes the variables
    momenta = [tf.Variable(tf.zeros_like(v)) for v in model.variables]

    @tf.function(jit_compile=a.xla)
    def train(x, y):  # arguments: a captured batch would be a constant to fold
        with tf.GradientTape() as tape:
            loss = model.loss(model(x), y)
        for v, m, g in zip(model.variables, momenta, tape.gradient(loss, model.variables)):
            tf.raw_ops.ResourceApplyMomentum(var=v.handle, accum=m.handle, lr=0.01, grad=g, momentum=0.8)
        return loss

    def step():
        return train(x, y).numpy()

    first = float(step())
    times = repeated(step, a.steps, a.repeats, a.warmup)
    last = float(step())
    report({"program": "train_step_tf", "model": a.model, "batch": batch, "threads": a.threads,
            "inter_op": a.inter_op, "xla": a.xla, **spread("ms_per_step", times),
            "loss_first": first, "loss_last": last, "version": tf.__version__}, a.json)


if __name__ == "__main__":
    main()
