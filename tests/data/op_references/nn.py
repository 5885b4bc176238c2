"""Ops of neural networks: products, convolutions, pooling, normalisation, losses. Images are NHWC, filters HWIO."""
import numpy as np
import tensorflow as tf
import torch

from .record import Family, distinct, normal, random, shape_text, uniform

ONE = (np.float32,)
BOTH = (np.float32, np.float64)


def matmul():
    family = Family("matmul")
    for batch, (m, k, n), dtypes in (((), (3, 4, 5), BOTH), ((), (1, 7, 1), ONE), ((2,), (3, 2, 4), ONE),
                                     ((), (17, 13, 19), ONE)):
        for transpose_a in (False, True):
            for transpose_b in (False, True):
                if (m == 17 or m == 1) and transpose_a != transpose_b:
                    continue
                a_shape = (*batch, k, m) if transpose_a else (*batch, m, k)
                b_shape = (*batch, n, k) if transpose_b else (*batch, k, n)
                case = f"{shape_text(a_shape)}_{shape_text(b_shape)}{'_ta' * transpose_a}{'_tb' * transpose_b}"
                rng = random(case)
                family.add("matmul", case, lambda a, b: tf.matmul(a, b, transpose_a, transpose_b),
                           [normal(rng, *a_shape), normal(rng, *b_shape)], dtypes=dtypes,
                           transpose_a=transpose_a, transpose_b=transpose_b)
    rng = random("bias_add")
    for shape in ((3, 5), (2, 3, 2, 4), (2, 7)):
        family.add("bias_add", shape_text(shape), tf.nn.bias_add, [normal(rng, *shape), normal(rng, shape[-1])])
    return family


def dilated(x, w, strides, padding, dilations):
    """TensorFlow has no gradient of a dilated convolution on the CPU: PyTorch computes it."""
    pads = [0, 0]
    if padding == "SAME":
        assert strides == [1, 1]
        pads = [(k - 1) * d // 2 for k, d in zip(w.shape[:2], dilations)]
        assert all((k - 1) * d % 2 == 0 for k, d in zip(w.shape[:2], dilations))

    @tf.custom_gradient
    def convolve(x, w):
        tx, tw = (torch.tensor(v.numpy(), requires_grad=True) for v in (x, w))
        ty = torch.nn.functional.conv2d(tx.permute(0, 3, 1, 2), tw.permute(3, 2, 0, 1), None, strides, pads,
                                        dilations).permute(0, 2, 3, 1)

        def gradient(dy):
            return [tf.constant(g.numpy()) for g in torch.autograd.grad(ty, [tx, tw], torch.tensor(dy.numpy()))]

        return tf.constant(ty.detach().numpy()), gradient

    y = convolve(x, w)
    np.testing.assert_allclose(y, tf.nn.conv2d(x, w, strides, padding, dilations=dilations), rtol=1e-6, atol=1e-9)
    return y


CONVOLUTIONS = [  # image, filter, strides, padding, dilations, dtypes
    ((2, 5, 6, 1), (3, 3, 1, 2), [1, 1], "VALID", [1, 1], BOTH),
    ((2, 5, 6, 3), (3, 3, 3, 2), [1, 1], "SAME", [1, 1], BOTH),
    ((1, 7, 7, 2), (3, 2, 2, 3), [2, 2], "SAME", [1, 1], ONE),
    ((1, 8, 6, 2), (3, 3, 2, 1), [2, 2], "SAME", [1, 1], ONE),
    ((2, 6, 7, 2), (2, 3, 2, 4), [2, 1], "VALID", [1, 1], ONE),
    ((1, 4, 23, 1), (3, 8, 1, 5), [1, 5], "VALID", [1, 1], BOTH),
    ((3, 4, 4, 5), (2, 2, 5, 5), [1, 1], "VALID", [1, 1], ONE),
    ((2, 4, 4, 17), (1, 1, 17, 3), [1, 1], "SAME", [1, 1], ONE),
    ((1, 5, 5, 16), (5, 5, 16, 8), [1, 1], "SAME", [1, 1], ONE),
    ((1, 6, 6, 2), (1, 1, 2, 3), [2, 2], "VALID", [1, 1], ONE),
    ((1, 8, 9, 2), (3, 3, 2, 2), [1, 1], "VALID", [2, 2], BOTH),
    ((1, 7, 8, 1), (3, 3, 1, 2), [1, 1], "SAME", [2, 3], ONE),
    ((1, 9, 9, 2), (3, 2, 2, 2), [2, 1], "VALID", [2, 1], ONE),
]


def conv():
    family = Family("conv")
    for image, kernel, strides, padding, dilations, dtypes in CONVOLUTIONS:
        case = (f"{shape_text(image)}_{shape_text(kernel)}_stride_{shape_text(strides)}_{padding}"
                + (f"_dilation_{shape_text(dilations)}" if dilations != [1, 1] else ""))
        rng = random(case)
        compute = ((lambda x, w: tf.nn.conv2d(x, w, strides, padding)) if dilations == [1, 1]
                   else (lambda x, w: dilated(x, w, strides, padding, dilations)))
        family.add("conv2d", case, compute, [normal(rng, *image), normal(rng, *kernel, scale=0.5)], dtypes=dtypes,
                   strides=strides, padding=padding, dilations=dilations)
    for image, kernel, stride, padding, dtypes in (((2, 5, 6, 3), (3, 3, 3, 1), 1, "SAME", BOTH),
                                                   ((1, 6, 7, 2), (3, 2, 2, 3), 2, "SAME", ONE),
                                                   ((1, 6, 7, 2), (2, 3, 2, 2), 1, "VALID", ONE),
                                                   ((2, 4, 4, 9), (3, 3, 9, 1), 2, "VALID", ONE)):
        case = f"{shape_text(image)}_{shape_text(kernel)}_stride_{stride}_{padding}"
        rng = random("depthwise" + case)
        family.add("depthwise_conv2d", case,
                   lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, stride, stride, 1], padding),
                   [normal(rng, *image), normal(rng, *kernel, scale=0.5)], dtypes=dtypes,
                   strides=[stride, stride], padding=padding)
    return family


