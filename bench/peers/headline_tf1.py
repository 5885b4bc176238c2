#!/usr/bin/env python3
"""The headline program with the input pipeline that it had: queues of TensorFlow 1, run by TensorFlow 2.

string_input_producer, TextLineReader, decode_csv with one default a column, stack, reshape, shuffle_batch; the
CNN, its loss, momentum with a staircase decay and the gradient norm. What TensorFlow has renamed or moved since
has its present name; the evaluation of the test set at each step and the checkpoints are left out.

--num-threads above 1 reads faster, but tears samples apart: features and labels come from two readers, and
nothing makes a thread that has read line i of one file read line i of the other.
"""
import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow  # noqa: E402
from measure import MemoryWatch, SteadyState, report  # noqa: E402

tf = tensorflow.compat.v1
HEIGHT, WIDTH, OUTPUTS, KEEP_PROB = 20, 195, 15, 0.5
MIN_AFTER_DEQUEUE = 10


def training_batches(features_file, labels_file, batch, num_threads):
    def columns(file_name, count):
        queue = tf.train.string_input_producer([file_name], shuffle=False)
        _, line = tf.TextLineReader().read(queue)
        return tf.stack(tf.decode_csv(line, record_defaults=[[0.0]] * count, field_delim=" "))

    image = tf.reshape(columns(features_file, HEIGHT * WIDTH), [HEIGHT, WIDTH, 1])
    label = columns(labels_file, OUTPUTS)
    return tf.train.shuffle_batch([image, label], batch_size=batch, num_threads=num_threads,
                                  capacity=MIN_AFTER_DEQUEUE + 3 * batch, min_after_dequeue=MIN_AFTER_DEQUEUE)


def weights(shape, decay):
    kernel = tf.get_variable("weights", shape, initializer=tf.glorot_normal_initializer())
    tf.add_to_collection("losses", tf.multiply(tf.nn.l2_loss(kernel), decay))
    return kernel


def inference(images, batch, keep_prob):
    with tf.variable_scope("conv1"):
        conv = tf.nn.conv2d(images, weights([3, 30, 1, 5], 0.001), [1, 1, 5, 1], padding="VALID")
        x = tf.nn.relu(tf.nn.bias_add(conv, tf.Variable(tf.zeros([5]))))
    x = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], padding="VALID")
    with tf.variable_scope("conv2"):
        conv = tf.nn.conv2d(x, weights([2, 2, 5, 5], 0.001), [1, 1, 1, 1], padding="VALID")
        x = tf.nn.relu(tf.nn.bias_add(conv, tf.Variable(tf.constant(0.1, shape=[5]))))
    x = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], padding="VALID")
    x = tf.reshape(tf.nn.dropout(x, keep_prob), [batch, -1])
    with tf.variable_scope("fully_connected"):
        x = tf.nn.relu(tf.matmul(x, weights([x.shape[1], 20], 0.004)) + tf.Variable(tf.zeros([20])))
    with tf.variable_scope("identity"):
        return tf.matmul(x, weights([20, OUTPUTS], 0.004)) + tf.Variable(tf.zeros([OUTPUTS]))


def total_loss(outputs, labels):
    rmse = tf.sqrt(tf.reduce_mean(tf.square(tf.subtract(labels, outputs))))
    return tf.add_n(tf.get_collection("losses") + [rmse])


def training(loss, starter_learning_rate, global_step):
    rate = tf.train.exponential_decay(starter_learning_rate, global_step, 200, 0.8, staircase=True)
    optimizer = tf.train.MomentumOptimizer(rate, 0.8)
    gradients = optimizer.compute_gradients(loss)
    norm = tf.add_n([tf.nn.l2_loss(g) for g, _ in gradients])
    return optimizer.apply_gradients(gradients, global_step=global_step), norm


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--features", required=True)
    p.add_argument("--labels", required=True)
    p.add_argument("--num-threads", type=int, default=1, help="of shuffle_batch; the program has 1")
    p.add_argument("--threads", type=int, default=2, help="intra-op and inter-op threads")
    p.add_argument("--batch", type=int, default=1000)
    p.add_argument("--steps", type=int, default=5)
    p.add_argument("--warmup", type=int, default=2)
    p.add_argument("--json", action="store_true")
    a = p.parse_args()

    tf.disable_eager_execution()
    tf.set_random_seed(1)
    memory = MemoryWatch()
    memory.start()
    images, labels = training_batches(a.features, a.labels, a.batch, a.num_threads)
    keep_prob = tf.placeholder(tf.float32)
    loss = total_loss(inference(images, a.batch, keep_prob), labels)
    train_op, gradient_norm = training(loss, 0.1, tf.Variable(0, trainable=False))
    config = tf.ConfigProto(intra_op_parallelism_threads=a.threads, inter_op_parallelism_threads=a.threads)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        coordinator = tf.train.Coordinator()
        tf.train.start_queue_runners(sess=session, coord=coordinator)
        steady = SteadyState(a.warmup, a.steps, a.batch)
        losses = []
        for _ in range(a.warmup + a.steps):
            _, _, value = session.run([train_op, gradient_norm, loss], {keep_prob: KEEP_PROB})
            losses.append(float(value))
            steady.step_done()
        result = steady.result() | memory.stop()
        coordinator.request_stop()
    report({"program": "headline_tf1", "num_threads": a.num_threads, "threads": a.threads, "batch": a.batch,
            "steps": a.steps, **result, "loss_first": losses[0], "loss_last": losses[-1],
            "version": tensorflow.__version__}, a.json)


if __name__ == "__main__":
    main()
