#!/bin/sh
# Writes requirements.lock, requirements-dev.lock and requirements-bench.lock from pyproject.toml. Arguments go to uv, such as --upgrade.
# `uv pip compile` and not `uv lock`: its output names no index, and plain pip can install it.
set -eu
cd "$(dirname "$0")/.."
UV=.venv/bin/uv
[ -x "$UV" ] || UV=uv

compile() {
    out=$1
    shift
    "$UV" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
        --all-extras --group build "$@" pyproject.toml --output-file "$out"
}

compile requirements.lock "$@"
compile requirements-dev.lock --group dev --constraint requirements.lock "$@"
compile requirements-bench.lock --group bench --constraint requirements.lock --only-binary :all: "$@"

if grep -nE '://|^--(index|extra-index|find-links|trusted)' requirements.lock requirements-dev.lock requirements-bench.lock; then
    echo "lock: an address stands in a lock file; it must hold on every machine" >&2
    exit 1
fi