def pool():
    family = Family("pool")
    for image, window, strides, dtypes in (((2, 4, 6, 3), [2, 2], [2, 2], BOTH), ((1, 5, 5, 2), [2, 2], [2, 2], ONE),
                                           ((1, 6, 8, 2), [3, 3], [2, 2], BOTH), ((2, 5, 7, 1), [3, 3], [2, 2], ONE),
                                           ((1, 5, 4, 3), [3, 2], [1, 1], ONE), ((1, 4, 4, 17), [2, 2], [2, 2], ONE)):
        for padding in ("SAME", "VALID"):
            case = f"{shape_text(image)}_window_{shape_text(window)}_stride_{shape_text(strides)}_{padding}"
            x = distinct(random(case), *image)
            for op, compute in (("max_pool", tf.nn.max_pool2d), ("avg_pool", tf.nn.avg_pool2d)):
                family.add(op, case, lambda x: compute(x, window, strides, padding), [x], dtypes=dtypes,
                           window=window, strides=strides, padding=padding)
    return family


def lrn(radius, bias, alpha, beta):
    def compute(x):
        padded = tf.pad(tf.square(x), [[0, 0]] * 3 + [[radius, radius]])
        window = tf.add_n([padded[..., i:i + x.shape[-1]] for i in range(2 * radius + 1)])
        y = x / tf.pow(bias + alpha * window, beta)
        np.testing.assert_allclose(tf.nn.lrn(tf.cast(x, tf.float32), radius, bias, alpha, beta), y, 1e-5, 1e-6)
        return y

    return compute


def batch_norm_training(epsilon):
    def compute(x, scale, offset):
        mean, variance = tf.nn.moments(x, list(range(x.shape.rank - 1)))
        y = tf.nn.batch_normalization(x, mean, variance, offset, scale, epsilon)
        if x.shape.rank == 4:
            fused = tf.compat.v1.nn.fused_batch_norm(*(tf.cast(v, tf.float32) for v in (x, scale, offset)),
                                                     epsilon=epsilon)
            np.testing.assert_allclose(fused[0], y, 1e-4, 1e-5)
        return y, mean, variance

    return compute


