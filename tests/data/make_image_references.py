#!/usr/bin/env python3
"""Writes small image files, images/*, and what TensorFlow and Pillow make of them, images.txt.

    pip install tensorflow-cpu numpy pillow
    python tests/data/make_image_references.py

The format of images.txt is that of op_references/record.py: a case `decode FILE` has the bytes of the image
with 1, 3 and 4 channels where the peer can give them; the other cases are single steps on one image.
"""
import logging
import os
import pathlib
import struct
import zlib

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
logging.getLogger("tensorflow").setLevel(logging.ERROR)

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from PIL import Image  # noqa: E402

from op_references.record import Family, random  # noqa: E402

FOLDER = pathlib.Path(__file__).parent
IMAGES = FOLDER / "images"
HEIGHT, WIDTH = 19, 21


def picture(name):
    """Soft colours with some noise: what JPEG is made for."""
    rng = random(name)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    waves = [128 + 100 * np.sin(x / rng.uniform(3, 8) + y / rng.uniform(3, 8) + rng.uniform(0, 6)) for _ in range(3)]
    return np.clip(np.stack(waves, -1) + rng.normal(0, 6, (HEIGHT, WIDTH, 3)), 0, 255).astype(np.uint8)


def save_jpegs():
    rgb = Image.fromarray(picture("jpeg"))
    rgb.save(IMAGES / "rgb.jpg", quality=90)
    rgb.save(IMAGES / "full.jpg", quality=95, subsampling=0)
    rgb.save(IMAGES / "progressive.jpg", quality=85, progressive=True)
    rgb.convert("L").save(IMAGES / "grey.jpg", quality=90)
    rgb.convert("CMYK").save(IMAGES / "cmyk.jpg", quality=95)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def interlaced_png(pixels):
    """Pillow writes no interlaced files: the seven passes of Adam7, by hand."""
    height, width, _ = pixels.shape
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    rows = b"".join(b"\0" + row.tobytes() for y, x, dy, dx in passes for row in pixels[y::dy, x::dx] if row.size)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def save_pngs():
    pixels = picture("png")
    rgb = Image.fromarray(pixels)
    rgb.save(IMAGES / "rgb.png")
    alpha = Image.fromarray(np.linspace(0, 255, HEIGHT * WIDTH).astype(np.uint8).reshape(HEIGHT, WIDTH))
    rgba = rgb.copy()
    rgba.putalpha(alpha)
    rgba.save(IMAGES / "rgba.png")
    rgb.convert("L").save(IMAGES / "grey.png")
    rgb.convert("1").save(IMAGES / "bits.png")
    rgb.quantize(12).save(IMAGES / "palette.png")
    rgb.quantize(12).save(IMAGES / "transparent.png", transparency=3)
    Image.fromarray(pixels[..., 0].astype(np.uint16) * 257).save(IMAGES / "grey16.png")
    (IMAGES / "interlaced.png").write_bytes(interlaced_png(pixels))


def pillow(name, channels):
    mode = {1: "L", 3: "RGB", 4: "RGBA"}[channels]
    with Image.open(IMAGES / name) as image:
        if image.mode.startswith("I"):  # 16 bits of grey
            image = Image.fromarray((np.asarray(image) // 257).astype(np.uint8))
        return np.asarray(image.convert(mode)).reshape(HEIGHT, WIDTH, channels)


def decoded(family):
    for path in sorted(IMAGES.glob("*.jpg")):
        data = path.read_bytes()
        with_tf = {f"channels{c}": tf.io.decode_jpeg(data, channels=c, dct_method="INTEGER_ACCURATE").numpy()
                   for c in (1, 3) if not (path.stem == "cmyk" and c == 1)}
        if path.stem == "rgb":
            with_tf["fast"] = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_FAST",
                                                fancy_upscaling=False).numpy()
            with_tf["half"] = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE", ratio=2).numpy()
        family.record("decode", path.name, {}, with_tf)
    for path in sorted(IMAGES.glob("*.png")):
        channels = (1, 3, 4) if path.stem != "grey16" else (1,)
        family.record("decode", path.name, {}, {f"channels{c}": pillow(path.name, c) for c in channels})


def steps(family):
    rng = random("steps")
    pixels = rng.integers(0, 256, (5, 7, 3)).astype(np.uint8)
    floats = np.round(rng.uniform(0, 255, (5, 7, 3)), 2).astype(np.float32)
    for name, image in (("uint8", pixels), ("float32", floats)):
        for method in ("bilinear", "nearest"):
            for height, width in ((10, 9), (3, 4), (5, 7), (1, 1)):
                for half in (True, False):
                    if half:
                        out = tf.image.resize(image, (height, width), method=method)
                    elif method == "bilinear":
                        out = tf.compat.v1.image.resize_bilinear(image[None], (height, width))[0]
                    else:
                        out = tf.compat.v1.image.resize_nearest_neighbor(image[None], (height, width))[0]
                    case = f"{method}_{name}_{height}x{width}_{'centres' if half else 'corners'}"
                    family.record("resize", case, {"method": method, "half_pixel_centers": half},
                                  {"in0": image, "out0": out.numpy()})
    family.record("brightness", "by_20.5", {"delta": 20.5},
                  {"in0": floats, "out0": tf.image.adjust_brightness(floats, 20.5).numpy()})
    for factor in (0.2, 1.8):
        family.record("contrast", f"by_{factor}", {"factor": factor},
                      {"in0": floats, "out0": tf.image.adjust_contrast(floats, factor).numpy()})
    flat = np.full((4, 4, 3), 7, np.float32)
    for name, image in (("noise", floats), ("one_colour", flat)):
        family.record("standardize", name, {},
                      {"in0": image, "out0": tf.image.per_image_standardization(image).numpy()})
    for name, image in (("uint8", pixels), ("float32", floats)):
        family.record("mirror", name, {}, {"in0": image, "out0": tf.image.flip_left_right(image).numpy()})
        for height, width in ((3, 4), (2, 7)):
            out = tf.image.resize_with_crop_or_pad(image, height, width)
            family.record("center", f"{name}_{height}x{width}", {}, {"in0": image, "out0": out.numpy()})


def main():
    IMAGES.mkdir(exist_ok=True)
    save_jpegs()
    save_pngs()
    family = Family("images")
    decoded(family)
    steps(family)
    family.write(FOLDER)


if __name__ == "__main__":
    main()
