#!/usr/bin/env python3
"""Time of one training step in PyTorch: forward, loss, backward, SGD with momentum, on synthetic data."""
import argparse

import torch
from measure import repeated, report, spread
from models_torch import MODELS, synthetic_batch


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--model", choices=sorted(MODELS), default="headline")
    p.add_argument("--batch", type=int, help="default: the model's own")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--channels-last", action="store_true", help="NHWC in memory")
    p.add_argument("--compile", action="store_true", help="torch.compile of forward and loss (needs a C++ compiler)")
    p.add_argument("--fused", action="store_true", help="the fused SGD kernel")
    p.add_argument("--repeats", type=int, default=5)
    p.add_argument("--steps", type=int, default=20, help="steps in each repeat")
    p.add_argument("--warmup", type=int, default=5)
    p.add_argument("--json", action="store_true")
    a = p.parse_args()

    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    make = MODELS[a.model]
    batch = a.batch or make.batch
    model = make().train()
    x, y = synthetic_batch(make, batch)
    if a.channels_last and x.dim() == 4:
        model = model.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.8, fused=a.fused or None)

    def loss_of(x, y):
        return model.loss(model(x), y)

    compute = torch.compile(loss_of) if a.compile else loss_of

    def step():
        optimizer.zero_grad()
        loss = compute(x, y)
        loss.backward()
        optimizer.step()
        return loss

    first = step().item()
    times = repeated(step, a.steps, a.repeats, a.warmup)
    last = step().item()
    report({"program": "train_step_torch", "model": a.model, "batch": batch, "threads": a.threads,
            "channels_last": a.channels_last, "compile": a.compile, "fused": a.fused,
            **spread("ms_per_step", times), "loss_first": first, "loss_last": last,
            "version": torch.__version__}, a.json)


if __name__ == "__main__":
    main()
