"""The Hugging Face hub, with the token in HF_TOKEN or of `hf auth login` where one is set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mascot.errors import InputError
from mascot.extras import package


@contextmanager
def hub_client(dataset: str) -> Iterator[Any]:
    """Provide the client library without progress bars; turn its errors into one sentence with the remedy."""
    names = ("", ".errors", ".utils")
    hub, errors, utils = (package(f"huggingface_hub{name}", "prepare", "reading the hub") for name in names)
    quiet = utils.are_progress_bars_disabled()
    utils.disable_progress_bars()
    try:
        yield hub
    except Exception as error:  # the client raises the errors of whichever network library it was built on
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
