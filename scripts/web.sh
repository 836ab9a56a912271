#!/usr/bin/env bash
# Works on a copy of the pages under target/, with the packages that their lock file names.
#   scripts/web.sh check                               builds them and compares them with the committed ones
#   scripts/web.sh test <name>...                      runs these browser tests; TICKETTOCK is the binary, DATA_DIR its data
#   scripts/web.sh screenshots <url> <token> <folder>  pictures of every page, in both sizes and both themes
set -euo pipefail
cd "$(dirname "$0")/.."

copy=$PWD/target/web/web
mkdir -p "$copy" target/web/sdk/typescript
# Packages are installed once per lock file; everything else is copied anew.
find "$copy" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name installed -exec rm -rf {} +
rm -rf target/web/sdk/typescript/src
tar -C web --exclude ./node_modules --exclude ./dist -cf - . | tar -C "$copy" -xf -
cp -R sdk/typescript/src target/web/sdk/typescript/src
cd "$copy"
if ! cmp -s package-lock.json installed; then
    npm ci --no-audit --no-fund --loglevel=error
    cp package-lock.json installed
fi
case "${1:-check}" in
test)
    shift
    files=("${@/#/tests/}")
    exec node --test --test-concurrency=1 --test-reporter=spec "${files[@]/%/.test.mjs}"
    ;;
screenshots)
    exec node tests/screenshots.mjs "$2" "$3" "$4"
    ;;
esac

npm run --silent check
npm run --silent build
cd - >/dev/null
if ! diff -rq "$copy/dist" web/dist; then
    echo "web/dist is not what the sources make; run: make web" >&2
    exit 1
fi
