#!/usr/bin/env bash
# The lower bounds of the dependencies, in a fresh environment, against a fast slice of the tests.
#   tests/min_versions.sh [PYTHON]      default python3.11; needs a package index
set -euo pipefail
cd "$(dirname "$0")/.."
python="${1:-python3.11}"
place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT
"$python" -m venv "$place/venv"
pip() { "$place/venv/bin/python" -m pip --disable-pip-version-check "$@"; }
# the bounds stand in pyproject.toml and nowhere else
mapfile -t bounds < <("$python" - <<'PY'
import tomllib
for text in tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]:
    name = text.partition(";")[0].strip()
    if ">=" in name:
        print(name.partition(",")[0].replace(">=", "=="))
PY
)
echo "lower bounds: ${bounds[*]}"
pip install --quiet "${bounds[@]}" pytest hypothesis jsonschema markdown-it-py
CPPFLAGS=-DPyEval_CallObject=PyObject_CallObject pip install --quiet setuptools durable-rules==2.0.28 || echo "durable-rules cannot be built here; CLIPS infers"
pip install --quiet --no-deps --no-build-isolation hatchling pathspec pluggy packaging trove-classifiers >/dev/null
pip install --quiet --no-deps --no-build-isolation .
"$place/venv/bin/python" -m pytest -q -p no:cacheprovider ${ARGS:-tests/ground/test_units.py tests/rulebook/test_expression.py tests/rulebook/test_rulefile.py tests/inference/test_engine.py tests/commands/test_diagnose.py \
  tests/contracts/test_p3_cases.py tests/dialects/nvidia/test_ncu_exports.py tests/dialects/graphics/test_gpu_trace.py tests/dialects/amd/test_rocprof.py tests/dialects/traces/test_nsys.py tests/reading/test_marker_tree.py tests/contracts/test_scale.py tests/files/test_cache.py tests/products/test_batch.py}
