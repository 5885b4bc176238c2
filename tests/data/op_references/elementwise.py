"""Element-wise ops: arithmetic and comparisons with broadcasting, functions of one value."""
import numpy as np
import tensorflow as tf

from .record import Family, distinct, normal, random, uniform

ARITHMETIC = {
    "add": tf.add,
    "sub": tf.subtract,
    "mul": tf.multiply,
    "div": tf.divide,
    "maximum": tf.maximum,
    "minimum": tf.minimum,
    "pow": tf.pow,
    "squared_difference": tf.math.squared_difference,
    "floor_div": tf.math.floordiv,
    "mod": tf.math.floormod,
}
COMPARISONS = {
    "equal": tf.equal,
    "not_equal": tf.not_equal,
    "less": tf.less,
    "less_equal": tf.less_equal,
    "greater": tf.greater,
    "greater_equal": tf.greater_equal,
}
LOGICAL = {"logical_and": tf.logical_and, "logical_or": tf.logical_or}

# Pairs of shapes: equal ones, a row, a column against a row, a scalar, and rank 3 against rank 2.
BOTH_DTYPES = [((3, 5), (3, 5)), ((4, 1), (1, 3))]
FLOAT32_ONLY = [((2, 3, 5), (5,)), ((), (7,)), ((37,), (37,)), ((2, 1, 3), (4, 1))]


def sides(op, rng, left, right):
    a, b = normal(rng, *left), normal(rng, *right)
    if op in ("maximum", "minimum"):  # no ties: where the gradient goes then is a case of its own
        both = distinct(rng, int(np.prod(left) + np.prod(right)))
        a, b = both[: int(np.prod(left))].reshape(left), both[int(np.prod(left)):].reshape(right)
    if op == "pow":
        a = uniform(rng, 0.2, 3, *left)
    if op in ("div", "floor_div", "mod"):  # away from zero, and no quotient that is nearly an integer
        b = np.where(rng.random(right) < 0.5, -1, 1) * uniform(rng, 0.3, 2, *right)
    return a, b


def binary():
    family = Family("elementwise_binary")
    for op, compute in ARITHMETIC.items():
        for left, right in BOTH_DTYPES + FLOAT32_ONLY:
            case = "_".join("x".join(map(str, s)) or "scalar" for s in (left, right))
            dtypes = (np.float32, np.float64) if (left, right) in BOTH_DTYPES else (np.float32,)
            a, b = sides(op, random(op + case), left, right)
            family.add(op, case, compute, [a, b], dtypes=dtypes)
    for op in ("maximum", "minimum"):
        x = np.array([1.0, 2.0, 3.0, -1.0])
        family.add(op, "ties", ARITHMETIC[op], [x, np.array([1.0, 0.0, 3.0, -1.0])])
    family.add("pow", "integer_exponents", tf.pow,
               [np.array([-2.0, -0.5, 0.0, 3.0]), np.array([3.0, 2.0, 2.0, -1.0])])
    family.add("mod", "signs", tf.math.floormod,
               [np.array([7.0, -7.0, 7.0, -7.0, 0.0]), np.array([3.0, 3.0, -3.0, -3.0, 3.0])])
    family.add("floor_div", "signs", tf.math.floordiv,
               [np.array([7.0, -7.0, 7.0, -7.0, 0.0]), np.array([3.0, 3.0, -3.0, -3.0, 3.0])])
    for op in ARITHMETIC:
        if op in ("div", "pow"):
            continue
        for dtype in (np.int32, np.int64):
            rng = random(op + dtype.__name__)
            a = rng.integers(-20, 20, size=(3, 4)).astype(dtype)
            b = (rng.integers(1, 6, size=4) * rng.choice([-1, 1], size=4)).astype(dtype)
            family.add(op, f"{dtype.__name__}_3x4_4", ARITHMETIC[op], [a, b], dtypes=(None,))
    for op, compute in COMPARISONS.items():
        rng = random(op)
        a, b = (rng.integers(0, 3, size=s) / 2 for s in ((3, 5), (5,)))
        family.add(op, "3x5_5", compute, [a, b])
        family.add(op, "int32_4x1_1x3", compute,
                   [rng.integers(0, 3, size=s).astype(np.int32) for s in ((4, 1), (1, 3))], dtypes=(None,))
    for op, compute in LOGICAL.items():
        family.add(op, "bool_2x4_4", compute,
                   [np.array([[0, 0, 1, 1], [1, 0, 1, 0]], bool), np.array([0, 1, 0, 1], bool)], dtypes=(None,))
    return family


UNARY = {
    "exp": tf.exp,
    "log": tf.math.log,
    "log1p": tf.math.log1p,
    "sqrt": tf.sqrt,
    "rsqrt": tf.math.rsqrt,
    "square": tf.square,
    "abs": tf.abs,
    "neg": tf.negative,
    "sign": tf.sign,
    "reciprocal": tf.math.reciprocal,
    "floor": tf.floor,
    "ceil": tf.math.ceil,
    "round": tf.round,
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "elu": tf.nn.elu,
    "softplus": tf.nn.softplus,
    "softsign": tf.nn.softsign,
    "sin": tf.sin,
    "cos": tf.cos,
    "erf": tf.math.erf,
}
POSITIVE = ("log", "sqrt", "rsqrt")


def unary():
    family = Family("elementwise_unary")
    for op, compute in UNARY.items():
        rng = random(op)
        for shape, dtypes in (((2, 3, 5), (np.float32, np.float64)), ((67,), (np.float32,)), ((), (np.float32,))):
            x = normal(rng, *shape, scale=2)
            if op in POSITIVE:
                x = uniform(rng, 0.05, 9, *shape)
            elif op == "log1p":
                x = uniform(rng, -0.9, 5, *shape)
            elif op == "reciprocal":
                x = np.where(x < 0, x - 0.1, x + 0.1).round(3)
            elif op == "relu6":
                x = x * 3
            family.add(op, "x".join(map(str, shape)) or "scalar", compute, [x], dtypes=dtypes)
    halves = np.array([-2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5, 1e10])
    for op in ("floor", "ceil", "round", "sign", "abs"):
        family.add(op, "halves", UNARY[op], [halves])
    far = np.array([-1000.0, -80.0, -30.0, -1e-8, 0.0, 1e-8, 30.0, 80.0, 1000.0])
    for op in ("tanh", "sigmoid", "softplus", "elu", "softsign", "erf"):
        family.add(op, "far", UNARY[op], [far])
    for alpha in (0.2, 0.01):
        family.add("leaky_relu", f"alpha_{alpha}", lambda x: tf.nn.leaky_relu(x, alpha),
                   [normal(random("leaky_relu"), 3, 7)], alpha=alpha)
    for op in ("abs", "neg", "sign", "square"):
        family.add(op, "int32", UNARY[op], [np.array([-3, 0, 5, 120], np.int32)], dtypes=(None,))
    family.add("logical_not", "bool", tf.logical_not, [np.array([1, 0, 1], bool)], dtypes=(None,))
    return family
