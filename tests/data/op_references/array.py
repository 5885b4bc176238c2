"""Ops that move values: transpose, join, cut, repeat, pick, convert."""
import numpy as np
import tensorflow as tf

from .record import Family, normal, random, uniform

ONE = (np.float32,)
BOTH = (np.float32, np.float64)


def transposes(family):
    for shape, order, dtypes in (((3, 5), [1, 0], BOTH), ((2, 3, 4), [2, 0, 1], ONE),
                                 ((2, 3, 2, 5), [0, 3, 1, 2], ONE), ((7,), [0], ONE)):
        case = "x".join(map(str, shape)) + "_to_" + "".join(map(str, order))
        family.add("transpose", case, lambda x: tf.transpose(x, order), [normal(random(case), *shape)],
                   dtypes=dtypes, axes=order)


def joins(family):
    for shapes, axis, dtypes in ((((2, 3), (4, 3)), 0, BOTH), (((2, 3), (2, 1), (2, 2)), -1, ONE),
                                 (((2, 1, 3), (2, 4, 3)), 1, ONE), (((5,),), 0, ONE)):
        case = "_".join("x".join(map(str, s)) for s in shapes) + f"_axis_{axis}"
        rng = random("concat" + case)
        family.add("concat", case, lambda *x: tf.concat(x, axis), [normal(rng, *s) for s in shapes],
                   dtypes=dtypes, axis=axis)
    for count, axis in ((2, 0), (3, 1), (2, -1)):
        case = f"{count}_axis_{axis}"
        rng = random("stack" + case)
        family.add("stack", case, lambda *x: tf.stack(x, axis), [normal(rng, 3, 4) for _ in range(count)],
                   dtypes=ONE, axis=axis)
    family.add("concat", "int64_axis_0", lambda *x: tf.concat(x, 0),
               [np.array([1, 2]), np.array([3])], dtypes=(None,), axis=0)


def cuts(family):
    for shape, axis, sizes, dtypes in (((6, 3), 0, [2, 2, 2], BOTH), ((2, 6), -1, [1, 3, 2], ONE),
                                       ((2, 4, 3), 1, [3, 1], ONE)):
        case = "x".join(map(str, shape)) + f"_axis_{axis}_into_" + "_".join(map(str, sizes))
        family.add("split", case, lambda x: tf.split(x, sizes, axis), [normal(random(case), *shape)],
                   dtypes=dtypes, axis=axis, sizes=sizes)
    for axis in (0, 1, -1):
        family.add("unstack", f"2x3x4_axis_{axis}", lambda x: tf.unstack(x, axis=axis),
                   [normal(random("unstack"), 2, 3, 4)], dtypes=ONE, axis=axis)
    for begin, size, dtypes in (([1, 0], [2, 3], BOTH), ([0, 2], [-1, 2], ONE), ([3, 4], [0, 1], ONE)):
        case = "4x5_from_" + "_".join(map(str, begin)) + "_size_" + "_".join(map(str, size))
        family.add("slice", case, lambda x: tf.slice(x, begin, size), [normal(random(case), 4, 5)],
                   dtypes=dtypes, begin=begin, size=size)
    for begin, end, strides, dtypes in (([1, 0], [4, 5], [2, 1], BOTH), ([0, 1], [5, 6], [1, 2], ONE),
                                        ([4, 0], [0, 6], [-1, 1], ONE), ([-3, -1], [-1, -6], [1, -2], ONE)):
        case = "5x6_" + "_".join(f"{b}:{e}:{s}" for b, e, s in zip(begin, end, strides))
        family.add("strided_slice", case, lambda x: tf.strided_slice(x, begin, end, strides),
                   [normal(random(case), 5, 6)], dtypes=dtypes, begin=begin, end=end, strides=strides)


def growth(family):
    for shape, paddings, value, dtypes in (((2, 3), [1, 0, 2, 1], 0.0, BOTH),
                                           ((5,), [2, 3], -1.5, ONE), ((2, 1, 2), [0, 0, 1, 1, 0, 2], 0.25, ONE)):
        case = "x".join(map(str, shape)) + "_by_" + "_".join(map(str, paddings))
        pairs = np.array(paddings).reshape(-1, 2)
        family.add("pad", case, lambda x: tf.pad(x, pairs, constant_values=tf.constant(value, x.dtype)),
                   [normal(random(case), *shape)], dtypes=dtypes, paddings=paddings, value=value)
    for shape, multiples, dtypes in (((2, 3), [2, 1], BOTH), ((3,), [4], ONE), ((1, 2, 3), [3, 2, 2], ONE)):
        case = "x".join(map(str, shape)) + "_by_" + "x".join(map(str, multiples))
        family.add("tile", case, lambda x: tf.tile(x, multiples), [normal(random(case), *shape)],
                   dtypes=dtypes, multiples=multiples)


