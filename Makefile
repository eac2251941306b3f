# quizglass: `make demo` shows it working, `make test` checks it, `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
GPU_VENV ?= .venv-gpu
# Of PyTorch without CUDA, which PyPI's has (gigabytes); empty: as the usual index has it.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
BIN := $(VENV)/bin
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder
STARTER := models/starter
SEED ?=
THINGS ?= 2000
QUESTIONS ?= 800
JOBS ?= 2
MINUTES ?= 295
THREADS ?= 2
ACCURACY ?=
ENGINE ?=
LATENCY ?=
EXPORT ?=
KNOWLEDGE ?=
HOSTILE ?=
NETWORK ?=
IMPORTS ?=
COUNT ?= 1000
SESSION ?=
POLICIES ?=
DEMO ?=
VOICE ?=
EVERYDAY ?=
RECIPES ?=
BENCH ?=
OWN ?=
FUZZ ?=
IMAGE_LLAMA ?= compiled
ADVISORIES ?=
CLIENTS ?= yes
WEB_PACKAGES := tests/browser/node_modules/.package-lock.json
TYPESCRIPT_PACKAGES := clients/typescript/node_modules/.package-lock.json

.PHONY: help fuzz demo voice demo-world llama everyday everyday-test models-test serve doctor test test-all test-lab python-tests clients clients-needs clients-packages \
	web-packages typescript-packages test-web test-typescript test-java check lint types unit protos protos-typescript \
	docs wheels client client-typescript client-java generated-check starter bundle \
	bench-accuracy bench-policies bench-verdict bench-languages bench-latency bench-engine bench-export bench-knowledge \
	audit image image-check test-image gpu-check bench-hostile bench-imports bench-network soak bench-session bench-voice bench-everyday bench-own bench-recipes clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-17s %s\n", $$1, $$2}'

