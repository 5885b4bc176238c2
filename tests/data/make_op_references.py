#!/usr/bin/env python3
"""Writes the reference values that the op tests compare with: <family>.txt next to this script.

    pip install tensorflow-cpu torch numpy
    python tests/data/make_op_references.py [family ...]

The same versions give the same files. See op_references/record.py for the format.
"""
import argparse
import logging
import os
import pathlib

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
logging.getLogger("tensorflow").setLevel(logging.ERROR)

from op_references import array, elementwise, models, nn, reductions, training  # noqa: E402

FAMILIES = [elementwise.binary, elementwise.unary, reductions.reductions, array.array,
            nn.matmul, nn.conv, nn.pool, nn.normalization, nn.losses,
            training.optimizers, training.schedules, training.moving_averages, models.models]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", help="default: all")
    wanted = parser.parse_args().families
    for make in FAMILIES:
        family = make()
        if not wanted or family.name in wanted:
            family.write(pathlib.Path(__file__).parent)


if __name__ == "__main__":
    main()
