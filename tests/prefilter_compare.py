"""Compares rule filters that install from PyPI with the pre-execution filter, on the same rows.

    python3 -m venv target/compare
    target/compare/bin/pip install injectguard==0.1.1 regex pyyaml pydantic
    target/compare/bin/pip install --no-deps pytector==0.4.0 prompt-armor==0.9.1
    target/compare/bin/python tests/prefilter_compare.py PORTCULLIS FILE...

Each is used as it comes, by rules alone: injectguard's scanner; the keywords with which pytector blocks; the rule layer of prompt-armor
(L1), at its own threshold for blocking. Models that the last two can add are left out. Each row's time is the median of three calls, a set's
the median of its rows: of Python filters a call within the process, of PORTCULLIS what `prefilter eval` prints. The start of a process is in
none. Rows without a label, or labelled `benign` or `control`, are harmless: a refusal of theirs is a false positive.
"""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

# Times that each row is judged.
CALLS = 3


def injectguard():
    from injectguard.scanner import Scanner

    scanner = Scanner()
    return lambda text: scanner.scan(text).is_injection


def module(package, path, name):
    """A module of an installed package without the package's own imports, which ask for models."""
    root = Path(importlib.util.find_spec(package).submodule_search_locations[0])
    spec = importlib.util.spec_from_file_location(name, root / path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def pytector():
    keywords = [k.lower() for k in module("pytector", "sanitizer.py", "pytector_sanitizer").DEFAULT_KEYWORDS]

    def blocks(text):
        lowered = text.lower()
        return any(keyword in lowered for keyword in keywords)

    return blocks


def prompt_armor():
    import types

    package = types.ModuleType("prompt_armor")
    package.__path__ = importlib.util.find_spec("prompt_armor").submodule_search_locations
    sys.modules["prompt_armor"] = package
    from prompt_armor.config import ShieldConfig
    from prompt_armor.layers.l1_regex import L1RegexLayer

    config = ShieldConfig()
    layer = L1RegexLayer(config)
    layer.setup()
    return lambda text: layer.analyze(text).score >= config.thresholds.block_above


def portcullis(program, file):
    command = [program, "prefilter", "eval", "--repeat", str(CALLS), "--json", "--data", file]
    run = subprocess.run(command, capture_output=True, check=False)
    if run.returncode:
        sys.exit(run.stderr.decode())
    whole = next(line for line in json.loads(run.stdout)["sets"] if not line["variant"])
    return whole["of"], whole["median_ns"], whole["counts"]


def judged(judge, texts):
    refused, medians = 0, []
    for text in texts:
        nanos = []
        for _ in range(CALLS):
            start = time.perf_counter_ns()
            verdict = bool(judge(text))
            nanos.append(time.perf_counter_ns() - start)
        refused += verdict
        medians.append(sorted(nanos)[CALLS // 2])
    return refused, sorted(medians)[len(medians) // 2]


def main():
    program, files = sys.argv[1], sys.argv[2:]
    filters = {
        "injectguard 0.1.1": injectguard(),
        "pytector 0.4.0 keywords": pytector(),
        "prompt-armor 0.9.1 L1": prompt_armor(),
    }
    loads = [os.getloadavg()[0]]
    print("| set | counted | rows | " + " | ".join([*filters, "portcullis"]) + " |")
    print("| --- | --- | --- |" + " --- |" * (len(filters) + 1))
    for file in files:
        rows = [json.loads(line) for line in open(file, encoding="utf-8")]
        texts = [row.get("text") or row["output"] for row in rows]
        cells = [judged(judge, texts) for judge in filters.values()]
        refused, median, counts = portcullis(program, file)
        cells.append((refused, median))
        shown = [f"{n} = {100 * n / len(texts):.1f} %, {t / 1000:.0f} µs" for n, t in cells]
        print(f"| {Path(file).stem} | {counts} | {len(texts)} | " + " | ".join(shown) + " |", flush=True)
        loads.append(os.getloadavg()[0])
    print(f"\n{os.cpu_count()} cores, load {min(loads):.1f} to {max(loads):.1f}")


main()
