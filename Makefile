# Two commands for a newcomer: `make demo` and `make test`. Both build .venv first, from pinned versions.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := -m pip install --quiet --disable-pip-version-check
READY := $(VENV)/.ready
SOME_FAILED := build/.tests-failed
# Every test of the last run with its duration, as JUnit XML.
RAN := build/tests.xml
RAN_AGAIN := build/tests-failed.xml

# The theme prints a notice about its successor at each start.
export NO_MKDOCS_2_WARNING := 1

.PHONY: setup demo test test-failed test-report test-pythons test-account test-thorough test-ray test-gpu mutants check docs format reference architecture screenshots bench bench-peers oracles helm compiled clean
.PHONY: clients-open-inference clients-tf-serving clients-openai clients-cli clients-terraform clients-old-boto3 clients-javascript clients-sagemaker-v2 clients-sagemaker-v3

setup: $(READY)

# An older XGBoost is installed apart, which reads models that the pinned one no longer does (docs/reference/xgboost.md).
# A pip that compares versions quickly, and bytecode by all cores: not that of packages' own tests, nor of large packages of
# which little is imported, or which are compiled already. Processes that start together would each compile ours. A file that does not compile stands in nobody's way, as with pip.
SELDOM := moto|mypy|mypyc|pip|setuptools|pkg_resources|onnxruntime|onnx|debugpy|fontTools|playwright|pygments|tornado|wcwidth|prompt_toolkit|future|docutils|pymdownx|gunicorn|jedi|PIL|backrefs|IPython|sqlalchemy|alembic|mako|pydantic|griffe|babel|material|mkdocs|jsonpath_ng|watchdog|parso
# A pip unpacks on one core, so two of them begin with the largest packages. A third installs what is still missing, also what they could not.
# The older XGBoost is installed while bytecode is compiled.
LARGE := pyarrow playwright awscli scipy numpy ruff debugpy obstore awscrt
LARGE_TOO := onnxruntime mkdocs-material pandas scikit-learn mypy babel jedi matplotlib botocore onnx moto fonttools grpcio cryptography pillow sqlalchemy uvloop lightgbm psycopg-binary
$(READY): pyproject.toml constraints.txt hatch_build.py $(wildcard container/torpor_container/trees/*.[ch])
	@echo "Building $(VENV) from pinned versions: a minute or two, and 1.2 GB of disk. Only the first time."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) --constraint constraints.txt pip
	for part in "$(LARGE)" "$(LARGE_TOO)"; do $(BIN)/python $(PIP) --constraint constraints.txt --no-compile --no-deps $$part & done; wait
	$(BIN)/python $(PIP) --constraint constraints.txt --no-compile --editable ".[dev]"
	$$($(BIN)/python -c 'from torpor_container.formats.xgboost import older_versions; print(older_versions.command())') --quiet --disable-pip-version-check & \
	older=$$!; \
	$(BIN)/python -m compileall -qq -j 0 -x 'site-packages/(.*/tests|$(SELDOM))/' $(VENV)/lib container endpoint sdk || true; \
	wait $$older
	touch $(READY)

demo: $(READY)
	$(BIN)/torpor demo

# Hundreds of processes are started: each would compile what it imports where no bytecode is kept.
check test test-failed test-account test-thorough: export PYTHONDONTWRITEBYTECODE =

# Five workers on two cores: a test that starts servers waits for a good part of its time.
test: $(READY)
	@rm -f $(SOME_FAILED) $(RAN) $(RAN_AGAIN)
	$(BIN)/python -m pytest --numprocesses=5 --dist=worksteal -m "not thorough" --junitxml=$(RAN) || \
		{ status=$$?; if [ $$status = 1 ]; then mkdir -p build && touch $(SOME_FAILED); fi; exit $$status; }

# What failed in the last `make test`, one test at a time. It needs a run that came to its end.
test-failed: $(READY)
	@test -e $(SOME_FAILED) || { echo "There is no run of make test that came to its end with failed tests."; exit 1; }
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures=none -m "not thorough" --junitxml=$(RAN_AGAIN)

# What took how long in the last `make test`, and what passed only in `make test-failed`.
test-report: $(READY)
	@$(BIN)/python -m tests.run_report $(RAN) $(RAN_AGAIN)

# The whole suite on each of these Pythons, in an environment of its own: 1.2 GB each. What cannot be run is said, with its reason.
PYTHONS := 3.11 3.12 3.13 3.14
test-pythons: $(READY)
	$(BIN)/python -m tests.pythons $(PYTHONS)

