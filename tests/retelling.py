"""Run the command in this process or on a terminal, and run the console examples of a page again."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

from mascot.cli import main

PATIENCE_S = 240.0  # for anything that has no time limit of its own, on a busy machine
COMMAND = [sys.executable, "-m", "mascot.cli"]
# Commands of the examples that run in this process, with a shell before and after a pipe: a start costs half a second.
_PLAIN = r"[^|<>;&$`]*"
_IN_PROCESS = re.compile(
    rf"({_PLAIN}\| )?mascot ((?:rerank|tune|preview|demo|bench|--version|--help)\b{_PLAIN})([|>].*)?"
)


def run_command(
    *words: str, stdin: str | bytes = b"", folder: Path | None = None, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `mascot ...` in this process, with these bytes on its standard input and these environment variables."""
    source = io.TextIOWrapper(io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin), encoding="utf-8")
    outputs: dict[str, Any] = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for name in ("stdout", "stderr")}
    code: object = 0
    before = Path.cwd()
    with (
        mock.patch.multiple(sys, argv=["mascot", *words], stdin=source, **outputs),
        mock.patch.dict(os.environ, environment() if variables is None else variables, clear=True),
    ):
        try:
            os.chdir(folder or before)
            main()
        except SystemExit as end:
            code = end.code
        finally:
            os.chdir(before)
        for stream in outputs.values():
            stream.flush()
    texts = {name: stream.detach().getvalue().decode() for name, stream in outputs.items()}
    return subprocess.CompletedProcess(words, int(str(code or 0)), **texts)


def environment(**more: str) -> dict[str, str]:
    """Return the environment of this process, without a terminal's settings for colour and width."""
    variables = {name: text for name, text in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    # The tests may run in another folder than the checkout to which a relative PYTHONPATH refers.
    parts = variables.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join(str(Path(part).resolve()) for part in parts if part)
    return {**variables, **({"PYTHONPATH": path} if path else {}), **more}


def wait_for(condition: Callable[[], bool]) -> None:
    """Return once the condition holds; fail if it never does."""
    ends = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < ends, "waited too long"
        time.sleep(0.02)


def on_a_terminal(*words: str, given: str | None = None, columns: int = 100, **variables: str) -> str:
    """Return what a terminal shows: standard output, error and, unless `given`, input are one."""
    import pty  # not on Windows

    ours, theirs = pty.openpty()
    env = environment(TERM="xterm-256color", COLUMNS=str(columns), **variables)
    source = theirs if given is None else subprocess.PIPE
    running = subprocess.Popen([*COMMAND, *words], stdin=source, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    if running.stdin is not None and given is not None:
        running.stdin.write(given.encode())
        running.stdin.close()
    text = b""
    with suppress(OSError):  # Linux: the other end has closed
        while part := os.read(ours, 65536):
            text += part
    os.close(ours)
    running.wait(timeout=PATIENCE_S)
    return text.decode().replace("\r\n", "\n")


def retold(page: Path, folder: Path, given: Mapping[str, str] | None = None) -> str:
    """Return the page with the output of every `$ ...` line of its console blocks, run again in `folder`."""
    mascot = f'mascot() {{ "{sys.executable}" -m mascot.cli "$@"; }}\n'
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"

    def shell(line: str, stdin: str = "") -> str:
        return subprocess.run(
            ["bash", "-c", mascot + line], cwd=folder, env=environment(PATH=path, **(given or {})), timeout=PATIENCE_S,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, input=stdin, encoding="utf-8",
        ).stdout  # fmt: skip

    def output_of(line: str) -> str:
        parts = _IN_PROCESS.fullmatch(line)
        if parts is None:
            return shell(line)
        before, words, after = parts.groups()
        stdin = shell(before.rstrip("| ")) if before else ""
        done = run_command(*shlex.split(words), stdin=stdin, folder=folder)
        return (shell(f"cat {after}", done.stdout) if after else done.stdout) + done.stderr

    def with_output(block: re.Match[str]) -> str:
        parts = []
        for line in re.findall(r"^\$ .*$", block.group(1), re.M):
            output = output_of(line[2:])
            parts.append(line + "\n" + output.strip("\n") + "\n" * bool(output.strip()))
        return "```console\n" + "".join(parts) + "```"

    return re.sub(r"```console\n(.*?)```", with_output, page.read_text(encoding="utf-8"), flags=re.S)
