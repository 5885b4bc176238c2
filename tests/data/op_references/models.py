"""Losses and gradients of whole models, built here from TensorFlow's own ops, in float64.

Weights and inputs are waves, so that the tests can make the same without a file of them: value i of the variable
number k is sin(0.7 i + k) / sqrt(the number of weights that meet in one output), value i of the inputs sin(0.3 i).
Of the gradient of each variable the sum of its values and the sum of their squares are recorded.
"""
import numpy as np
import tensorflow as tf

from .record import Family


class Weights:
    """The variables of a model in the order in which it asks for them."""

    def __init__(self, tape):
        self.tape = tape
        self.variables = []

    def __call__(self, *shape):
        fan_in = np.prod(shape[:-1]) if len(shape) > 1 else 10
        values = np.sin(0.7 * np.arange(np.prod(shape)) + len(self.variables)) / np.sqrt(fan_in)
        self.variables.append(tf.constant(values.reshape(shape)))
        self.tape.watch(self.variables[-1])
        return self.variables[-1]


def convolution(x, weights, *shape, strides=1, padding="VALID"):
    return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, weights(*shape), strides, padding), weights(shape[-1])))


def dense(x, weights, units):
    return tf.matmul(x, weights(x.shape[-1], units)) + weights(units)


def flatten(x):
    return tf.reshape(x, [x.shape[0], -1])


def headline(x, weights):
    x = tf.nn.max_pool2d(convolution(x, weights, 3, 30, 1, 5, strides=[1, 5]), 2, 2, "VALID")
    x = tf.nn.max_pool2d(convolution(x, weights, 2, 2, 5, 5), 2, 2, "VALID")
    return dense(tf.nn.relu(dense(flatten(x), weights, 20)), weights, 15)


def lenet(x, weights):
    x = tf.nn.max_pool2d(convolution(x, weights, 5, 5, 1, 32, padding="SAME"), 2, 2, "VALID")
    x = tf.nn.max_pool2d(convolution(x, weights, 5, 5, 32, 64, padding="SAME"), 2, 2, "VALID")
    return dense(tf.nn.relu(dense(flatten(x), weights, 1024)), weights, 10)


def lrn(x):
    """tf.nn.lrn(x, 4, bias=1, alpha=0.001 / 9, beta=0.75), which has no float64."""
    padded = tf.pad(tf.square(x), [[0, 0]] * 3 + [[4, 4]])
    window = tf.add_n([padded[..., i:i + x.shape[-1]] for i in range(9)])
    return x / tf.pow(1 + 0.001 / 9 * window, 0.75)


def cifar10(x, weights):
    x = lrn(tf.nn.max_pool2d(convolution(x, weights, 5, 5, 3, 64, padding="SAME"), 3, 2, "SAME"))
    x = tf.nn.max_pool2d(lrn(convolution(x, weights, 5, 5, 64, 64, padding="SAME")), 3, 2, "SAME")
    x = tf.nn.relu(dense(tf.nn.relu(dense(flatten(x), weights, 384)), weights, 192))
    return dense(x, weights, 10)


def mlp(x, weights):
    return dense(tf.nn.relu(dense(tf.nn.relu(dense(x, weights, 64)), weights, 64)), weights, 10)


MODELS = {  # shape of the inputs, and the weight decay of the variables by number
    headline: ((3, 20, 195, 1), {0: 0.001, 2: 0.001, 4: 0.004, 6: 0.004}),
    lenet: ((2, 28, 28, 1), {}),
    cifar10: ((2, 24, 24, 3), {4: 0.004, 6: 0.004}),
    mlp: ((3, 50), {}),
}


def models():
    family = Family("models")
    for model, (shape, decay) in MODELS.items():
        x = tf.constant(np.sin(0.3 * np.arange(np.prod(shape))).reshape(shape))
        with tf.GradientTape() as tape:
            weights = Weights(tape)
            y = model(x, weights)
            if model is headline:
                targets = np.sin(0.5 * np.arange(y.shape[0] * 15)).reshape(y.shape)
                loss = tf.sqrt(tf.reduce_mean(tf.square(targets - y)))
            else:
                labels = [3, 1, 4][:y.shape[0]]
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, y))
            loss += sum(factor * tf.nn.l2_loss(weights.variables[k]) for k, factor in decay.items())
        gradients = tape.gradient(loss, weights.variables)
        sums = np.array([[tf.reduce_sum(g), tf.reduce_sum(tf.square(g))] for g in gradients])
        family.record(model.__name__, "float64", {}, {"loss": np.float64(loss), "gradients": sums})
    return family