# What `make test` leaves out to stay under ten minutes: long notebooks, the short run of the benchmarks, real minutes of scaling,
# brute forces, second seeds, long stories, and more examples of each property.
test-thorough: $(READY)
	$(BIN)/python -m pytest --numprocesses=2 -m "thorough or hypothesis" --hypothesis-profile=thorough

# The tests of the AWS account alone: enough for a change that stays in endpoint/torpor_account. CI runs all tests.
test-account: $(READY)
	$(BIN)/python -m pytest --numprocesses=2 -m "not thorough" tests/account tests/endpoint/account tests/endpoint/access tests/test_*.py

# The host of Ray, on a cluster of local processes: a head and two nodes. Ray has an environment of its own, with Torpor: 0.9 GB.
test-ray: build/ray/.ready
	build/ray/bin/python -m pytest -s tests/endpoint/host/test_host_contract.py tests/endpoint/host/ray -k ray

# Models on a GPU, on a machine that has one: the contract and the measurements, in an environment with the extra `gpu`. Eight minutes.
test-gpu: build/gpu/.ready
	build/gpu/bin/python -m torpor_container.devices cuda:0
	build/gpu/bin/python -m benchmarks.on_device --out build/on-device

build/gpu/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python $(PIP) --constraint constraints.txt --editable ".[gpu]" onnx
	touch $@

build/ray/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python $(PIP) --constraint constraints.txt --editable ".[cli,container,endpoint,moto,ray]" pytest pytest-xdist hypothesis
	touch $@

# Breaks the pure cores in one place at a time, and runs the room's tests with each fault; tests/mutants.md has the shares. MUTANTS=routing is one room.
mutants: $(READY)
	nice -n 10 $(BIN)/python -m tests.mutants $(MUTANTS)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# The site of docs/, to be read from the disk: a warning is an error (but not with --quiet). `$(BIN)/mkdocs serve` shows it while you write.
docs: $(READY)
	$(BIN)/mkdocs build
	@echo "Open build/docs/index.html."

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The tables of docs/ from the code's own tables; tests/test_readme.py fails where they differ.
reference: $(READY)
	$(BIN)/python -m tests.reference_tables

# The rooms and arrows of docs/architecture.md from the imports; tests/test_architecture.py fails where they differ.
architecture: $(READY)
	$(BIN)/python -m tests.architecture_drawing

# Pictures of the dashboard in its states, light and dark; docs/pictures has a few of them.
screenshots: $(READY)
	$(BIN)/python -m tests.dashboard_pictures build/screenshots

# Real clients, each with one command; docs/reference/clients.md has what they showed.
clients-cli: $(READY)
	TORPOR_CLIENTS=aws-cli $(BIN)/python -m pytest -s tests/clients/test_aws_cli.py

clients-terraform: $(READY)
	TORPOR_CLIENTS=terraform $(BIN)/python -m pytest -s tests/clients/test_terraform.py

clients-old-boto3: $(READY)
	$(PYTHON) -m venv build/old-boto3
	build/old-boto3/bin/python -m pip install --quiet --disable-pip-version-check 'boto3==1.34.*'
	TORPOR_CLIENTS=boto3-1.34 TORPOR_PYTHON=build/old-boto3/bin/python $(BIN)/python -m pytest -s tests/clients/test_old_boto3.py

clients-javascript: $(READY)
	mkdir -p build && cp -r tests/clients/javascript build/
	npm install --no-audit --no-fund --prefix build/javascript
	TORPOR_CLIENTS=javascript TORPOR_JAVASCRIPT=build/javascript $(BIN)/python -m pytest -s tests/clients/test_javascript.py