# What a Python that is too old, or without venv, would leave here would be taken for an environment the next time.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "quizglass needs Python 3.11 or later, and $(PYTHON) is $$($(PYTHON) --version 2>&1); name another: PYTHON=python3.12"; exit 1; }
	@new=$$([ -e $(VENV) ] || echo yes); $(PYTHON) -m venv $(VENV) || { [ -z "$$new" ] || rm -rf $(VENV); \
		echo "$(PYTHON) makes no environment; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade pip

# Enough for bundles without a generator: hnswlib alone is compiled, in seconds.
$(VENV)/.server: pyproject.toml bundle/pyproject.toml server/pyproject.toml export/pyproject.toml lab/pyproject.toml | $(VENV)/bin/python
	@command -v $${CXX:-c++} >/dev/null || { \
		echo "hnswlib is compiled when it is installed, and there is no C++ compiler; on Debian and Ubuntu: apt install build-essential python3-dev"; exit 1; }
	@echo "Installing the server"
	$(BIN)/python -m pip install --quiet --progress-bar on -e '.[cli]' -e ./bundle -e './server[onnx,web]' -e ./export
	@touch $@

# A generator without compiling: llama.cpp of our own where it is installed or in the cache, and else a prebuilt one.
$(VENV)/.generator: $(wildcard server/native/*) $(VENV)/.server
	@[ -e $(VENV)/.llama ] || $(BIN)/python server/native/wheel.py --install --cached 2>/dev/null || { \
		echo "Installing llama.cpp prebuilt (xllamacpp); make llama compiles one that answers faster"; \
		$(BIN)/python -m pip install --quiet --progress-bar on -e ./bundle -e './server[cpu,web]'; }
	@touch $@

# Compiled from source once, for every CPU of this architecture; the wheel stays in the user's cache.
$(VENV)/.llama: $(wildcard server/native/*) $(VENV)/.server
	@echo "Installing llama.cpp (compiled once, about ten minutes on two cores)"
	$(BIN)/python server/native/wheel.py --install
	$(BIN)/python -m pip install --quiet -e ./bundle -e './server[onnx,llama,web]'
	@touch $@

# PyTorch alone, in one attempt of seconds: an index that cannot be reached is tried for every package, many times each.
$(VENV)/.dev: $(VENV)/.llama
	@echo "Installing what tests and export need"
	@[ -z "$(TORCH_INDEX)" ] || $(BIN)/python -m pip install --quiet --no-deps --retries 1 --timeout 10 \
		--index-url $(TORCH_INDEX) "$$(sed -n 's/^ *"\(torch==[^"]*\)".*/\1/p' export/pyproject.toml)" \
		|| echo "Not from $(TORCH_INDEX): the usual index gives PyTorch, with CUDA where it is PyPI"
	$(BIN)/python -m pip install --quiet --progress-bar on -e '.[heic,import,dev]' -e ./bundle -e './server[onnx,llama,web,tls,otel,mcp,milvus,voice]' -e './export[train]' -e ./lab
	@touch $@

demo: $(VENV)/.server ## Real photographs and notes: fetch, build, serve, ask twelve questions; no PyTorch, no llama.cpp
	$(BIN)/python -m clients.demo.demo $(DEMO)

# The programs that hear and speak are installed into an environment of their own, below work/demo/speech.
voice: $(VENV)/.server ## Ask three questions by voice and hear the answers: fetch Whisper and Piper, serve, speak
	$(BIN)/python -c 'import wyoming' 2>/dev/null || $(BIN)/python -m pip install --quiet -e ./bundle -e './server[onnx,web,voice]'
	$(BIN)/python -m clients.demo.voice $(VOICE)

demo-world: $(VENV)/.generator ## The same on the starter bundle and its drawn world, by every kind of policy
	PYTHONPATH=lab $(BIN)/python -m quizglass_lab.demo.world --bundle $(STARTER)/bundle

llama: $(VENV)/.llama ## Compile llama.cpp for every processor: generators answer faster than with the prebuilt one

everyday: $(VENV)/.dev ## Build the bundle with a generator, and adapters trained for it, from packages; ask it eight questions
	$(BIN)/python -m quizglass_lab.demo.everyday $(EVERYDAY)

everyday-test: $(VENV)/.dev ## The tests of the everyday bundle (downloads its packages)
	$(BIN)/python -m pytest -q -m everyday tests/lab/integration/test_everyday_demo.py

models-test: $(VENV)/.dev ## Ten families of models that see, made tiny and answered with (fetches llama.cpp's source)
	$(BIN)/python -m pytest -q -m models tests/integration/roles/shared/test_vision_models.py

fuzz: $(VENV)/.dev ## Malformed and hostile requests, ten minutes an entry (downloads atheris; FUZZ="chat --minutes 1")
	$(BIN)/python -m pip install --quiet 'atheris>=3,<4'
	$(BIN)/python -m tests.fuzz $(FUZZ)

serve: $(VENV)/.generator ## Serve the starter bundle on 127.0.0.1:50061, for browsers on http://127.0.0.1:50062
	$(BIN)/quizglass-server --bundle $(STARTER)/bundle --knowledge .run/knowledge --web-port 50062

audit: $(VENV)/.server ## Known vulnerabilities of the installed packages (offline: ADVISORIES=FILE); their SBOM and licences in work/audit
	ADVISORIES=$(ADVISORIES) deploy/audit.sh $(BIN)/python

image: ## Build the container image without Docker (root, buildah, debootstrap; IMAGE_LLAMA=none: without llama.cpp)
	LLAMA=$(IMAGE_LLAMA) deploy/image/build.sh

image-check: ## Start that image as it says, with the demo's bundle (make demo), and ask it a question
	deploy/image/check.sh

test-image: ## Build that image without llama.cpp, start it and ask it; says what is missing where it cannot (root, buildah)
	deploy/image/test.sh

doctor: $(VENV)/.server ## What this machine can do, what is slow or wrong on it, and what to do about it
	$(BIN)/quizglass-server doctor --bundle $(firstword $(wildcard work/demo/quotes) $(STARTER)/bundle) --knowledge .run/knowledge

test: python-tests ## Every check that this machine has the tools for; names the other clients' tests (CLIENTS=no: Python alone)
	@[ "$(CLIENTS)" = no ] || clients/test.sh

test-all: clients-needs python-tests clients ## Every check; begins by naming what is missing of Node, Chromium and Java

test-lab: $(VENV)/.dev ## The tests of the laboratory: pocketworld, training, fine-tuning, data sets, scores
	$(PYTEST) tests/lab

# Beside each other: tests that wait for a server or a deadline leave time for the types.
python-tests: $(VENV)/.dev
	@$(MAKE) --no-print-directory -j 2 check unit

clients: test-web test-typescript test-java ## The tests of the page, of the TypeScript client and of the Java client

clients-needs:
	@clients/needs.sh

clients-packages: web-packages

web-packages: $(WEB_PACKAGES) $(TYPESCRIPT_PACKAGES)

typescript-packages: $(TYPESCRIPT_PACKAGES)

test-web: $(VENV)/.dev $(WEB_PACKAGES) $(TYPESCRIPT_PACKAGES) ## Page and TypeScript client in a real Chromium (needs Node 20, npm and Chromium)
	cd clients/typescript && npm run --silent build
	cd tests/browser && npm run --silent types && PYTHON=$(abspath $(BIN)/python) npm test --silent

# npm writes this file last: what was half installed is installed again.
$(WEB_PACKAGES): tests/browser/package.json tests/browser/package-lock.json
	@command -v npm >/dev/null || { echo "make test-web needs Node 20 or later with npm: apt install nodejs npm (Debian 12 has 18; newer ones are at https://nodejs.org)"; exit 1; }
	cd tests/browser && npm ci --silent --no-audit --no-fund
	@touch $@

test-typescript: $(VENV)/.dev $(TYPESCRIPT_PACKAGES) ## The TypeScript client under Node (needs Node 20 and npm)
	$(BIN)/python clients/typescript/generate.py --check
	cd clients/typescript && npm run --silent build && npm run --silent types && PYTHON=$(abspath $(BIN)/python) npm test --silent

$(TYPESCRIPT_PACKAGES): clients/typescript/package.json clients/typescript/package-lock.json
	@command -v npm >/dev/null || { echo "The TypeScript client needs Node 20 or later with npm: apt install nodejs npm (Debian 12 has 18; newer ones are at https://nodejs.org)"; exit 1; }
	cd clients/typescript && npm ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

test-java: $(VENV)/.dev ## The Java client (needs Debian's Java, gRPC and JUnit; says what to install)
	PYTHON=$(abspath $(BIN)/python) clients/java/build.sh test

check: lint types generated-check ## Static checks

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

# In the order of the folders: the slowest files have few tests, and one of them would come last, beside an idle worker.
# Compiled modules are kept, whatever the environment says: hundreds of processes start, each of which would compile them.
unit: $(VENV)/.dev
	$(PYTEST) --ignore tests/lab

protos: $(VENV)/.dev ## Regenerate the checked-in protobuf code
	$(BIN)/python protos/generate.py

protos-typescript: $(VENV)/.dev $(TYPESCRIPT_PACKAGES) ## Regenerate the checked-in protocol of the TypeScript client
	$(BIN)/python clients/typescript/generate.py

client: $(VENV)/.dev ## Regenerate the checked-in blocking client from the asynchronous one
	$(BIN)/python clients/python/generate.py

client-typescript: $(TYPESCRIPT_PACKAGES) ## Build the TypeScript client: clients/typescript/dist
	cd clients/typescript && npm run --silent build

docs: $(VENV)/.docs ## Build the documentation as a site that needs no server: build/docs/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	@echo "Installing MkDocs"
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	@touch $@

wheels: $(VENV)/.dev ## Build the wheels of client, bundle format, server and exporter: dist/
	.ci/wheels dist $(BIN)/python

client-java: ## Build the Java client: clients/java/build/quizglass-client.jar
	clients/java/build.sh

generated-check: $(VENV)/.dev
	$(BIN)/python protos/generate.py --check
	$(BIN)/python clients/python/generate.py --check

starter: $(VENV)/.dev ## Train the starter models (about five hours on two cores; resumes where it stopped)
	$(BIN)/quizglass-lab starter --workdir work/starter --minutes $(MINUTES) --threads $(THREADS)
	$(BIN)/quizglass-lab pack-checkpoints --from work/starter --out $(STARTER)/checkpoints --replace
	$(MAKE) bundle

bundle: $(VENV)/.dev ## Build the starter bundle from its checkpoints, with the parity check
	$(BIN)/quizglass-lab build --checkpoints $(STARTER)/checkpoints --out $(STARTER)/bundle --replace

bench-accuracy: $(VENV)/.dev ## Accuracy of every policy (SEED="drawn from the commit" THINGS=2000 QUESTIONS=800 ACCURACY="--only planning --resume")
	$(BIN)/python -m bench.accuracy --seeds $(SEED) --things $(THINGS) --questions $(QUESTIONS) $(ACCURACY)

bench-policies: $(VENV)/.dev ## The control flow of every policy, with decisions given (POLICIES="--only hops --resume")
	$(BIN)/python -m bench.policies $(POLICIES)

bench-verdict: $(VENV)/.dev ## The check of an answer beside labelled pairs of real sentences
	$(BIN)/python -m bench.verdict

bench-languages: $(VENV)/.dev ## Questions in forty languages, and English ones of many kinds: which are refused
	$(BIN)/python -m bench.languages

bench-latency: $(VENV)/.dev ## Turns, start and memory beside an earlier commit (LATENCY="--spans", "--only turns --resume")
	$(BIN)/python -m bench.latency --seed $(firstword $(SEED) 101) --things $(THINGS) --questions $(QUESTIONS) $(LATENCY)

bench-engine: $(VENV)/.dev ## The engine, scorers and server under load, beside peers (ENGINE="--only gaps --resume")
	$(BIN)/python -m bench.engine $(ENGINE)

bench-export: $(VENV)/.dev ## Parity of every architecture, precisions, heads, memory (EXPORT="--only graphs --resume")
	$(BIN)/python -m bench.export $(EXPORT)

bench-knowledge: $(VENV)/.dev ## The knowledge store beside others, damaged, killed (KNOWLEDGE="--only index-10k --resume")
	$(BIN)/python -m bench.knowledge $(KNOWLEDGE)

bench-hostile: $(VENV)/.dev ## Memory and the turns of others under hostile input (HOSTILE="--only pictures --resume")
	$(BIN)/python -m bench.hostile $(HOSTILE)

bench-imports: $(VENV)/.dev ## Damaged, odd and hostile files given to the import (SEED=1 COUNT=1000 IMPORTS="--only tables")
	$(BIN)/python -m bench.imports --seed $(firstword $(SEED) 1) --count $(COUNT) $(IMPORTS)

soak: $(VENV)/.dev ## Three tenants on one server that is disturbed all the time (SOAK="--minutes 60")
	$(BIN)/python -m bench.network --only soak $(SOAK)

bench-network: $(VENV)/.dev ## What TLS, tokens and metrics cost, and who is turned away (NETWORK="--only tokens --resume")
	$(BIN)/python -m bench.network $(NETWORK)

gpu-check: $(GPU_VENV)/.gpu ## What a card runs, answers beside the CPU's, scorers beside PyTorch (GPU="--only measure --resume")
	$(GPU_VENV)/bin/python -m bench.gpu $(GPU)

# An environment of its own: onnxruntime-gpu and onnxruntime, which tests need, have the same files. llama.cpp is compiled
# for cards where CUDA's compiler is there. TensorRT comes from NVIDIA's own index, which not every machine reaches.
$(GPU_VENV)/.gpu: pyproject.toml bundle/pyproject.toml server/pyproject.toml export/pyproject.toml lab/pyproject.toml $(wildcard server/native/*)
	@$(MAKE) --no-print-directory VENV=$(GPU_VENV) $(GPU_VENV)/bin/python
	@echo "Installing what a card runs (gigabytes: PyTorch, CUDA, cuDNN)"
	@cuda="--define GGML_CUDA=ON"; command -v nvcc >/dev/null || { cuda=; \
		echo "no nvcc: llama.cpp is compiled for CPUs alone, and the section generator cannot run; CUDA 13's toolkit has it"; }; \
		$(GPU_VENV)/bin/python server/native/wheel.py --install $$cuda
	$(GPU_VENV)/bin/python -m pip install --quiet --progress-bar on "$$(sed -n 's/^gpu = .*"\(onnxruntime-gpu[^"]*\)".*/\1/p' server/pyproject.toml)" \
		-e '.[cli]' -e ./bundle -e './server[llama,web,tls]' -e './export[train]' -e ./lab
	@$(GPU_VENV)/bin/python -m pip install --quiet --retries 1 "$$(sed -n 's/^gpu = .*"\(tensorrt[^"]*\)".*/\1/p' server/pyproject.toml)" \
		|| echo "TensorRT was not to be had: its provider is left out"
	@touch $@

bench-session: $(VENV)/.dev ## A wearable's session: times, cuts, bytes, memory (SESSION="--only cuts --resume")
	$(BIN)/python -m bench.session $(SESSION)

bench-voice: $(VENV)/.dev ## Speech: times, word errors, answers by voice, memory, cuts (BENCH="--only words --resume")
	$(BIN)/python -m bench.voice $(BENCH)

bench-everyday: $(VENV)/.dev ## The everyday bundle on real photographs, passages and facts (BENCH="--only texts --resume")
	$(BIN)/python -m bench.everyday $(BENCH)

bench-own: $(VENV)/.dev ## A person's own photographs and notes: what is answered (OWN="--split dev --bundle FOLDER --resume")
	$(BIN)/python -m bench.own $(OWN)

bench-recipes: $(VENV)/.dev ## Planners trained as the paper does, and what they gain (RECIPES="--only planners --resume")
	$(BIN)/python -m bench.recipes $(RECIPES)

clean: ## Remove what was made here, the knowledge in .run included (not the trained models)
	rm -rf $(VENV) $(GPU_VENV) .run .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
	rm -rf clients/java/build clients/typescript/dist {clients/typescript,tests/browser}/node_modules
