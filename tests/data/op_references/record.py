"""Reference cases of ops and the text format in which the C++ tests read them.

A case is a computation with its inputs, its outputs and, where a gradient exists, the gradient that
reaches each output and the gradients that leave through the inputs:

    case add float32_3x5_5 key=value ...
    tensor in0 float32 3x5 : 0.25 -1 ...
    tensor in1 float32 5 : ...
    tensor out0 float32 3x5 : ...
    tensor dout0 float32 3x5 : ...
    tensor din0 float32 3x5 : ...
    tensor din1 float32 5 : ...
    end

Values are decimal and as short as the dtype allows without losing a bit. The shape of a scalar is `scalar`.
Lists in attributes are separated by commas. An input without gradient has no `din`.

float32 cases are computed in float64 from the float32 inputs and rounded once at the end: the reference
is then closer to the truth than any float32 kernel.
"""
import zlib

import numpy as np
import tensorflow as tf

FLOATS = (np.float32, np.float64)


def random(name):
    """A generator of its own for every case, so that a new case does not change the others."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def normal(rng, *shape, scale=1.0):
    return np.round(rng.normal(size=shape) * scale, 3)


def uniform(rng, low, high, *shape):
    return np.round(rng.uniform(low, high, size=shape), 3)


def distinct(rng, *shape):
    """Values in [-2, 2) of which no two are closer than the spacing, for ops that pick one of several."""
    count = int(np.prod(shape))
    values = np.round(np.linspace(-2, 2, count, endpoint=False), 4)
    assert len(np.unique(values)) == count
    return rng.permutation(values).reshape(shape)


def shape_text(shape):
    return "x".join(map(str, shape)) if len(shape) else "scalar"


def value_text(value):
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, np.integer):
        return str(value)
    text = str(value)
    return text[:-2] if text.endswith(".0") else text


def dtype_text(dtype):
    return np.dtype(dtype).name


def attribute_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(map(attribute_text, value))
    return value_text(value)


class Family:
    """The cases that one file holds."""

    def __init__(self, name):
        self.name = name
        self.lines = []
        self.names = set()

    def record(self, op, case, attributes, tensors):
        """Adds a case whose tensors are known already."""
        assert (op, case) not in self.names, f"{op} {case} twice"
        self.names.add((op, case))
        words = ["case", op, case] + [f"{k}={attribute_text(v)}" for k, v in attributes.items()]
        self.lines.append(" ".join(words))
        for name, values in tensors.items():
            values = np.asarray(values)
            head = f"tensor {name} {dtype_text(values.dtype)} {shape_text(values.shape)} :"
            self.lines.append(" ".join([head] + [value_text(v) for v in values.ravel()]))
        self.lines.append("end")

    def add(self, op, case, compute, inputs, gradient=True, dtypes=FLOATS, **attributes):
        """Computes a case once a dtype and adds it. float64 inputs take that dtype, others keep theirs."""
        for dtype in dtypes:
            name = f"{dtype_text(dtype)}_{case}" if dtype else case
            cast = [np.asarray(x) for x in inputs]
            if dtype:
                cast = [x.astype(dtype) if x.dtype == np.float64 else x for x in cast]
            self.record(op, name, attributes, evaluate(op + name, compute, cast, gradient, dtype))

    def write(self, folder):
        path = folder / f"{self.name}.txt"
        path.write_text("\n".join(self.lines) + "\n")
        size = path.stat().st_size
        print(f"{path.name}: {len(self.names)} cases, {size / 1000:.0f} kB")
        assert size < 200_000, f"{path} is too large for a repository"


def evaluate(seed, compute, inputs, gradient, dtype):
    """The tensors of one case: in, out and, if asked for, dout and din."""
    wide = [x.astype(np.float64) if x.dtype in (np.float32, np.float64) else x for x in inputs]
    variables = [tf.constant(x) for x in wide]
    with tf.GradientTape() as tape:
        for v, x in zip(variables, wide):
            if x.dtype == np.float64:
                tape.watch(v)
        outputs = compute(*variables)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]

    def narrow(x):
        x = np.asarray(x)
        return x.astype(dtype) if dtype and x.dtype == np.float64 else x

    tensors = {f"in{i}": x for i, x in enumerate(inputs)}
    tensors |= {f"out{i}": narrow(y) for i, y in enumerate(outputs)}
    if not gradient or all(y.dtype != tf.float64 for y in outputs):
        return tensors
    rng = random(seed + " gradient")
    upstream = [narrow(normal(rng, *y.shape)) for y in outputs]
    found = tape.gradient(outputs, variables, [tf.constant(g.astype(np.float64)) for g in upstream],
                          unconnected_gradients=tf.UnconnectedGradients.NONE)
    if all(g is None for g in found):
        return tensors
    tensors |= {f"dout{i}": g for i, g in enumerate(upstream)}
    for i, g in enumerate(found):
        if g is not None:
            tensors[f"din{i}"] = narrow(tf.convert_to_tensor(g))
    return tensors
