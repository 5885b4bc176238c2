"""Writes the record files in this folder with TensorFlow, and what TensorFlow reads in them."""
import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from op_references.record import shape_text, value_text  # noqa: E402

HERE = Path(__file__).parent
v1 = tf.compat.v1


def tensor_line(name, values):
    values = np.asarray(values)
    if values.dtype.kind in "SO":  # one string: its bytes
        values = np.frombuffer(values.item(), dtype=np.uint8)
    words = " ".join(value_text(v) for v in values.ravel())
    return f"tensor {name} {values.dtype} {shape_text(values.shape)} : {words}\n"


def write(path, records, compression=""):
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for record in records:
            writer.write(record)


def plain_records():
    records = [f"record {i} ".encode() * (i * 7 % 50) for i in range(20)]
    for name, compression in {"plain.tfrecord": "", "gzip.tfrecord.gz": "GZIP", "zlib.tfrecord": "ZLIB"}.items():
        write(HERE / name, records, compression)
    (HERE / "plain.txt").write_bytes(b"\n".join(records) + b"\n")


def floats(*values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def ints(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def strings(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


EXAMPLES = [
    {"x": floats(1, 2, 3, 4, 5, 6), "label": ints(3), "ids": ints(1, -1, 300), "name": strings(b"first"),
     "unused": strings(b"a", b"b"), "pixels": strings(b"\x00\x01\xfe\xff")},
    {"x": floats(0.5, -1e-30, 3e38, float("inf"), 0, -0.25), "label": ints(-9223372036854775808),
     "name": strings(b""), "pixels": strings(b"abcd")},
    {"x": floats(*[0.1] * 6), "ids": ints(), "weight": floats(2.5), "name": strings(b"\x00\xff"),
     "pixels": strings(b"\x80" * 4)},
    {"pixels": strings(b"wxyz"), "name": strings(b"last"), "ids": ints(9223372036854775807), "label": ints(0),
     "x": floats(6, 5, 4, 3, 2, 1), "empty": tf.train.Feature()},
]


def examples():
    messages = [tf.train.Example(features=tf.train.Features(feature=e)).SerializeToString() for e in EXAMPLES]
    write(HERE / "examples.tfrecord", messages)
    wanted = {
        "x": tf.io.FixedLenFeature([2, 3], tf.float32),
        "label": tf.io.FixedLenFeature([], tf.int64, default_value=-7),
        "ids": tf.io.VarLenFeature(tf.int64),
        "name": tf.io.FixedLenFeature([], tf.string),
        "weight": tf.io.FixedLenFeature([1], tf.float32, default_value=[1.5]),
        "pixels": tf.io.FixedLenFeature([], tf.string),
        "rows": tf.io.FixedLenSequenceFeature([3], tf.float32, allow_missing=True),
    }
    with open(HERE / "examples.txt", "w") as out:
        for i, message in enumerate(messages):
            parsed = tf.io.parse_single_example(message, wanted)
            parsed["ids"] = tf.sparse.to_dense(parsed["ids"])
            parsed["pixels"] = tf.io.decode_raw(parsed["pixels"], tf.uint8)
            out.write(f"case example record{i}\n")
            for name in wanted:
                out.write(tensor_line(name, parsed[name].numpy()))
            out.write("end\n")


def sequences():
    def message(length, words):
        lists = {
            "words": tf.train.FeatureList(feature=[ints(w) for w in words]),
            "vectors": tf.train.FeatureList(feature=[floats(i, i + 0.5) for i in range(len(words))]),
        }
        return tf.train.SequenceExample(
            context=tf.train.Features(feature={"length": ints(length)}),
            feature_lists=tf.train.FeatureLists(feature_list=lists)).SerializeToString()

    messages = [message(3, [7, -8, 900]), message(1, [5]), message(0, [])]
    write(HERE / "sequences.tfrecord", messages)
    with open(HERE / "sequences.txt", "w") as out:
        for i, m in enumerate(messages):
            context, steps = tf.io.parse_single_sequence_example(
                m, {"length": tf.io.FixedLenFeature([], tf.int64)},
                {"words": tf.io.FixedLenSequenceFeature([], tf.int64),
                 "vectors": tf.io.FixedLenSequenceFeature([2], tf.float32)})
            out.write(f"case sequence record{i}\n")
            for name, value in (context | steps).items():
                out.write(tensor_line(name, value.numpy()))
            out.write("end\n")


def interleave():
    """Which record comes when: 100 times the file, and the record in it."""
    counts = [5, 0, 3, 7, 1, 2, 0, 4]
    with open(HERE / "interleave.txt", "w") as out:
        for cycle, block in [(1, 1), (2, 1), (2, 3), (3, 2), (4, 1), (5, 4), (8, 1)]:
            order = tf.data.Dataset.range(len(counts)).interleave(
                lambda f: tf.data.Dataset.range(tf.gather(tf.constant(counts, tf.int64), f)).map(lambda r: 100 * f + r),
                cycle_length=cycle, block_length=block)
            out.write(f"case interleave cycle{cycle}_block{block} cycle={cycle} block={block}\n")
            out.write(tensor_line("counts", np.array(counts, np.int64)))
            out.write(tensor_line("order", np.array(list(order.as_numpy_iterator()), np.int64)))
            out.write("end\n")


def fixed_length():
    """Where records begin in a file of `size` bytes, the value of each of which is its position."""
    cases = []
    for size in (0, 3, 10, 23, 24, 100):
        for header, record, footer, hop in [(0, 4, 0, 0), (2, 3, 0, 0), (0, 5, 4, 0), (3, 4, 2, 0), (1, 6, 1, 2),
                                            (0, 4, 0, 7), (2, 5, 3, 9), (0, 10, 0, 1)]:
            if size >= header:
                cases.append((size, header, record, footer, hop))
    with open(HERE / "fixed_length.txt", "w") as out, tempfile.TemporaryDirectory() as folder:
        for size, header, record, footer, hop in cases:
            path = Path(folder) / "bytes"
            path.write_bytes(bytes(range(size)))
            starts = []
            with tf.Graph().as_default(), v1.Session() as session:
                queue = v1.FIFOQueue(2, [tf.string], shapes=[[]])
                reader = v1.FixedLengthRecordReader(record, header, footer, hop)
                step = reader.read(queue)
                session.run([queue.enqueue(str(path))])
                session.run(queue.close())
                while True:
                    try:
                        starts.append(session.run(step)[1][0])
                    except tf.errors.OutOfRangeError:
                        break
            out.write(f"case fixed_length size{size}_{header}_{record}_{footer}_{hop} size={size} header={header} "
                      f"record={record} footer={footer} hop={hop}\n")
            out.write(tensor_line("starts", np.array(starts, np.int64)))
            out.write("end\n")


plain_records()
examples()
sequences()
interleave()
fixed_length()
