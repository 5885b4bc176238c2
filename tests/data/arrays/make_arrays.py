"""Writes the arrays of this folder as NumPy writes them: value k is k - 10 (or k % 2 for bool)."""

from pathlib import Path

import numpy as np

folder = Path(__file__).parent
values = np.arange(30).reshape(5, 2, 3) - 10

for dtype in ["<f4", ">f4", "<f8", ">f8", "<f2", "|i1", "<i2", ">i2", "<i4", "<i8", ">i8"]:
    name = np.dtype(dtype).name + ("_big" if dtype[0] == ">" else "")
    np.save(folder / f"{name}.npy", values.astype(dtype))
np.save(folder / "uint8.npy", (values + 10).astype(np.uint8))
np.save(folder / "bool.npy", np.arange(30).reshape(5, 2, 3) % 2 == 1)
np.save(folder / "vector.npy", np.arange(9, dtype=np.float32) - 10)
for version in [(2, 0), (3, 0)]:
    with open(folder / f"version{version[0]}.npy", "wb") as file:
        np.lib.format.write_array(file, values.astype("<f4"), version=version)

# What cannot be read.
np.save(folder / "fortran.npy", np.asfortranarray(values[:, 0].astype("<f4")))
np.save(folder / "scalar.npy", np.float32(1.5))
np.save(folder / "complex.npy", values.astype(np.complex64))
np.save(folder / "uint16.npy", (values + 10).astype(np.uint16))
np.save(folder / "text.npy", np.array(["a", "bc"]))
np.save(folder / "fields.npy", np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")]))
np.save(folder / "objects.npy", np.array([{}, None], dtype=object), allow_pickle=True)
np.save(folder / "no_values.npy", np.zeros((5, 0), np.float32))
np.save(folder / "no_rows.npy", np.zeros((0, 3), np.float32))

arrays = {
    "images": (np.arange(48).reshape(12, 2, 2)).astype(np.uint8),
    "labels": np.arange(12) - 10,
    "short": np.arange(11) - 10,
}
np.savez(folder / "stored.npz", **arrays)
np.savez_compressed(folder / "deflated.npz", **arrays)
