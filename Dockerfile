# quizglass server. The bundle and the knowledge directory are mounted, never baked in.
#   docker build --tag quizglass .                      (the last target: CPU)
#   docker build --target gpu --tag quizglass:gpu .      (unverified on hardware: see docs/operations.md)
#   docker run --read-only --tmpfs /tmp -p 127.0.0.1:50061:50061 \
#     -v $PWD/models/starter/bundle:/bundle:ro -v quizglass-knowledge:/knowledge quizglass
# with `--gpus all` for the second one. `make image` builds the CPU's without Docker, on a Debian of its own as BASE.
ARG BASE=python:3.11.13-slim-bookworm

FROM nvidia/cuda:13.0.1-cudnn-devel-ubuntu24.04 AS build-gpu
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential cmake ninja-build git python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
RUN python3 -m venv /opt/quizglass && /opt/quizglass/bin/pip install --no-cache-dir pip==26.3
# llama.cpp for every CPU of this architecture and, of cards, Turing to Hopper; others run by the driver's compilation of
# the newest of these.
COPY server/pyproject.toml ./server/
COPY server/native ./server/native
RUN /opt/quizglass/bin/python server/native/wheel.py --install --cache /tmp/wheels \
    --define GGML_CUDA=ON --define "CMAKE_CUDA_ARCHITECTURES=75;80;86;89;90"
COPY pyproject.toml README.md LICENSE ./
COPY protos ./protos
COPY bundle ./bundle
COPY server ./server
COPY clients/python ./clients/python
RUN /opt/quizglass/bin/pip install --no-cache-dir '.[gpu,llama,tls,web]'

FROM nvidia/cuda:13.0.1-cudnn-runtime-ubuntu24.04 AS gpu
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1 libglib2.0-0 libgl1 python3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --shell /usr/sbin/nologin quizglass \
    && install --directory --owner quizglass --group quizglass /knowledge /engines
COPY --from=build-gpu /opt/quizglass /opt/quizglass
ENV PATH=/opt/quizglass/bin:$PATH PYTHONUNBUFFERED=1 QUIZGLASS_SERVER=127.0.0.1:50061 \
    ORT_DISABLE_TELEMETRY=1 HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 QUIZGLASS_INSECURE=true QUIZGLASS_ENGINE_CACHE=/engines
USER 10001:10001
# Engines that TensorRT builds are kept here; they fit one card, driver and version alone.
VOLUME ["/knowledge", "/engines"]
EXPOSE 50061
HEALTHCHECK --interval=10s --timeout=3s --start-period=300s --retries=3 CMD ["quizglass", "health"]
ENTRYPOINT ["quizglass-server", "--bundle", "/bundle", "--knowledge", "/knowledge", "--host", "0.0.0.0"]

FROM ${BASE} AS build-cpu
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# llama.cpp for generators: "compiled" here, or "none" for bundles that have none.
ARG LLAMA=compiled
# What a BASE that is no image of python needs besides.
ARG PYTHON_PACKAGES=
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential cmake ninja-build git $PYTHON_PACKAGES \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
RUN python3 -m venv /opt/quizglass && /opt/quizglass/bin/pip install --no-cache-dir pip==26.3
# For every CPU of this architecture, not only for that of the machine that builds the image.
COPY server/pyproject.toml ./server/
COPY server/native ./server/native
RUN [ "$LLAMA" = none ] || /opt/quizglass/bin/python server/native/wheel.py --install --cache /tmp/wheels
COPY pyproject.toml README.md LICENSE ./
COPY protos ./protos
COPY bundle ./bundle
COPY server ./server
COPY clients/python ./clients/python
RUN extras=onnx,tls,web; [ "$LLAMA" = none ] || extras="$extras,llama"; \
    /opt/quizglass/bin/pip install --no-cache-dir ".[$extras]"
# Symbols for debuggers, and packages' own tests, are a tenth of it. What lies in *.libs was patched, and breaks by that.
# Converters of models, and what downloads them (a dependency of tokenizers that this server never calls), are 30 MB.
RUN find /opt/quizglass -name '*.so*' -type f -not -path '*.libs/*' -exec strip --strip-unneeded {} + \
    && find /opt/quizglass -type d \( -name tests -o -path '*/onnxruntime/quantization' -o -path '*/onnxruntime/tools' \
        -o -path '*/onnxruntime/transformers' \) -prune -exec rm -r {} + \
    && /opt/quizglass/bin/pip uninstall --yes --quiet fsspec hf-xet huggingface-hub setuptools pip

FROM ${BASE} AS cpu
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1 \
    && apt-get clean && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --shell /usr/sbin/nologin quizglass \
    && install --directory --owner quizglass --group quizglass /knowledge
COPY --from=build-cpu /opt/quizglass /opt/quizglass
ENV PATH=/opt/quizglass/bin:$PATH PYTHONUNBUFFERED=1 QUIZGLASS_SERVER=127.0.0.1:50061 \
    ORT_DISABLE_TELEMETRY=1 HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 QUIZGLASS_INSECURE=true
USER 10001:10001
VOLUME /knowledge
EXPOSE 50061
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 CMD ["quizglass", "health"]
# Inside a container loopback is unreachable from outside, so that the server listens on every address and takes
# QUIZGLASS_INSECURE=true: the published port above decides who may connect. To publish it to others, give TLS and tokens
# (docs/operations.md#exposure) and QUIZGLASS_INSECURE=false.
ENTRYPOINT ["quizglass-server", "--bundle", "/bundle", "--knowledge", "/knowledge", "--host", "0.0.0.0"]
