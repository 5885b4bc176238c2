"""Optimizer trajectories, learning-rate schedules and moving averages, as tf.compat.v1.train computes them.

TensorFlow rounds many settings to float32 on the way; those chosen here lose nothing by it, so that the float64
cases are good to float64, but for the counted moving averages, whose decay TensorFlow computes in float32.
"""
import numpy as np
import tensorflow as tf

from .record import FLOATS, Family, dtype_text, normal, random

v1 = tf.compat.v1
STEPS = 5
RATES = [0.1, 0.1, 0.05, 0.2, 0.2]  # a change of rate tells apart the two ways to write momentum

OPTIMIZERS = {
    "sgd": [("plain", v1.train.GradientDescentOptimizer, {})],
    "momentum": [
        ("plain", v1.train.MomentumOptimizer, {"momentum": 0.75}),
        ("nesterov", v1.train.MomentumOptimizer, {"momentum": 0.875, "use_nesterov": True}),
    ],
    "adagrad": [("plain", v1.train.AdagradOptimizer, {"initial_accumulator_value": 0.125})],
    "adam": [
        ("plain", v1.train.AdamOptimizer, {"beta1": 0.875, "beta2": 0.9375, "epsilon": 2**-26}),
        ("large_epsilon", v1.train.AdamOptimizer, {"beta1": 0.5, "beta2": 0.875, "epsilon": 0.125}),
    ],
    "rmsprop": [
        ("plain", v1.train.RMSPropOptimizer, {"decay": 0.875, "momentum": 0.0, "epsilon": 2**-33}),
        ("momentum", v1.train.RMSPropOptimizer, {"decay": 0.75, "momentum": 0.625, "epsilon": 2**-10}),
    ],
}


def trajectory(optimizer, settings, start, gradients, indices=None):
    """The values after each step, in float64. With indices, gradient k has the rows indices[k]."""
    with tf.Graph().as_default(), v1.Session() as session:
        rate = v1.placeholder(tf.float64, [])
        gradient = v1.placeholder(tf.float64)
        rows = v1.placeholder(tf.int64)
        variable = v1.get_variable("value", initializer=start.astype(np.float64), use_resource=True)
        if indices is None:
            gradient.set_shape(start.shape)
        passed = gradient if indices is None else tf.IndexedSlices(gradient, rows, tf.constant(start.shape))
        update = optimizer(rate, **settings).apply_gradients([(passed, variable)])
        session.run(v1.global_variables_initializer())
        values = []
        for k, g in enumerate(gradients):
            feeds = {rate: RATES[k], gradient: g.astype(np.float64)}
            if indices is not None:
                feeds[rows] = indices[k]
            session.run(update, feeds)
            values.append(session.run(variable))
        return values


def optimizers():
    """value0 is the start, gradient1 ... the gradient of each step, value1 ... the values after it.

    A sparse gradient holds the rows indices1, ...; rows that come twice count twice.
    """
    family = Family("optimizers")
    for op, variants in OPTIMIZERS.items():
        for name, optimizer, settings in variants:
            for sparse in (False, True):
                case = name + ("_sparse" if sparse else "")
                rng = random(op + case)
                start = normal(rng, 5, 3)
                indices = [np.array(i) for i in ([0, 3], [3], [4, 1, 0], [2, 2], [0, 4, 0])] if sparse else None
                gradients = [normal(rng, *((len(indices[k]) if sparse else 5), 3)) for k in range(STEPS)]
                for dtype in FLOATS:
                    s, gs = start.astype(dtype), [g.astype(dtype) for g in gradients]
                    values = trajectory(optimizer, settings, s, gs, indices)
                    tensors = {"value0": s}
                    for k in range(STEPS):
                        if sparse:
                            tensors[f"indices{k + 1}"] = indices[k]
                        tensors |= {f"gradient{k + 1}": gs[k], f"value{k + 1}": values[k].astype(dtype)}
                    family.record(op, f"{dtype_text(dtype)}_{case}", {"learning_rates": RATES} | settings, tensors)
    return family


def schedules():
    """in0 holds steps, out0 the rate at each of them: float64, but for the cosine, which TensorFlow has in float32."""
    family = Family("schedules")
    steps = np.array([0, 1, 5, 9, 10, 11, 19, 20, 21, 25, 30, 35, 100, 1000])

    def add(op, case, compute, **attributes):
        rates = [compute(tf.constant(int(s), tf.int64))().numpy() for s in steps]
        family.record(op, case, attributes, {"in0": steps, "out0": np.array(rates)})

    rate = tf.constant(0.1, tf.float64)
    for staircase in (False, True):
        case = "staircase" if staircase else "smooth"
        common = {"learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.75, "staircase": staircase}
        add("exponential_decay", case, lambda s: v1.train.exponential_decay(rate, s, 10, 0.75, staircase), **common)
        add("natural_exp_decay", case, lambda s: v1.train.natural_exp_decay(rate, s, 10, 0.75, staircase), **common)
        add("inverse_time_decay", case, lambda s: v1.train.inverse_time_decay(rate, s, 10, 0.75, staircase), **common)
    add("piecewise_constant", "three",
        lambda s: v1.train.piecewise_constant(s, [tf.constant(b, tf.int64) for b in (10, 20)],
                                              [tf.constant(v, tf.float64) for v in (1.0, 0.5, 0.125)]),
        boundaries=[10, 20], values=[1.0, 0.5, 0.125])
    for power in (1.0, 0.5, 2.0):
        for cycle in (False, True):
            add("polynomial_decay", f"power_{power}{'_cycle' * cycle}",
                lambda s: v1.train.polynomial_decay(rate, s, 10, 2**-7, power, cycle),
                learning_rate=0.1, decay_steps=10, end_learning_rate=2**-7, power=power, cycle=cycle)
    for alpha in (0.0, 0.25):
        add("cosine_decay", f"alpha_{alpha}", lambda s: v1.train.cosine_decay(0.1, s, 20, alpha),
            learning_rate=0.1, decay_steps=20, alpha=alpha)
    return family


def moving_averages():
    """value0 starts the average; value1 ... are the weights after each step, average1 ... the average then."""
    family = Family("moving_averages")
    cases = {"plain": (0.875, False), "counted": (1 - 2**-12, True), "counted_reaches_decay": (0.25, True)}
    for case, (decay, counted) in cases.items():
        rng = random("ema" + case)
        values = [normal(rng, 2, 3) for _ in range(STEPS + 1)]
        for dtype in FLOATS:
            typed = [v.astype(dtype) for v in values]
            tensors = {"value0": typed[0]}
            with tf.Graph().as_default(), v1.Session() as session:
                fed = v1.placeholder(tf.float64, [2, 3])
                count = v1.placeholder(tf.int64, [])
                variable = v1.get_variable("value", initializer=typed[0].astype(np.float64), use_resource=True)
                average = v1.train.ExponentialMovingAverage(decay, num_updates=count if counted else None)
                assign = v1.assign(variable, fed)
                with tf.control_dependencies([assign]):
                    update = average.apply([variable])
                session.run(v1.global_variables_initializer())
                for k in range(1, STEPS + 1):
                    session.run(update, {fed: typed[k].astype(np.float64), count: k})
                    tensors[f"value{k}"] = typed[k]
                    tensors[f"average{k}"] = session.run(average.average(variable)).astype(dtype)
            family.record("moving_average", f"{dtype_text(dtype)}_{case}",
                          {"decay": decay, "num_updates": counted}, tensors)
    return family
