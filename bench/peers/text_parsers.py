"""Ways for Python to turn lines of blank-separated numbers into a float32 array."""
import io

import numpy as np


def loadtxt(lines):
    """numpy.loadtxt, a C parser since NumPy 1.23."""
    return np.loadtxt(io.StringIO("".join(lines)), dtype=np.float32, ndmin=2)


def fromstring(lines):
    """numpy.fromstring, one call a line."""
    return np.stack([np.fromstring(line, dtype=np.float32, sep=" ") for line in lines])


def fromstring_block(lines):
    """numpy.fromstring, one call for all lines."""
    return np.fromstring("".join(lines), dtype=np.float32, sep=" ").reshape(len(lines), -1)


PARSERS = {f.__name__: f for f in (loadtxt, fromstring, fromstring_block)}
