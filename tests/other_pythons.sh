#!/usr/bin/env bash
# A slice of the tests on every other Python that is on PATH, each in a fresh environment; the rest is named as skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
export CPPFLAGS=-DPyEval_CallObject=PyObject_CallObject PIP_DISABLE_PIP_VERSION_CHECK=1
own="$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
status=0
for version in 3.11 3.12 3.13 3.14; do
  [ "$version" != "$own" ] || continue
  python="$(command -v "python$version" || true)"
  # a version manager's stand-in may be on PATH without the version behind it
  [ -n "$python" ] && "$python" -c '' 2>/dev/null || python="$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python"$version" 2>/dev/null | tail -1 || true)"
  if [ -z "$python" ]; then echo "Python $version: skipped, not on this machine"; continue; fi
  place="$(mktemp -d)"
  "$python" -m venv "$place"
  "$place/bin/python" -m pip install --quiet --upgrade pip  # for --group
  "$place/bin/python" -m pip install --quiet setuptools . --group test
  "$place/bin/python" -m pip install --quiet durable-rules==2.0.28 || echo "Python $version: durable-rules cannot be built here; CLIPS infers"
  # the wheel is what is installed; the tests come from here, the package does not
  slice="$place/slice"; mkdir "$slice"; tar c --exclude node_modules tests sample_captures pyproject.toml Makefile | tar x -C "$slice"
  echo "Python $version:"
  (cd "$slice" && "$place/bin/python" -m pytest -q -n auto -p no:cacheprovider ${ARGS:-tests/ground/test_units.py tests/rulebook/test_expression.py tests/inference/test_engine.py tests/commands/test_diagnose.py tests/contracts/test_p3_cases.py \
    tests/dialects/nvidia/test_ncu_exports.py tests/dialects/amd/test_rocprof.py tests/dialects/graphics/test_gpu_trace.py tests/contracts/test_engines_agree.py}) || status=1
  rm -rf "$place"
done
exit "$status"
