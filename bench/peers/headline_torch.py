#!/usr/bin/env python3
"""The headline program as a PyTorch user writes it today: text files, DataLoader workers, shuffle buffer, training.

Each worker parses every n-th block of lines of both files; the training loop shuffles in a buffer of
min_after_dequeue + 3 batches, as the queue of the program does. The files are read again when they end.
"""
import argparse
import itertools

import torch
from measure import MemoryWatch, SteadyState, report
from models_torch import Headline
from text_parsers import PARSERS
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

MIN_AFTER_DEQUEUE = 10


class TextBlocks(IterableDataset):
    """Yields blocks (features [block, 3900], labels [block, 15]) for ever."""

    def __init__(self, features, labels, parse, block):
        self.features, self.labels, self.parse, self.block = features, labels, parse, block

    def __iter__(self):
        torch.set_num_threads(1)
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        while True:
            with open(self.features) as features, open(self.labels) as labels:
                for index in itertools.count():
                    xs = list(itertools.islice(features, self.block))
                    ys = list(itertools.islice(labels, self.block))
                    if len(xs) < self.block or len(ys) < self.block:
                        break
                    if index % workers == worker:
                        yield torch.from_numpy(self.parse(xs)), torch.from_numpy(self.parse(ys))


def shuffled(blocks, batch):
    """Random batches from a buffer that never falls below MIN_AFTER_DEQUEUE samples."""
    capacity = MIN_AFTER_DEQUEUE + 3 * batch
    x, y = torch.empty(capacity, 3900), torch.empty(capacity, 15)
    held = 0
    for bx, by in blocks:
        x[held:held + len(bx)], y[held:held + len(by)] = bx, by
        held += len(bx)
        while held >= batch + MIN_AFTER_DEQUEUE:
            order = torch.randperm(held)
            picked, kept = order[:batch], order[batch:]
            yield x[picked], y[picked]
            held -= batch
            x[:held], y[:held] = x[kept], y[kept]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--features", required=True)
    p.add_argument("--labels", required=True)
    p.add_argument("--parser", choices=sorted(PARSERS), default="fromstring_block")
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--threads", type=int, default=1, help="of the training loop")
    p.add_argument("--block", type=int, default=250, help="lines a worker parses at once")
    p.add_argument("--batch", type=int, default=1000)
    p.add_argument("--channels-last", action="store_true")
    p.add_argument("--steps", type=int, default=10)
    p.add_argument("--warmup", type=int, default=3)
    p.add_argument("--json", action="store_true")
    a = p.parse_args()

    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    blocks = DataLoader(TextBlocks(a.features, a.labels, PARSERS[a.parser], a.block), batch_size=None,
                        num_workers=a.workers, prefetch_factor=4 if a.workers else None)
    model = Headline().train()
    if a.channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.8)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 200, 0.8)
    memory = MemoryWatch()
    memory.start()
    steady = SteadyState(a.warmup, a.steps, a.batch)
    losses = []
    for x, y in itertools.islice(shuffled(blocks, a.batch), a.warmup + a.steps):
        optimizer.zero_grad()
        loss = model.loss(model(x.view(-1, *Headline.sample)), y)
        loss.backward()
        gradient_norm = sum(v.grad.square().sum() / 2 for v in model.parameters())
        optimizer.step()
        schedule.step()
        losses.append((loss.item(), gradient_norm.item()))
        steady.step_done()
    report({"program": "headline_torch", "parser": a.parser, "workers": a.workers, "threads": a.threads,
            "batch": a.batch, "steps": a.steps, "channels_last": a.channels_last,
            **steady.result(), **memory.stop(), "loss_first": losses[0][0], "loss_last": losses[-1][0],
            "version": torch.__version__}, a.json)


if __name__ == "__main__":
    main()
