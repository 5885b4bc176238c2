"""Reductions over chosen axes. A case without axes= reduces over all of them."""
import numpy as np
import tensorflow as tf

from .record import Family, distinct, normal, random, uniform

NUMERIC = {
    "sum": tf.reduce_sum,
    "mean": tf.reduce_mean,
    "max": tf.reduce_max,
    "min": tf.reduce_min,
    "prod": tf.reduce_prod,
}
LOGICAL = {"any": tf.reduce_any, "all": tf.reduce_all}
CHOICES = {"argmax": tf.argmax, "argmin": tf.argmin}

AXES = [
    ((3, 5), None, False, (np.float32, np.float64)),
    ((3, 5), [0], False, (np.float32,)),
    ((3, 5), [-1], True, (np.float32, np.float64)),
    ((2, 3, 4), [1], False, (np.float32,)),
    ((2, 3, 4), [0, 2], True, (np.float32,)),
    ((2, 3, 4), [-1, 0], False, (np.float64,)),
    ((2, 3, 2, 5), [1, 2], False, (np.float32,)),
    ((1, 67), [1], False, (np.float32,)),
    ((), None, False, (np.float32,)),
]


def named(op, keep_dims, axes):
    return lambda x: op(x, axis=axes, keepdims=keep_dims)


def attributes(axes, keep_dims):
    return ({} if axes is None else {"axes": axes}) | {"keep_dims": keep_dims}


def case_name(shape, axes, keep_dims):
    axes_text = "all" if axes is None else "_".join(map(str, axes))
    return f"{'x'.join(map(str, shape)) or 'scalar'}_axes_{axes_text}{'_kept' if keep_dims else ''}"


def reductions():
    family = Family("reductions")
    for op, compute in NUMERIC.items():
        for shape, axes, keep_dims, dtypes in AXES:
            case = case_name(shape, axes, keep_dims)
            rng = random(op + case)
            x = distinct(rng, *shape) if op in ("max", "min") else normal(rng, *shape)
            if op == "prod":
                x = uniform(rng, 0.5, 1.6, *shape)
            family.add(op, case, named(compute, keep_dims, axes), [x], dtypes=dtypes, **attributes(axes, keep_dims))
        if op != "mean":
            family.add(op, "int32_2x3_axes_1", named(compute, False, [1]),
                       [np.array([[3, -4, 5], [7, 1, 7]], np.int32)], dtypes=(None,), **attributes([1], False))
    for op in ("sum", "prod"):
        family.add(op, "of_nothing", named(NUMERIC[op], False, [0]), [np.zeros((0, 3))], **attributes([0], False))
    for case, x in (("one_zero", [2.0, 0.0, 3.0]), ("two_zeros", [2.0, 0.0, 0.0])):
        family.add("prod", case, named(tf.reduce_prod, False, [0]), [np.array(x)], **attributes([0], False))
    for op in ("max", "min"):  # the gradient is shared between equal winners
        family.add(op, "ties", named(NUMERIC[op], False, [1]),
                   [np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])], **attributes([1], False))
    for op, compute in LOGICAL.items():
        x = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0]], bool)
        for axes, keep_dims in ((None, False), ([0], False), ([-1], True)):
            family.add(op, "bool_" + case_name(x.shape, axes, keep_dims), named(compute, keep_dims, axes), [x],
                       dtypes=(None,), **attributes(axes, keep_dims))
    for op, compute in CHOICES.items():
        for shape, axis in (((3, 5), 0), ((3, 5), -1), ((2, 3, 4), 1), ((67,), 0)):
            x = distinct(random(f"{op}{shape}{axis}"), *shape)
            family.add(op, case_name(shape, [axis], False), lambda x: compute(x, axis=axis), [x], axis=axis)
        family.add(op, "ties", lambda x: compute(x, axis=1),
                   [np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [-1.0, -5.0, -5.0]])], axis=1)
        family.add(op, "int32", lambda x: compute(x, axis=1), [np.array([[3, -4, 5], [7, 1, 7]], np.int32)],
                   dtypes=(None,), axis=1)
    for exclusive, reverse in ((False, False), (True, False), (False, True), (True, True)):
        case = "2x5" + ("_exclusive" if exclusive else "") + ("_reverse" if reverse else "")
        family.add("cumsum", case, lambda x: tf.cumsum(x, 1, exclusive, reverse), [normal(random(case), 2, 5)],
                   axis=1, exclusive=exclusive, reverse=reverse)
    return family
