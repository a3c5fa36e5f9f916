"""Files of a dataset on the Hugging Face hub, with the token of the user where one is set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mascot.bench.files import sha256
from mascot.errors import InputError
from mascot.extras import package


@dataclass(frozen=True, slots=True)
class Hub:
    """A dataset on the hub. The client sends the token in HF_TOKEN, or that of `hf auth login`."""

    dataset: str
    endpoint: str | None = None

    def files(self, revision: str) -> tuple[str, dict[str, str | None]]:
        """Return the commit of a revision, and its files with the SHA-256 of those that the hub has one of."""
        with _clear_errors(self.dataset) as hub:
            api = hub.HfApi(endpoint=self.endpoint)
            about = api.dataset_info(self.dataset, revision=revision, files_metadata=True, timeout=30.0)
        return about.sha, {file.rfilename: file.lfs.sha256 if file.lfs else None for file in about.siblings or ()}

    def download(self, name: str, commit: str, folder: Path, digest: str | None) -> tuple[Path, str]:
        """Download a file to a folder, continuing an interrupted download; return its path and its SHA-256."""
        options = {"repo_type": "dataset", "revision": commit, "local_dir": folder, "endpoint": self.endpoint}
        with _clear_errors(self.dataset) as hub:
            path = Path(hub.hf_hub_download(self.dataset, name, **options))
        if digest not in (None, sha256(path)):
            actual = sha256(path)
            path.unlink()
            raise InputError(f"{name} must have the SHA-256 {digest} that the hub lists, got {actual}; try again")
        return path, sha256(path)


@contextmanager
def _clear_errors(dataset: str) -> Iterator[Any]:
    """Provide the client library without progress bars; turn its errors into one sentence with the remedy."""
    names = ("", ".errors", ".utils")
    hub, errors, utils = (package(f"huggingface_hub{name}", "prepare", "reading the hub") for name in names)
    quiet = utils.are_progress_bars_disabled()
    utils.disable_progress_bars()
    try:
        yield hub
    except Exception as error:  # the client raises the errors of whichever network library it was built on
        if isinstance(error, InputError):
            raise
        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(error, errors.GatedRepoError):
            remedy = f"is gated: accept its terms at https://huggingface.co/datasets/{dataset} and set HF_TOKEN"
        elif status in (401, 403) or isinstance(error, errors.RepositoryNotFoundError):
            remedy = "cannot be read: it does not exist, or needs a token in HF_TOKEN that may read it"
        elif status == 429:
            remedy = "is rate-limited: wait, or set HF_TOKEN for a higher limit; the same command continues"
        else:
            text = " ".join(str(error).split())[:160]
            remedy = f"gave no answer ({type(error).__name__}: {text}); run the same command again to continue"
        raise InputError(f"the dataset {dataset} on the Hugging Face hub {remedy}") from None
    finally:
        if not quiet:
            utils.enable_progress_bars()
