"""Compares rule filters that install from PyPI with the pre-execution filter, on the same rows.

    python3 -m venv target/compare
    target/compare/bin/pip install injectguard==0.1.1 regex pyyaml pydantic
    target/compare/bin/pip install --no-deps pytector==0.4.0 prompt-armor==0.9.1
    target/compare/bin/python tests/prefilter_compare.py PORTCULLIS FILE...

Each is used as it comes, by rules alone: injectguard's scanner; the keywords with which pytector blocks; the rule layer of prompt-armor
(L1), at its own threshold for blocking. Models that the last two can add are left out. Times of Python filters are of a call within the
process; the time of the whole run of PORTCULLIS is divided by its rows, with its start.
"""

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path


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
    start = time.perf_counter_ns()
    run = subprocess.run([program, "prefilter", "--json", "--jsonl", file], capture_output=True, check=False)
    took = time.perf_counter_ns() - start
    if run.returncode not in (0, 3):
        sys.exit(run.stderr.decode())
    return [json.loads(line)["route"] != "executive" for line in run.stdout.splitlines()], took


def main():
    program, files = sys.argv[1], sys.argv[2:]
    filters = {"injectguard 0.1.1": injectguard(), "pytector 0.4.0 keywords": pytector(), "prompt-armor 0.9.1 L1": prompt_armor()}
    print("| set | rows | " + " | ".join([*filters, "portcullis"]) + " |")
    print("| --- | --- |" + " --- |" * (len(filters) + 1))
    for file in files:
        texts = [json.loads(line)["text"] for line in open(file, encoding="utf-8")]
        cells = []
        for judge in filters.values():
            refused, nanos = 0, []
            for text in texts:
                start = time.perf_counter_ns()
                refused += bool(judge(text))
                nanos.append(time.perf_counter_ns() - start)
            cells.append((refused, sorted(nanos)[len(nanos) // 2]))
        refused, took = portcullis(program, file)
        cells.append((sum(refused), took // max(len(texts), 1)))
        shown = [f"{n} = {100 * n / len(texts):.1f} %, {t / 1000:.0f} µs" for n, t in cells]
        print(f"| {Path(file).stem} | {len(texts)} | " + " | ".join(shown) + " |")


main()
