"""Timing, resource use and output, the same for every peer."""
import json
import os
import pathlib
import platform
import statistics
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def repeated(step, steps, repeats, warmup):
    """Milliseconds per step, one figure a repeat."""
    for _ in range(warmup):
        step()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(steps):
            step()
        found.append((time.perf_counter() - start) / steps * 1e3)
    return found


def spread(name, values):
    """Median, minimum and maximum as they stand in a result: {name: ..., name_min: ..., name_max: ...}."""
    return {name: statistics.median(values), f"{name}_min": min(values), f"{name}_max": max(values)}


def report(result, as_json):
    """Prints a result, a flat dictionary, as one readable line or as one line of JSON."""
    if as_json:
        print(json.dumps(result | {"python": platform.python_version()}), flush=True)
    else:
        print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in result.items()), flush=True)


def _stat(pid):
    """The fields of /proc/<pid>/stat from the third on (they are counted from 1 in its manual)."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def family(root=None):
    """This process and everything below it."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(_stat(entry.name)[1])
            except OSError:
                pass  # it has just ended
    found = [root or os.getpid()]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def cpu_seconds():
    """User and system time of all processes of the family that live."""
    total = 0
    for pid in family():
        try:
            fields = _stat(pid)
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def seconds_since_start():
    """Wall time since this process was started, imports included (to a hundredth of a second)."""
    uptime = float(pathlib.Path("/proc/uptime").read_text().split()[0])
    return uptime - int(_stat(os.getpid())[19]) / TICKS


class MemoryWatch(threading.Thread):
    """Samples the memory of all processes of the family together until it is stopped.

    rss counts a page that two processes share twice, pss counts it once; the larger the number of
    workers, the more they differ.
    """

    def __init__(self, interval=0.1):
        super().__init__(daemon=True)
        self.interval = interval
        self.peak_rss = self.peak_pss = 0
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(self.interval):
            self.sample()

    def sample(self):
        rss = pss = 0
        for pid in family():
            try:
                rss += int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
                for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                    if line.startswith("Pss:"):
                        pss += int(line.split()[1]) * 1024
            except OSError:
                continue
        self.peak_rss, self.peak_pss = max(self.peak_rss, rss), max(self.peak_pss, pss)

    def stop(self):
        self.sample()
        self.over.set()
        self.join()
        return {"peak_rss_mb": self.peak_rss / 1e6, "peak_pss_mb": self.peak_pss / 1e6}


class SteadyState:
    """samples/s, ms/step and CPU use of `measured` steps after the warm-up; tell it of each step."""

    def __init__(self, warmup, measured, batch):
        self.warmup, self.measured, self.batch = warmup, measured, batch
        self.steps = 0

    def step_done(self):
        self.steps += 1
        if self.steps == 1:
            self.first = seconds_since_start()
        if self.steps == self.warmup:
            self.start = time.perf_counter(), cpu_seconds()
        if self.steps == self.warmup + self.measured:
            self.end = time.perf_counter(), cpu_seconds()

    def result(self):
        wall, cpu = (end - start for start, end in zip(self.start, self.end))
        return {
            "samples_per_s": self.measured * self.batch / wall,
            "ms_per_step": wall / self.measured * 1e3,
            "cpu_percent": cpu / wall * 100,
            "first_step_s": self.first,
        }
