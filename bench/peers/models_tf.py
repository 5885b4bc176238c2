"""The four models of the training-step benchmark in TensorFlow 2, NHWC."""
import numpy as np
import tensorflow as tf


def xavier(*shape):
    """Xavier-normal; a filter's fans count its window."""
    window = int(np.prod(shape[:-2]))
    return tf.random.normal(shape, stddev=(2 / (window * (shape[-2] + shape[-1]))) ** 0.5)


class Model:
    """Variables in creation order, and the layers that make them at the first call."""

    def __init__(self):
        self.variables = []

    def _variable(self, index, initial):
        if index == len(self.variables):
            self.variables.append(tf.Variable(initial()))
        return self.variables[index]

    def _pair(self, shape, bias):
        index = self.next
        self.next += 2
        return (self._variable(index, lambda: xavier(*shape)),
                self._variable(index + 1, lambda: tf.fill(shape[-1:], bias)))

    def conv(self, x, rows, columns, filters, strides=1, padding="SAME", bias=0.0):
        w, b = self._pair((rows, columns, x.shape[-1], filters), bias)
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, strides, padding), b))

    def dense(self, x, units, relu=True):
        w, b = self._pair((x.shape[-1], units), 0.0)
        y = tf.nn.bias_add(tf.matmul(x, w), b)
        return tf.nn.relu(y) if relu else y

    def __call__(self, x):
        self.next = 0
        return self.outputs(x)

    def loss(self, outputs, targets):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, outputs))


def flatten(x):
    return tf.reshape(x, [-1, int(np.prod(x.shape[1:]))])


class Headline(Model):
    batch, sample, classes = 1000, (20, 195, 1), None

    def outputs(self, x):
        x = tf.nn.max_pool2d(self.conv(x, 3, 30, 5, [1, 5], "VALID"), 2, 2, "VALID")
        x = tf.nn.max_pool2d(self.conv(x, 2, 2, 5, 1, "VALID", bias=0.1), 2, 2, "VALID")
        return self.dense(self.dense(flatten(tf.nn.dropout(x, 0.5)), 20), 15, relu=False)

    def loss(self, outputs, targets):
        conv1, _, conv2, _, fc1, _, fc2, _ = self.variables
        rmse = tf.sqrt(tf.reduce_mean(tf.square(targets - outputs)))
        return (rmse + 0.001 * (tf.nn.l2_loss(conv1) + tf.nn.l2_loss(conv2))
                + 0.004 * (tf.nn.l2_loss(fc1) + tf.nn.l2_loss(fc2)))


class LeNet(Model):
    batch, sample, classes = 100, (28, 28, 1), 10

    def outputs(self, x):
        x = tf.nn.max_pool2d(self.conv(x, 5, 5, 32), 2, 2, "VALID")
        x = tf.nn.max_pool2d(self.conv(x, 5, 5, 64), 2, 2, "VALID")
        return self.dense(tf.nn.dropout(self.dense(flatten(x), 1024), 0.5), 10, relu=False)


class Cifar(Model):
    batch, sample, classes = 128, (24, 24, 3), 10

    @staticmethod
    def norm(x):
        return tf.nn.lrn(x, 4, 1.0, 0.001 / 9, 0.75)

    @staticmethod
    def pool(x):
        return tf.nn.max_pool2d(x, 3, 2, "SAME")

    def outputs(self, x):
        x = self.norm(self.pool(self.conv(x, 5, 5, 64)))
        x = self.pool(self.norm(self.conv(x, 5, 5, 64)))
        return self.dense(self.dense(self.dense(flatten(x), 384), 192), 10, relu=False)


class Mlp(Model):
    batch, sample, classes = 256, (784,), 10

    def outputs(self, x):
        return self.dense(self.dense(self.dense(x, 2048), 2048), 10, relu=False)


MODELS = {"headline": Headline, "lenet": LeNet, "cifar": Cifar, "mlp": Mlp}


def synthetic_batch(model, batch):
    x = tf.random.normal((batch, *model.sample))
    if model.classes is None:
        return x, tf.random.uniform((batch, 15))
    return x, tf.random.uniform((batch,), maxval=model.classes, dtype=tf.int32)
