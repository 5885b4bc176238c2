"""How fast tf.data makes batches of the file that tfrecord_benchmark writes.

    taskset -c 0,1 python bench/peers/tfrecord_tf.py examples.tfrecord --threads 2

Records are batched before they are parsed, which is the fastest way, and counted inside of tf.data,
so that no Python runs for each batch.
"""
import argparse
import statistics
import time

import tensorflow as tf

FEATURES = {
    "x": tf.io.FixedLenFeature([32], tf.float32),
    "ids": tf.io.FixedLenFeature([16], tf.int64),
    "label": tf.io.FixedLenFeature([], tf.int64),
    "name": tf.io.FixedLenFeature([], tf.string),
}


def count(dataset, rows):
    return int(dataset.reduce(tf.constant(0, tf.int64), lambda n, x: n + tf.cast(tf.shape(rows(x))[0], tf.int64)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(args.threads)

    options = tf.data.Options()
    options.threading.private_threadpool_size = args.threads
    records = tf.data.TFRecordDataset(args.file, buffer_size=1 << 20).batch(args.batch).with_options(options)
    parsed = records.map(lambda r: tf.io.parse_example(r, FEATURES), num_parallel_calls=args.threads).prefetch(2)
    for what, dataset, rows in (("records", records, lambda x: x), ("batches", parsed, lambda x: x["label"])):
        rates, cpu_rates = [], []
        for _ in range(args.rounds):
            start, cpu = time.perf_counter(), time.process_time()
            found = count(dataset, rows)
            rates.append(found / (time.perf_counter() - start))
            cpu_rates.append(found / (time.process_time() - cpu))
        print(f"{what:24} {statistics.median(rates):9.0f} examples/s ({min(rates):.0f} to {max(rates):.0f}), "
              f"{statistics.median(cpu_rates):9.0f} per CPU second")


main()