def normalization():
    family = Family("normalization")
    for image, settings, dtypes in (((2, 3, 2, 7), (4, 1.0, 0.001 / 9, 0.75), BOTH),
                                    ((1, 2, 3, 16), (4, 1.0, 0.1, 0.75), BOTH),
                                    ((2, 2, 2, 5), (2, 2.0, 0.5, 0.5), ONE), ((1, 1, 2, 3), (1, 1.0, 1.0, 1.0), ONE)):
        radius, bias, alpha, beta = settings
        case = f"{shape_text(image)}_radius_{radius}"
        family.add("lrn", case, lrn(*settings), [normal(random(case), *image, scale=2)], dtypes=dtypes,
                   depth_radius=radius, bias=bias, alpha=alpha, beta=beta)
    for shape, dtypes in (((3, 2, 4, 3), BOTH), ((2, 3, 3, 17), ONE), ((7, 5), BOTH)):
        case = shape_text(shape)
        rng = random("batch_norm" + case)
        x, scale, offset = normal(rng, *shape, scale=2) + 1, uniform(rng, 0.5, 2, shape[-1]), normal(rng, shape[-1])
        family.add("batch_norm", f"{case}_training",
                   lambda *v: batch_norm_training(1e-3)(*v)[0], [x, scale, offset], dtypes=dtypes,
                   epsilon=1e-3, training=True)
        # The statistics of the same batch, biased (divided by the count), as a case of their own without gradient.
        family.add("batch_norm_statistics", case, batch_norm_training(1e-3), [x, scale, offset], gradient=False,
                   dtypes=dtypes, epsilon=1e-3)
        mean, variance = normal(rng, shape[-1]), uniform(rng, 0.3, 3, shape[-1])
        family.add("batch_norm", f"{case}_inference",
                   lambda x, s, o, m, v: tf.nn.batch_normalization(x, m, v, o, s, 1e-3),
                   [x, scale, offset, mean, variance], dtypes=dtypes, epsilon=1e-3, training=False)
    return family


def losses():
    family = Family("losses")
    for shape in ((3, 5), (2, 3, 4), (1, 1), (2, 33)):
        rng = random(f"softmax{shape}")
        for op, compute in (("softmax", tf.nn.softmax), ("log_softmax", tf.nn.log_softmax)):
            family.add(op, shape_text(shape), compute, [normal(rng, *shape, scale=3)],
                       dtypes=BOTH if shape == (3, 5) else ONE)
    large = np.array([[1000.0, 999.0, 0.0], [-1000.0, -1000.0, -1002.0]])
    for op, compute in (("softmax", tf.nn.softmax), ("log_softmax", tf.nn.log_softmax)):
        family.add(op, "large", compute, [large])

    for rows, classes, dtypes in ((4, 5, BOTH), (1, 10, ONE), (7, 3, ONE)):
        rng = random(f"cross_entropy{rows}x{classes}")
        logits = normal(rng, rows, classes, scale=3)
        targets = rng.dirichlet(np.ones(classes), size=rows)
        family.add("softmax_cross_entropy", f"{rows}x{classes}",
                   lambda x, t: tf.nn.softmax_cross_entropy_with_logits(labels=tf.stop_gradient(t), logits=x),
                   [logits, targets], dtypes=dtypes)
        for index_type in (np.int32, np.int64):
            family.add("sparse_softmax_cross_entropy", f"{rows}x{classes}_{np.dtype(index_type).name}",
                       lambda x, t: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t, logits=x),
                       [logits, rng.integers(classes, size=rows).astype(index_type)], dtypes=dtypes)
        family.add("sigmoid_cross_entropy", f"{rows}x{classes}",
                   lambda x, t: tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.stop_gradient(t), logits=x),
                   [logits, uniform(rng, 0, 1, rows, classes)], dtypes=dtypes)
    family.add("sparse_softmax_cross_entropy", "large",
               lambda x, t: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t, logits=x),
               [large, np.array([2, 2], np.int32)])
    family.add("sigmoid_cross_entropy", "large",
               lambda x, t: tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.stop_gradient(t), logits=x),
               [np.array([-1000.0, -30.0, 0.0, 30.0, 1000.0]), np.array([0.0, 1.0, 0.5, 0.0, 0.0])])
    for shape in ((3, 5), (67,), (2, 2, 3, 1)):
        family.add("l2_loss", shape_text(shape), tf.nn.l2_loss, [normal(random(f"l2{shape}"), *shape)])
    return family