clients-open-inference: $(READY)
	$(PYTHON) -m venv build/open-inference
	build/open-inference/bin/python -m pip install --quiet --disable-pip-version-check 'tritonclient[http,grpc]==2.73.*' open-inference-openapi
	$(PYTHON) -m venv build/kserve
	build/kserve/bin/python -m pip install --quiet --disable-pip-version-check 'kserve==0.21.*'
	$(PYTHON) -m venv build/open-inference-grpc
	build/open-inference-grpc/bin/python -m pip install --quiet --disable-pip-version-check open-inference-grpc protobuf
	$(PYTHON) -m venv build/mlserver
	build/mlserver/bin/python -m pip install --quiet --disable-pip-version-check 'mlserver==1.7.*'
	for pair in triton:open-inference kserve:kserve mlserver:mlserver stubs:open-inference-grpc; do \
	    TORPOR_CLIENTS=open-inference TORPOR_PROGRAM=$${pair%%:*} TORPOR_PYTHON=build/$${pair##*:}/bin/python \
	        $(BIN)/python -m pytest -s tests/clients/test_open_inference.py || exit 1; \
	done

clients-tf-serving: $(READY)
	$(PYTHON) -m venv build/tf-serving
	build/tf-serving/bin/python -m pip install --quiet --disable-pip-version-check 'tf-serving==0.1.*'
	TORPOR_CLIENTS=tf-serving TORPOR_PYTHON=build/tf-serving/bin/python $(BIN)/python -m pytest -s tests/clients/test_tf_serving.py

clients-openai: $(READY)
	$(PYTHON) -m venv build/openai
	build/openai/bin/python -m pip install --quiet --disable-pip-version-check 'openai==3.*'
	TORPOR_CLIENTS=openai TORPOR_PYTHON=build/openai/bin/python $(BIN)/python -m pytest -s tests/clients/test_openai.py

# The SageMaker SDKs have environments of their own: version 2 takes 0.3 GB, version 3 takes 1 GB.
clients-sagemaker-v2 clients-sagemaker-v3: clients-sagemaker-v%: $(READY) build/sagemaker-v%/.ready
	build/sagemaker-v$*/bin/python -m tests.clients.sagemaker_v$* --torpor $(BIN)

build/sagemaker-v%/.ready:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check 'sagemaker==$*.*'
	touch $@

# Every section of the benchmarks; `$(BIN)/python -m benchmarks warm` is one. Peers take part once they are installed. What else there is:
# benchmarks/README.md.
bench: $(READY)
	$(BIN)/python -m benchmarks

# Other servers to measure beside, each in an environment of its own: 3 GB of disk. Those that are not to be had on every machine (Triton's wheel
# is for x86-64 and glibc 2.35) are tried last, and done without.
bench-peers: build/peers/mlserver/.ready build/peers/litserve/.ready build/peers/rayserve/.ready
	@for peer in bentoml triton; do $(MAKE) --no-print-directory build/peers/$$peer/.ready || \
		echo "$$peer cannot be installed here, and takes no part."; done

build/peers/%/.ready: benchmarks/peers/%/requirements.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

# Eviction policies against another's simulator, to the last hit. It is GPL, and has an environment of its own: 0.2 GB.
oracles: build/oracles/.ready
	build/oracles/bin/python -m pytest --noconftest -p no:torpor tests/container/core/eviction/test_oracles.py

build/oracles/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[oracles]"
	touch $@

# Renders the Helm chart by Helm itself, and checks it by Kubernetes' schemas, after each change to it. They have an environment of their own: 0.4 GB.
helm: build/helm/.ready
	build/helm/bin/python -m tests.deploy.helm.rendering

build/helm/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[helm]"
	touch $@

COMPILED_IN := build/compiled
# The decisions and the simulator around them as C extensions, for long studies: the same sources, five to six times as fast. A class that
# inherits from one of their classes must be among them.
COMPILED := torpor_container/core/occupancy.py torpor_container/core/residency.py torpor_container/core/turns.py torpor_container/core/keepalive.py \
	torpor_container/core/resting.py torpor_container/core/eviction/*.py torpor_endpoint/core/routing/ready_slots.py torpor_endpoint/core/placement.py torpor_endpoint/in_service/incarnation.py \
	torpor_endpoint/core/traffic.py torpor_endpoint/core/scaling.py torpor_endpoint/core/sending/machine.py torpor_endpoint/core/sending/trail.py \
	torpor/simulator/engine/virtual_time.py torpor/simulator/engine/processors.py \
	torpor/workloads/profile.py torpor/simulator/engine/waiting_room.py torpor/simulator/engine/call_records.py torpor/simulator/engine/simulated_disk.py \
	torpor/simulator/engine/simulated_predictions.py torpor/simulator/engine/on_device/*.py torpor/simulator/engine/simulated_container.py \
	torpor/simulator/engine/sizing_rounds.py torpor/simulator/engine/idle_models.py torpor/simulator/engine/handovers/brought_models.py torpor/simulator/engine/simulated_instance.py torpor/simulator/engine/simulated_variant.py \
	torpor/simulator/engine/apart/*.py torpor/simulator/engine/variant/*.py \
	torpor/simulator/components/copies/simulated_adapters.py torpor/simulator/components/copies/simulated_copy.py

compiled: $(READY)
	rm -rf $(COMPILED_IN) && mkdir -p $(COMPILED_IN)
	cp -r container/torpor_container endpoint/torpor_account endpoint/torpor_endpoint sdk/torpor $(COMPILED_IN)
	cd $(COMPILED_IN) && $(CURDIR)/$(BIN)/mypyc --config-file= --ignore-missing-imports --follow-imports=silent $(COMPILED)
	@echo "To use it: PYTHONPATH=$(COMPILED_IN) torpor plan TRACE --slo-ms 100"

clean:
	rm -rf $(VENV) build dist
