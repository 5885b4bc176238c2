"""Writes from_python.safetensors, a file of every dtype as Python's safetensors writes it."""

from pathlib import Path

import torch
from safetensors.torch import save_file

values = torch.tensor([[0, 1, 2], [3, 100, 127]])
tensors = {
    name: values.to(dtype)
    for name, dtype in {
        "f64": torch.float64,
        "f32": torch.float32,
        "bf16": torch.bfloat16,
        "f16": torch.float16,
        "i8": torch.int8,
        "i16": torch.int16,
        "i32": torch.int32,
        "i64": torch.int64,
        "u8": torch.uint8,
        "bool": torch.bool,
    }.items()
}
tensors["scalar"] = torch.tensor(1.5)
tensors["empty"] = torch.zeros(0, 4)
save_file(tensors, Path(__file__).with_name("from_python.safetensors"), {"made by": "Python"})
