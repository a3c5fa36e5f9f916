"""Connect to a new or a running Ray cluster, without its log messages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Any

from mascot.cluster import LOCAL
from mascot.errors import InputError, OptionError
from mascot.extras import package
from mascot.kernels.native import cores

_STORE_MIB = 512  # shared memory of a local cluster; pictures pass through it
# Workers inherit these settings: they send no usage statistics, and each computes on one thread.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # without it Ray warns of a future default
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_STDERR = 2
_GREETING = b"Set ray log level from environment variable"


@contextmanager
def cluster(address: str = LOCAL, cpus: int | None = None) -> Iterator[Any]:
    """Yield the module `ray`, connected; a cluster started here ends with the block.

    Parameters
    ----------
    address
        `local` starts a cluster on this machine, `auto` finds one that runs on it; otherwise `host:port`.
        If this process is already connected, that connection is used.
    cpus
        Cores of a local cluster (default: all).
    """
    if address.startswith("ray://"):
        raise OptionError(
            f"--ray must be local, auto or host:port, got {address!r}: Ray's client is not supported; "
            "run this on a machine of the cluster with --ray auto, for instance by `ray job submit`"
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when Ray is imported
    ray = package("ray", "ray", "--ray")
    if ray.is_initialized():
        yield ray
        return
    environment = {name: os.environ[name] for name in _SETTINGS if name in os.environ}
    os.environ.update(_SETTINGS)
    options: dict[str, Any] = {}
    if address == LOCAL:
        options = {"num_cpus": cpus or cores(), "include_dashboard": False, "object_store_memory": _STORE_MIB << 20}
    try:
        try:
            with _without_greeting():
                ray.init(address, logging_level="ERROR", log_to_driver=False, **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            remedy = "check that it runs there and accepts connections from this machine"
            if address == "auto" and error.__cause__ is None:  # none runs
                remedy = "start one with `ray start --head`, or use `--ray local`"
            raise InputError(f"no connection to a Ray cluster at {address!r}: {_summary(error)}; {remedy}") from None
        yield ray
    finally:
        ray.shutdown()
        for name in _SETTINGS:
            del os.environ[name]
        os.environ.update(environment)


@contextmanager
def _without_greeting() -> Iterator[None]:
    """Suppress the line that Ray's C++ code writes to standard error about its log level; pass on all others."""
    try:
        stderr = os.dup(_STDERR)
    except OSError:  # it is closed
        yield
        return
    with TemporaryFile() as captured:
        os.dup2(captured.fileno(), _STDERR)
        try:
            yield
        finally:
            os.dup2(stderr, _STDERR)
            os.close(stderr)
            captured.seek(0)
            os.write(_STDERR, b"".join(line for line in captured if _GREETING not in line))


def _summary(error: BaseException) -> str:
    """Return the first and the last line of Ray's messages: the error and its cause."""
    lines = [line for page in (error, error.__cause__) if page is not None for line in str(page).strip().splitlines()]
    return lines[0] if len(lines) == 1 else f"{lines[0]} ({lines[-1].strip()})"
