#!/usr/bin/env python3
"""tf.data on image files: the peer of bench/image_benchmark.cpp.

    python bench/peers/images_tf.py --make DIRECTORY      # writes the files, once
    python bench/peers/images_tf.py DIRECTORY             # images/s with 1 and 2 threads

The files are synthetic photographs (smooth gradients, edges, and grain, 500 x 375, about 70 kB as JPEG of quality
90 with 4:2:0 chroma) as jpeg/, half as many of them as png/, and 64 x 64 pixels of each as small/ (JPEG).
"""
import argparse
import os
import pathlib
import time

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np

WIDTH, HEIGHT, COUNT = 500, 375, 200


def photograph(seed):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    image = np.stack([110 + 60 * np.sin(x / rng.uniform(40, 200) + y / rng.uniform(40, 200) + rng.uniform(0, 6))
                      for _ in range(3)], -1)
    for _ in range(40):  # things with edges
        cy, cx, r = rng.uniform(0, HEIGHT), rng.uniform(0, WIDTH), rng.uniform(8, 60)
        image[(y - cy) ** 2 + ((x - cx) * rng.uniform(0.5, 2)) ** 2 < r * r] += rng.uniform(-70, 70, 3)
    grain = rng.normal(0, 7, (HEIGHT, WIDTH, 1)) + rng.normal(0, 2, (HEIGHT, WIDTH, 3))
    return np.clip(image + grain, 0, 255).astype(np.uint8)


def make(directory):
    from PIL import Image
    for folder in ("jpeg/all", "png/all", "small/all"):
        (directory / folder).mkdir(parents=True, exist_ok=True)
    for i in range(COUNT):
        image = Image.fromarray(photograph(i))
        image.save(directory / f"jpeg/all/{i:04}.jpg", quality=90)
        if i % 2 == 0:
            image.save(directory / f"png/all/{i:04}.png")
        for k in range(5):
            part = image.crop((60 * k, 60 * k, 60 * k + 64, 60 * k + 64))
            part.save(directory / f"small/all/{i:04}-{k}.jpg", quality=90)
    sizes = [p.stat().st_size for p in (directory / "jpeg/all").iterdir()]
    print(f"{COUNT} files, {sum(sizes) / len(sizes) / 1000:.0f} kB each as JPEG")


def measure(name, folder, decode, threads, repeats=5):
    import tensorflow as tf
    paths = sorted(str(p) for p in folder.iterdir())
    data = tf.data.Dataset.from_tensor_slices((paths, np.zeros(len(paths), np.int64)))
    data = data.map(lambda path, label: (decode(tf.io.read_file(path)), label), num_parallel_calls=threads)
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    options.deterministic = False
    data = data.prefetch(64).with_options(options)
    rates, per_cpu = [], []
    for _ in range(repeats + 1):  # the first one fills the page cache and builds the graph
        start, busy = time.perf_counter(), time.process_time()
        count = sum(1 for _ in data)
        rates.append(count / (time.perf_counter() - start))
        per_cpu.append(count / (time.process_time() - busy))
    print(f"{name}/{threads}: best of {repeats}: {max(rates[1:]):,.0f} images/s, "
          f"{max(per_cpu[1:]):,.0f} per CPU second", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--make", action="store_true", help="write the files")
    arguments = parser.parse_args()
    if arguments.make:
        return make(arguments.directory)
    import tensorflow as tf
    tf.config.threading.set_inter_op_parallelism_threads(2)
    tf.config.threading.set_intra_op_parallelism_threads(1)

    def jpeg(**how):
        return lambda data: tf.io.decode_jpeg(data, channels=3, **how)

    accurate = jpeg(dct_method="INTEGER_ACCURATE")
    for threads in (1, 2):
        measure("jpeg", arguments.directory / "jpeg/all", accurate, threads)
        measure("jpeg_default", arguments.directory / "jpeg/all", jpeg(), threads)
        measure("jpeg_fast", arguments.directory / "jpeg/all",
                jpeg(dct_method="INTEGER_FAST", fancy_upscaling=False), threads)
        measure("jpeg_half", arguments.directory / "jpeg/all", jpeg(dct_method="INTEGER_ACCURATE", ratio=2), threads)
        measure("png", arguments.directory / "png/all", lambda data: tf.io.decode_png(data, channels=3), threads)
        measure("small", arguments.directory / "small/all", accurate, threads)


if __name__ == "__main__":
    main()
