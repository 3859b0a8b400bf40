# AskNext in a container: docker build -t asknext . && docker run -p 127.0.0.1:8000:8000 -v asknext:/data asknext
# It needs no root, no HOME and no writable file system but /data.

FROM python:3.11-slim-bookworm AS build
WORKDIR /src
RUN python -m venv /opt/asknext
ENV PATH=/opt/asknext/bin:$PATH
# What it stands on changes less often than its sources: a layer of its own.
COPY pyproject.toml README.md LICENSE requirements.lock ./
RUN python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
print(*p['dependencies'], *p['optional-dependencies']['postgres'], *p['optional-dependencies']['dask'], sep='\n')" > requirements.txt \
    && pip install --no-cache-dir --disable-pip-version-check --constraint requirements.lock --requirement requirements.txt
COPY core core
COPY app app
COPY migrations migrations
RUN pip install --no-cache-dir --disable-pip-version-check --no-deps .
# Kernels are compiled here, not when the first person waits. They fit the processor they were compiled on: on another
# kind the service compiles them when it starts, which takes about ten seconds.
ENV NUMBA_CACHE_DIR=/opt/asknext/kernels
WORKDIR /
RUN python -c "import core; print(core.compile_all(), 'kernels')" && chmod -R a+rX /opt/asknext


FROM python:3.11-slim-bookworm
RUN groupadd --gid 10001 asknext \
    && useradd --uid 10001 --gid asknext --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin asknext \
    && install --directory --owner=asknext --group=asknext --mode=0700 /data
COPY --from=build /opt/asknext /opt/asknext
ENV PATH=/opt/asknext/bin:$PATH \
    NUMBA_CACHE_DIR=/opt/asknext/kernels \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    ASKNEXT_DATA_DIR=/data \
    ASKNEXT_HOST=0.0.0.0 \
    ASKNEXT_PORT=8000
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["python", "-c", "\
import os, urllib.request as web; \
web.build_opener(web.ProxyHandler({})).open(f\"http://127.0.0.1:{os.environ['ASKNEXT_PORT']}/health/live\", timeout=4)"]
CMD ["asknext", "serve"]
