#!/usr/bin/env bash
# A slice of the tests on every other Python that is on PATH, each in a fresh environment; the rest is named as skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
export CPPFLAGS=-DPyEval_CallObject=PyObject_CallObject PIP_DISABLE_PIP_VERSION_CHECK=1
own="$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
logs="$(mktemp -d)"
trap 'rm -rf "$logs"' EXIT

slice() {  # PYTHON VERSION
  local place; place="$(mktemp -d)"
  trap 'rm -rf "$place"' RETURN
  "$1" -m venv "$place" || return 1
  "$place/bin/python" -m pip install --quiet --upgrade pip || return 1  # for --group
  "$place/bin/python" -m pip install --quiet setuptools . --group test || return 1
  "$place/bin/python" -m pip install --quiet durable-rules==2.0.28 || echo "Python $2: durable-rules cannot be built here; CLIPS infers"
  # the wheel is what is installed; the tests come from here, the package does not
  mkdir "$place/slice"; git ls-files -z tests sample_captures pyproject.toml Makefile | tar c --null -T - | tar x -C "$place/slice" || return 1  # no caches: others write them now
  cd "$place/slice" && "$place/bin/python" -m pytest -q -n auto -p no:cacheprovider ${ARGS:-tests/ground/test_units.py tests/rulebook/test_expression.py tests/inference/test_engine.py tests/commands/test_diagnose.py tests/contracts/test_p3_cases.py \
    tests/dialects/nvidia/test_ncu_exports.py tests/dialects/amd/test_rocprof.py tests/dialects/graphics/test_gpu_trace.py tests/contracts/test_engines_agree.py}
}

declare -A running=()  # beside each other: while one waits for packages, another tests
for version in 3.11 3.12 3.13 3.14; do
  [ "$version" != "$own" ] || continue
  python="$(command -v "python$version" || true)"
  # a version manager's stand-in may be on PATH without the version behind it
  [ -n "$python" ] && "$python" -c '' 2>/dev/null || python="$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python"$version" 2>/dev/null | tail -1 || true)"
  if [ -z "$python" ]; then echo "Python $version: skipped, not on this machine"; continue; fi
  (slice "$python" "$version") >"$logs/$version" 2>&1 & running[$version]=$!
done
status=0
for version in "${!running[@]}"; do
  wait "${running[$version]}" || status=1
  echo "Python $version:"; cat "$logs/$version"
done
exit "$status"
