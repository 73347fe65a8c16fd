# Torpor as two images. docs/how-to/kubernetes.md says how they are built, and what of them was tried where.
#
#   docker build --target endpoint --tag torpor-endpoint .    the endpoint, which may run instances of its own; a router
#                                                             is this image with `python -m torpor_endpoint.router`
#   docker build --target instance --tag torpor-instance .    one instance: for a cluster, for SageMaker, or for any
#                                                             other platform that speaks its container contract
#
# What is installed is pinned by constraints.txt. To pin the rest, name the base by its digest: --build-arg PYTHON=python@sha256:...
ARG PYTHON=python:3.12-slim-bookworm

# -- what both have: a user without rights, and the OpenMP runtime of XGBoost and scikit-learn ---------------------------
FROM ${PYTHON} AS base
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 \
 && rm -rf /var/lib/apt/lists/* /var/log/* /var/cache/ldconfig \
 && groupadd --gid 65532 torpor && useradd --uid 65532 --gid 65532 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin torpor
ENV PATH=/opt/torpor/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1

# -- the packages, in a virtual environment that the images take as a whole ----------------------------------------------
FROM ${PYTHON} AS sources
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# For the extension that walks flat trees. Without a compiler the images work too, and the libraries serve all models.
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
RUN python -m venv /opt/torpor
COPY pyproject.toml hatch_build.py README.md LICENSE constraints.txt ./
COPY container ./container
COPY endpoint ./endpoint
COPY sdk ./sdk

FROM sources AS instance-packages
RUN /opt/torpor/bin/pip install --constraint constraints.txt ".[container]"
# An older XGBoost beside it reads the models that the newer one no longer does.
RUN $(/opt/torpor/bin/python -c 'from torpor_container.formats.xgboost import older_versions; print(older_versions.command())')
# Bytecode that holds by its source's content, and not by a date: the same sources give the same files.
RUN /opt/torpor/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/torpor/lib || true

FROM instance-packages AS endpoint-packages
RUN /opt/torpor/bin/pip install --constraint constraints.txt ".[cli,endpoint,grpc,kubernetes,moto,otel,postgresql,simulator,tls]"
RUN /opt/torpor/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/torpor/lib || true

# -- the endpoint --------------------------------------------------------------------------------------------------------
FROM base AS endpoint
COPY --from=endpoint-packages /opt/torpor /opt/torpor
RUN install --directory --owner=65532 --group=65532 --mode=0700 /data
USER 65532:65532
VOLUME /data
EXPOSE 4700
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:4700/_torpor/health', timeout=4)"]
# Not `torpor up`, which would print a new root credential: it is in /data/credentials.
ENTRYPOINT ["python", "-m", "torpor_endpoint", "--what-if=torpor.simulator.what_if"]
CMD ["--host=0.0.0.0", "--data-dir=/data", "--auth"]

# -- the instance: the last one, which `docker build` makes where no target is named -------------------------------------
FROM base AS instance
# What CreateModel checks on SageMaker before it takes an image for a multi-model endpoint.
LABEL com.amazonaws.sagemaker.capabilities.multi-models=true \
      com.amazonaws.sagemaker.capabilities.accept-bind-to-port=true
COPY --from=instance-packages /opt/torpor /opt/torpor
RUN install --directory --owner=65532 --group=65532 /opt/ml
USER 65532:65532
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["torpor-container", "ping"]
# SageMaker runs the image with the one argument `serve`.
ENTRYPOINT ["torpor-container"]
CMD ["serve"]
