#!/bin/sh
# Brings .venv to what a lock file says: tools/setup.sh requirements.lock [FOLDER]. Needs Python 3.11 or newer, nothing else.
# A folder that was left half made, or that was made in another folder, is thrown away.
set -eu
cd "$(dirname "$0")/.."
lock=$1
python=${PYTHON:-python3}
venv=${2:-.venv}
unset PYTHONDONTWRITEBYTECODE PYTHONPATH || true

fail() {
    echo "setup: $*" >&2
    exit 1
}

pip() { $venv/bin/python -m pip install -q --disable-pip-version-check "$@"; }
uv() { $venv/bin/uv pip install -q --python $venv/bin/python "$@"; }

if [ -f $venv/.busy ]; then
    other=$(cat $venv/.busy)
    if [ -n "$other" ] && kill -0 "$other" 2>/dev/null; then
        fail "process $other is already setting up $venv; wait for it, then try again"
    fi
fi
if [ -f $venv/.busy ] || [ ! -x $venv/bin/python ] || [ "$(cat $venv/.made 2>/dev/null)" != "$(pwd -P)" ]; then
    command -v "$python" >/dev/null || fail "$python was not found. Python 3.11 or newer is needed (PYTHON=… names another)"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "Python 3.11 or newer is needed; $python is $("$python" -V 2>&1) (PYTHON=… names another)"
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "$python cannot make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv"
    echo "setup: making $venv" >&2
    rm -rf $venv
    mkdir $venv
    echo $$ >$venv/.busy
    "$python" -m venv $venv
    # uv is ten times faster; where it has no wheel, pip does the same work.
    pip --only-binary :all: "uv==0.13.9" 2>/dev/null || echo "setup: without uv, which cannot be had here: slower" >&2
fi

echo $$ >$venv/.busy
rm -f "$venv/.$lock.ok"
echo "setup: installing $lock" >&2
[ -x $venv/bin/uv ] && uv --compile-bytecode --only-binary :all: --require-hashes -r "$lock" || pip --only-binary :all: --require-hashes -r "$lock"
pip --no-deps --no-build-isolation --editable .
$venv/bin/python -m compileall -q services shared || true
pwd -P >$venv/.made
touch "$venv/.$lock.ok"
rm -f $venv/.busy
