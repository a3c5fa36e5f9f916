# The re-ranking service: slim, not root, no compiler and no network at run time.
#
#   docker build -t mascot .                        re-ranking only
#   docker build -t mascot --build-arg EXTRAS=web . with photo search
#   docker run --rm -p 8765:8765 -e MASCOT_TOKEN=... mascot --workers 2

FROM python:3.12-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY pyproject.toml hatch_build.py README.md LICENSE CHANGELOG.md constraints.txt ./
COPY src ./src
ARG EXTRAS=serve
RUN python -m venv /opt/mascot \
 && /opt/mascot/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt ".[${EXTRAS}]"

FROM python:3.12-slim
RUN useradd --uid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin mascot
COPY --from=build /opt/mascot /opt/mascot
ENV PATH=/opt/mascot/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HF_HUB_OFFLINE=1 \
    XDG_STATE_HOME=/tmp
USER 10001
EXPOSE 8765
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/readyz', timeout=4)"]
ENTRYPOINT ["mascot", "serve", "--host", "0.0.0.0", "--port", "8765"]
CMD ["--no-library"]