def picks(family):
    for shape, indices, axis, dtypes in (((5, 3), [0, 4, 4, 2], 0, BOTH),
                                         ((5, 3), [[2, 0], [1, 2]], 1, ONE), ((2, 3, 4), [2, 0], 1, ONE),
                                         ((2, 3, 4), [3, 3, 1], -1, ONE), ((7,), 3, 0, ONE)):
        case = "x".join(map(str, shape)) + f"_axis_{axis}_{'x'.join(map(str, np.shape(indices))) or 'scalar'}"
        for index_type in (np.int32, np.int64) if shape == (5, 3) else (np.int32,):
            family.add("gather", f"{case}_{np.dtype(index_type).name}",
                       lambda x, i: tf.convert_to_tensor(tf.gather(x, i, axis=axis)),
                       [normal(random(case), *shape), np.array(indices, index_type)], dtypes=dtypes, axis=axis)
    for indices, depth, axis, on, off in (([0, 2, 1], 3, -1, 1.0, 0.0), ([3, -1, 0, 7], 4, -1, 1.0, 0.0),
                                          ([[1, 0], [2, 2]], 3, 0, 5.0, -1.0), ([[1, 0], [2, 2]], 3, 1, 1.0, 0.0)):
        for dtype in (np.float32, np.float64, np.int32):
            case = f"{np.dtype(dtype).name}_{'x'.join(map(str, np.shape(indices)))}_depth_{depth}_axis_{axis}"
            values = [np.array(v, dtype) for v in (on, off)]
            family.add("one_hot", case, lambda i: tf.one_hot(i, depth, *values, axis=axis),
                       [np.array(indices, np.int32)], dtypes=(None,), gradient=False,
                       depth=depth, axis=axis, on_value=on, off_value=off, dtype=np.dtype(dtype).name)
    rng = random("select")
    family.add("select", "3x4", tf.where, [rng.random((3, 4)) < 0.5, normal(rng, 3, 4), normal(rng, 3, 4)])


def conversions(family):
    numbers = np.array([-2.7, -1.0, -0.4, 0.0, 0.4, 1.0, 2.7, 100.0])
    for source in (np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_):
        x = numbers.astype(source) if source is not np.uint8 else np.array([0, 1, 3, 200, 255], np.uint8)
        for target in (np.float32, np.float64, np.int32, np.int64, np.bool_):
            if source is target:
                continue
            names = [np.dtype(d).name for d in (source, target)]
            y = np.asarray(tf.cast(x, tf.as_dtype(target)))
            family.record("cast", "_to_".join(names), {"dtype": names[1]}, {"in0": x, "out0": y})
    x, dy = np.array([0.5, -1.5]), np.array([0.1, 0.7], np.float32)  # the gradient is cast back
    family.record("cast", "float64_to_float32_with_gradient", {"dtype": "float32"},
                  {"in0": x, "out0": x.astype(np.float32), "dout0": dy, "din0": dy.astype(np.float64)})


def limits(family):
    x = np.array([[-3.0, -1.0, -0.5, 0.0], [0.3, 1.0, 1.5, 7.0]])
    family.add("clip_by_value", "2x4", lambda x: tf.clip_by_value(x, -1.0, 1.5), [x], min=-1.0, max=1.5)
    rng = random("clip_by_global_norm")
    lists = {"above": ([normal(rng, 3, 4), normal(rng, 5), normal(rng)], 1.5),
             "below": ([normal(rng, 3), normal(rng, 2, 2)], 100.0)}
    for case, (tensors, limit) in lists.items():
        for dtype in (np.float32, np.float64):
            inputs = [x.astype(dtype) for x in tensors]
            clipped, norm = tf.clip_by_global_norm([x.astype(np.float64) for x in inputs], limit)
            family.record("clip_by_global_norm", f"{np.dtype(dtype).name}_{case}", {"clip_norm": limit},
                          {f"in{i}": x for i, x in enumerate(inputs)}
                          | {f"out{i}": np.asarray(y).astype(dtype) for i, y in enumerate(clipped)}
                          | {"global_norm": np.asarray(norm).astype(dtype)})
    scores = uniform(random("in_top_k"), 0, 1, 5, 7).astype(np.float32)
    for k in (1, 2, 4):
        for index_type in (np.int32, np.int64):
            targets = np.array([0, 3, 6, 2, 5], index_type)
            family.record("in_top_k", f"{np.dtype(index_type).name}_5x7_k_{k}", {"k": k},
                          {"in0": scores, "in1": targets, "out0": np.asarray(tf.math.in_top_k(targets, scores, k))})
    ties = np.array([[0.5, 0.5, 0.5, 0.1], [0.5, 0.5, 0.9, 0.5]], np.float32)
    for k in (1, 2):
        targets = np.array([2, 3], np.int32)
        family.record("in_top_k", f"ties_k_{k}", {"k": k},
                      {"in0": ties, "in1": targets, "out0": np.asarray(tf.math.in_top_k(targets, ties, k))})


def array():
    family = Family("array")
    for part in (transposes, joins, cuts, growth, picks, conversions, limits):
        part(family)
    return family
