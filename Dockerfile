# quizglass server, CPU. The bundle and the knowledge directory are mounted, never baked in:
#   docker run --read-only --tmpfs /tmp -p 127.0.0.1:50061:50061 \
#     -v $PWD/models/starter/bundle:/bundle:ro -v quizglass-knowledge:/knowledge quizglass
FROM python:3.11.13-slim-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential cmake ninja-build git \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
RUN python -m venv /opt/quizglass && /opt/quizglass/bin/pip install --no-cache-dir --upgrade pip
# llama.cpp for any x86-64 with AVX2, not only for the machine that builds the image.
ENV CMAKE_ARGS="-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON"
COPY pyproject.toml README.md ./
COPY protos ./protos
COPY server ./server
COPY clients/python ./clients/python
COPY export ./export
RUN /opt/quizglass/bin/pip install --no-cache-dir '.[cpu]'

FROM python:3.11.13-slim-bookworm
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1 libglib2.0-0 libgl1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --shell /usr/sbin/nologin quizglass \
    && install --directory --owner quizglass --group quizglass /knowledge
COPY --from=build /opt/quizglass /opt/quizglass
ENV PATH=/opt/quizglass/bin:$PATH PYTHONUNBUFFERED=1 QUIZGLASS_SERVER=127.0.0.1:50061
USER quizglass
VOLUME /knowledge
EXPOSE 50061
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 CMD ["quizglass", "health"]
# Inside a container loopback is unreachable from outside: the published port above decides who may connect.
ENTRYPOINT ["quizglass-server", "--bundle", "/bundle", "--knowledge", "/knowledge", "--host", "0.0.0.0"]
