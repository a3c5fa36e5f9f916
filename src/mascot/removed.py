"""What is gone, and what to do instead: error messages about unknown names end with it."""

from __future__ import annotations

_TABLE = "convert it: zcat FILE, or duckdb -json -c \"from 'FILE'\", and --input-format json"
_ENGINE = "search with the engine's own client, then mascot rerank --input-format ENGINE"
_INSTEAD = {
    # Options and commands
    "--source": _ENGINE,
    "--into": "fill the engine with its own client",
    **dict.fromkeys(("--processes", "--intervals", "--no-intervals"), "leave it out"),
    "--paper": "use --method paper",
    "--ray": "run on this machine; mascot bench run takes --jobs N",
    "--check": "use mascot library check",
    "--repair": "use mascot index FOLDER --again",
    **dict.fromkeys(("--export", "--import"), "copy the files in .mascot/choices"),
    # Formats of files
    **dict.fromkeys(("tsv", ".tsv", "parquet", ".parquet", ".gz"), _TABLE),
    # Names
    "branches": "use vectors",
    "Branches": "use Vectors",
    "probe": "re-rank at two strengths, or use mascot tune",
    "gpu": "use 'auto'",
    # HTTP
    "application/vnd.apache.arrow.stream": "send application/msgpack",
    "/api/rerank/stream": "send several requests to /api/rerank",
}


def instead(name: object) -> str:
    """Return what to do instead of something that is gone, to end a message; empty if the name never existed."""
    return f"; {name} is gone: {_INSTEAD[name]}" if isinstance(name, str) and name in _INSTEAD else ""
