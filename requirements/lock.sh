#!/bin/sh
# Regenerates the lock files after a change of the dependencies in pyproject.toml. Needs uv. Versions that still fit stay.
#
#   sh requirements/lock.sh [build] [dev] [serve] [web]
set -eu
cd "$(dirname "$0")/.."

lock() { # NAME PURPOSE ARGUMENTS...
    name=$1 purpose=$2
    shift 2
    uv pip compile "$@" --universal --fork-strategy fewest --generate-hashes --no-annotate --no-header --no-emit-index-url --quiet \
        --output-file "requirements/$name.txt"
    { echo "# $purpose. Written by: sh requirements/lock.sh $name"; cat "requirements/$name.txt"; } > "requirements/.$name"
    mv "requirements/.$name" "requirements/$name.txt"
}

for name in ${*:-build dev serve web}; do
    case $name in
    build) echo 'hatchling>=1.26' | lock build "Building the package" - --python-version 3.12 ;;
    dev) lock dev "Development" pyproject.toml --extra dev --constraints constraints.txt --python-version 3.11 ;;
    serve) lock serve "The container without photographs" pyproject.toml --extra serve --python-version 3.12 ;;
    web) lock web "The container with photographs" pyproject.toml --extra web --python-version 3.12 ;;
    *) echo "there is no lock $name: build, dev, serve or web" >&2; exit 2 ;;
    esac
done
