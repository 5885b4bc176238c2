"""CSV to arrays with pandas and to tensors with TensorFlow, one thread each.

    python bench/peers/csv_peers.py --file /tmp/mixed.csv --rounds 3
    TROUPE_CSV_FILE=/tmp/mixed.csv build/bench/bench/csv_benchmark

The file (1,000,000 records of 6 integers, 8 floats and 3 short strings) is made if it is not there.
"""
import argparse
import os
import pathlib
import statistics
import time

import numpy as np
import pandas as pd

import measure

INTEGERS, FLOATS, STRINGS = 6, 8, 3
WORDS = np.array(["red", "green", "blue", "Berlin", "Lisbon", "q7", "n/a", "x"])


def make(path, rows):
    random = np.random.default_rng(1)
    with open(path, "w") as out:
        for begin in range(0, rows, 10_000):
            n = min(10_000, rows - begin)
            columns = [np.arange(begin, begin + n).astype(str)]
            columns += [random.integers(0, 10 ** (c + 1), n).astype(str) for c in range(1, INTEGERS)]
            for c in range(FLOATS):
                columns.append(np.char.mod(f"%.{2 + c % 5}f", random.uniform(-100, 100, n)))
            columns += [WORDS[random.integers(0, len(WORDS), n)] for _ in range(STRINGS)]
            out.writelines(",".join(fields) + "\n" for fields in zip(*columns))


def read_pandas(path, rows):
    dtypes = [np.int64] * INTEGERS + [np.float32] * FLOATS + [object] * STRINGS
    frame = pd.read_csv(path, header=None, dtype=dict(enumerate(dtypes)), engine="c", na_filter=False,
                        low_memory=False, nrows=rows)
    return len(frame)


def tensorflow_readers():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    types = [tf.int64] * INTEGERS + [tf.float32] * FLOATS + [tf.string] * STRINGS
    required = [tf.constant([], t) for t in types]
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1

    def by_record(path, rows):
        lines = tf.data.TextLineDataset(path).take(rows)
        data = lines.map(lambda line: tf.io.decode_csv(line, required)).batch(1000).with_options(options)
        return sum(int(batch[0].shape[0]) for batch in data)

    def by_batch(path, rows):
        lines = tf.data.TextLineDataset(path).take(rows)
        data = lines.batch(1000).map(lambda line: tf.io.decode_csv(line, required)).with_options(options)
        return sum(int(batch[0].shape[0]) for batch in data)

    return {"tf.decode_csv a record": (by_record, 10), "tf.decode_csv a batch of 1000": (by_batch, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.file).exists():
        make(arguments.file, arguments.rows)
    size = pathlib.Path(arguments.file).stat().st_size
    # TensorFlow reads a part of the file: a record takes it long enough.
    peers = {"pandas": (read_pandas, 1)} | tensorflow_readers()
    for name, (read, part) in peers.items():
        rates, cpu_rates = [], []
        for _ in range(arguments.rounds):
            start, cpu_start = time.perf_counter(), time.process_time()
            rows = read(arguments.file, arguments.rows // part)
            rates.append(rows / (time.perf_counter() - start))
            cpu_rates.append(rows / (time.process_time() - cpu_start))
        result = {"peer": name} | measure.spread("records_per_s", rates)
        # On a machine that others use too, the time on the CPU says more than the clock.
        result["records_per_cpu_s"] = statistics.median(cpu_rates)
        result["mb_per_s"] = statistics.median(rates) * size / arguments.rows / 1e6
        measure.report(result, arguments.json)


if __name__ == "__main__":
    main()
