#!/usr/bin/env python3
"""Time of PyTorch's eager training step of a 10-10-1 network with batch 1: what the framework costs, not arithmetic."""
import argparse

import torch
from measure import repeated, report, spread
from torch import nn


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=2000, help="steps in each repeat")
    p.add_argument("--warmup", type=int, default=500)
    p.add_argument("--repeats", type=int, default=5)
    p.add_argument("--compile", action="store_true", help="torch.compile of forward and loss")
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(10, 10), nn.Tanh(), nn.Linear(10, 1))
    x, y = torch.randn(1, 10), torch.ones(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def loss_of(x, y):
        return (model(x) - y).square().mean()

    compute = torch.compile(loss_of) if a.compile else loss_of

    def step():
        optimizer.zero_grad()
        compute(x, y).backward()
        optimizer.step()

    times = [ms * 1e3 for ms in repeated(step, a.steps, a.repeats, a.warmup)]
    report({"program": "tiny_step_torch", "compile": a.compile, **spread("us_per_step", times),
            "version": torch.__version__}, a.json)


if __name__ == "__main__":
    main()
