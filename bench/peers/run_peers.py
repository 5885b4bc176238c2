#!/usr/bin/env python3
"""Runs the peers in several configurations, keeps the best of each workload, writes everything to one JSON file.

    python run_peers.py --threads 2 --features F --labels L --output peers.json
    python run_peers.py --only step tiny --models lenet mlp --threads 1 2

Every run is a process of its own with the environment that serves the peer best (see README.md), on as many CPUs
as it has threads. The file has `best`, the result with the best median of each workload ("step/lenet/threads2", "headline/torch/threads2",
"tiny"), and `runs`, all of them with their configuration.
"""
import argparse
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
MODELS = ("headline", "lenet", "cifar", "mlp")
TUNED = {  # freed memory stays in the process, in huge pages where they are
    "MALLOC_MMAP_THRESHOLD_": str(4 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
    "MALLOC_TOP_PAD_": str(256 << 20),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}


def environment(threads, malloc, extra):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS_", "OMP_", "MALLOC_", "GLIBC_"))}
    tuned = TUNED if malloc == "tuned" else {}
    return kept | {"OMP_NUM_THREADS": str(threads), "TF_CPP_MIN_LOG_LEVEL": "3"} | tuned | extra


def step_runs(a, threads):
    """(workload, script, arguments, environment) of the training steps."""
    for model in a.models:
        common = ["--model", model, "--threads", str(threads), "--steps", str(a.steps), "--repeats", str(a.repeats)]
        layouts = [[]] if model == "mlp" else [[], ["--channels-last"]]
        kinds = [[], ["--fused"]] + ([["--compile"]] if a.compile else [])
        for layout in layouts:
            for kind in kinds:
                yield f"step/{model}/threads{threads}", "train_step_torch.py", common + layout + kind, {}
        for kind, extra in (([], {}), ([], {"TF_ENABLE_ONEDNN_OPTS": "0"}), (["--xla"], {})):
            yield f"step/{model}/threads{threads}", "train_step_tf.py", common + kind, extra


def headline_runs(a, threads):
    """The whole headline job, PyTorch and TensorFlow apart; shuffle_batch with more threads tears samples apart."""
    files = ["--features", a.features, "--labels", a.labels]
    counts = ["--steps", str(a.headline_steps), "--warmup", "3"]
    pipelines = [(parser, threads, 1, []) for parser in ("fromstring", "fromstring_block", "loadtxt")]
    pipelines += [("loadtxt", threads, 1, ["--channels-last"]), ("loadtxt", threads, threads, []),
                  ("loadtxt", threads - 1, 1, [])]
    for parser, workers, training, layout in pipelines:
        yield (f"headline/torch/threads{threads}", "headline_torch.py",
               files + counts + layout + ["--parser", parser, "--workers", str(workers), "--threads", str(training)], {})
    common = files + counts + ["--threads", str(threads)]
    yield f"headline/tf1/threads{threads}", "headline_tf1.py", common, {}
    yield f"headline/tf1_torn/threads{threads}", "headline_tf1.py", common + ["--num-threads", str(threads)], {}


def tiny_runs(a):
    yield "tiny", "tiny_step_torch.py", ["--repeats", str(a.repeats)], {}
    if a.compile:
        yield "tiny", "tiny_step_torch.py", ["--repeats", str(a.repeats), "--compile"], {}


def plan(a):
    for threads in a.threads:
        if "step" in a.only:
            for run in step_runs(a, threads):
                yield threads, *run
        if "headline" in a.only:
            for run in headline_runs(a, threads):
                yield threads, *run
    if "tiny" in a.only:
        for run in tiny_runs(a):
            yield 1, *run


def run(script, arguments, env, threads, timeout):
    """The result that the script prints in its last line, or {"error": ...}."""
    cpus = sorted(os.sched_getaffinity(0))[:threads]
    process = subprocess.Popen([sys.executable, str(HERE / script), *arguments, "--json"], env=env, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                               preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"error": f"not done after {timeout} s"}
    try:
        return json.loads(out.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        return {"error": f"exit code {process.returncode}: {err.strip().splitlines()[-1:]}"}


def better(a, b):
    """Whether result a beats result b: more samples a second, or less time a step."""
    if "samples_per_s" in a:
        return a["samples_per_s"] > b["samples_per_s"]
    key = "us_per_step" if "us_per_step" in a else "ms_per_step"
    return a[key] < b[key]


def figure(result):
    if "error" in result:
        return result["error"]
    if "samples_per_s" in result:
        return f"{result['samples_per_s']:.0f} samples/s, CPU {result['cpu_percent']:.0f} %"
    if "us_per_step" in result:
        return f"{result['us_per_step']:.1f} us/step"
    return f"{result['ms_per_step']:.2f} ms/step"


def parse_args():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", nargs="+", choices=("step", "headline", "tiny"), default=["step", "headline", "tiny"])
    p.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    p.add_argument("--threads", nargs="+", type=int, default=[len(os.sched_getaffinity(0))])
    p.add_argument("--malloc", nargs="+", choices=("tuned", "default"), default=["tuned"])
    p.add_argument("--compile", action="store_true", help="also with torch.compile (slow to start)")
    p.add_argument("--steps", type=int, default=20, help="training steps in each repeat")
    p.add_argument("--repeats", type=int, default=5)
    p.add_argument("--headline-steps", type=int, default=10)
    p.add_argument("--rounds", type=int, default=1, help="how often the whole set runs")
    p.add_argument("--features", help="for headline: 3,900 numbers a line")
    p.add_argument("--labels", help="for headline: 15 numbers a line")
    p.add_argument("--timeout", type=float, default=300, help="seconds for one run")
    p.add_argument("--output", default="peers.json")
    a = p.parse_args()
    if "headline" in a.only and not (a.features and a.labels):
        p.error("headline needs --features and --labels (or leave it out: --only step tiny)")
    return a


def main():
    a = parse_args()
    runs, best, wanted = [], {}, set()
    for _ in range(a.rounds):
        for threads, workload, script, arguments, extra in plan(a):
            wanted.add(workload)
            for malloc in a.malloc:
                result = run(script, arguments, environment(threads, malloc, extra), threads, a.timeout)
                entry = {"workload": workload, "script": script, "arguments": arguments, "malloc": malloc,
                         "environment": extra, "result": result}
                runs.append(entry)
                if "error" not in result and (workload not in best or better(result, best[workload]["result"])):
                    best[workload] = entry
                options = " ".join(arguments + [f"{k}={v}" for k, v in extra.items()])
                print(f"{workload:28} {figure(result):32} {script} {options} malloc={malloc}", flush=True)
    report = {"date": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "machine": platform.platform(),
              "cpus": len(os.sched_getaffinity(0)), "best": best, "runs": runs}
    pathlib.Path(a.output).write_text(json.dumps(report, indent=1) + "\n")
    print()
    for workload, entry in best.items():
        print(f"best {workload:28} {figure(entry['result']):32} {entry['script']}")
    missing = wanted - best.keys()
    if missing:
        sys.exit(f"no result for {', '.join(sorted(missing))}")


if __name__ == "__main__":
    main()
