#!/usr/bin/env bash
# Builds the TypeScript client and tries it against a running server, in a copy under target/.
# Usage: scripts/sdk.sh <base url> <admin token>
set -euo pipefail
cd "$(dirname "$0")/.."

export SHOP_URL=$1 ADMIN_TOKEN=$2
copy=$PWD/target/sdk/typescript
mkdir -p "$copy" target/openapi
# Packages are installed once per lock file; everything else is copied anew.
find "$copy" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name installed -exec rm -rf {} +
tar -C sdk/typescript --exclude node_modules --exclude dist --exclude dist-test -cf - . | tar -C "$copy" -xf -
cp LICENSE "$copy/"
cd "$copy"
if ! cmp -s package-lock.json installed; then
    npm ci --no-audit --no-fund --loglevel=error
    cp package-lock.json installed
fi

# The committed types are those of the committed document.
npx --no-install openapi-typescript ../../../openapi/tickettock.yaml --output target-schema.ts >/dev/null
if ! diff -q target-schema.ts src/schema.ts >/dev/null; then
    echo "sdk/typescript/src/schema.ts is not what openapi/tickettock.yaml says; run: make sdk" >&2
    exit 1
fi
rm target-schema.ts

# Strict types, with the typos that must not compile; then the tests.
npx --no-install tsc --project tsconfig.json
node --test --test-reporter=spec "dist-test/test/client.test.js"

# As a stranger has it: packed, installed in an empty project, with the code of the README.
npx --no-install tsc --project tsconfig.build.json
npm pack --silent >/dev/null
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
cp tickettock-*.tgz "$empty/"
awk '/^```ts$/ { on = 1; next } /^```$/ { on = 0 } on' README.md >"$empty/first.mts"
cd "$empty"
printf '{ "private": true, "type": "module" }\n' >package.json
npm install --no-audit --no-fund --loglevel=error ./tickettock-*.tgz
cp first.mts first.mjs
node first.mjs
