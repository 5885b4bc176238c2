"""Writes examples.txt as scikit-learn writes sparse text, and what scikit-learn reads from it
and from by_hand.txt: <name>_features.npy and <name>_labels.npy."""

from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

folder = Path(__file__).parent
random = np.random.default_rng(7)
features = random.normal(size=(40, 12)) * (random.random((40, 12)) < 0.4)
labels = random.integers(0, 2, 40) * 2 - 1
dump_svmlight_file(features, labels, str(folder / "examples.txt"), zero_based=False,
                   comment="made by make_libsvm.py\nwith two lines of words")

for name, count in [("examples", 12), ("by_hand", 9)]:
    x, y = load_svmlight_file(str(folder / f"{name}.txt"), n_features=count, zero_based=False)
    np.save(folder / f"{name}_features.npy", x.toarray().astype(np.float32))
    np.save(folder / f"{name}_labels.npy", y.astype(np.float32))
