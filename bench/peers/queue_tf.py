#!/usr/bin/env python3
"""Elements of 1 KiB a second through TensorFlow's queues, between threads that enqueue and threads that dequeue.

Each thread calls its op from Python (`eager`), runs a graph's op through a session, as queue runners do (`session`),
or runs a loop of ops that Python is not part of (`loop`, the fastest).
"""
import argparse
import threading
import time

import tensorflow as tf
from measure import report, spread


def make_queue(kind, capacity, size):
    spec = dict(dtypes=[tf.uint8], shapes=[[size]])
    if kind == "shuffle":
        return tf.queue.RandomShuffleQueue(capacity, capacity // 2, **spec)
    return tf.queue.FIFOQueue(capacity, **spec)


def put_and_get(queue, block, size):
    one = tf.zeros([size], tf.uint8)
    many = tf.zeros([block, size], tf.uint8)
    if block == 1:
        return lambda: queue.enqueue(one), queue.dequeue
    return lambda: queue.enqueue_many(many), lambda: queue.dequeue_many(block)


def work_of(mode, queue, block, size, calls):
    """Functions that make so many calls each, and what closes the queue in the end."""
    put, get = put_and_get(queue, block, size)
    if mode == "eager":

        def repeat(op):
            for _ in range(calls):
                op()

        return lambda: repeat(put), lambda: repeat(get)

    def loop(op):
        def step(i):
            with tf.control_dependencies([op()]):
                return i + 1

        run = tf.function(lambda: tf.while_loop(lambda i: i < calls, step, [0]), autograph=False)
        return run.get_concrete_function()

    return loop(put), loop(get)


def session_work(kind, capacity, block, size, calls):
    graph = tf.Graph()
    with graph.as_default():
        put, get = put_and_get(make_queue(kind, capacity, size), block, size)
        ops = put(), get().op
    session = tf.compat.v1.Session(graph=graph)

    def repeat(op):
        run = session.make_callable(op)
        for _ in range(calls):
            run()

    return lambda: repeat(ops[0]), lambda: repeat(ops[1])


def seconds(put, get, pairs):
    threads = [threading.Thread(target=work) for _ in range(pairs) for work in (put, get)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kind", choices=["fifo", "shuffle"], default="fifo")
    p.add_argument("--mode", choices=["eager", "session", "loop"], default="loop")
    p.add_argument("--pairs", type=int, default=1, help="threads that enqueue, and as many that dequeue")
    p.add_argument("--block", type=int, default=128, help="elements in a call; 1 for enqueue and dequeue")
    p.add_argument("--bytes", type=int, default=1024, help="of an element")
    p.add_argument("--elements", type=int, default=100_000)
    p.add_argument("--capacity", type=int, default=4096)
    p.add_argument("--threads", type=int, default=2, help="of each of TensorFlow's pools")
    p.add_argument("--repeats", type=int, default=5)
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(a.threads)
    tf.config.threading.set_inter_op_parallelism_threads(a.threads)
    calls = a.elements // (a.pairs * a.block)
    rates = []
    for _ in range(a.repeats + 1):
        if a.mode == "session":
            put, get = session_work(a.kind, a.capacity, a.block, a.bytes, calls)
        else:
            # A queue that shuffles keeps its floor for ever unless it gets more than is taken out.
            queue = make_queue(a.kind, a.capacity, a.bytes)
            if a.kind == "shuffle":
                queue.enqueue_many(tf.zeros([a.capacity // 2, a.bytes], tf.uint8))
            put, get = work_of(a.mode, queue, a.block, a.bytes, calls)
        rates.append(calls * a.block * a.pairs / seconds(put, get, a.pairs))
    report({"program": "queue_tf", "kind": a.kind, "mode": a.mode, "pairs": a.pairs, "block": a.block,
            **spread("elements_per_s", rates[1:]), "version": tf.__version__}, a.json)


if __name__ == "__main__":
    main()
