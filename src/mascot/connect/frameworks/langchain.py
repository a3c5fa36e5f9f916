"""LangChain: a document compressor for any retriever, and a runnable to pipe documents through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import mascot as mc
from mascot.candidates import value_of
from mascot.connect.frameworks.documents import NOTE, DocumentKind, MethodClass, method_from_lambda
from mascot.extras import missing
from mascot.wishes import Wishes

try:
    from langchain_core.callbacks import Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
    from pydantic import ConfigDict, Field
    from pydantic.json_schema import SkipJsonSchema

    from mascot.connect.frameworks.steering_fields import Names, SteeredModel
except ModuleNotFoundError as error:
    raise missing(error, "mascot.connect.frameworks.langchain", "langchain") from None


_Pair = tuple[Document, Any]  # and its score


def _id_of(entry: Document | _Pair) -> str:
    document = entry if isinstance(entry, Document) else entry[0]
    return document.page_content if document.id is None else document.id


def _noted(pair: _Pair, note: dict[str, Any]) -> _Pair:
    document, score = pair
    return document.model_copy(update={"metadata": {**document.metadata, NOTE: note}}), score


class SteeredCompressor(SteeredModel, BaseDocumentCompressor):
    """Select k of the documents of a retriever by the wishes.

    Metadata keys are columns: `Category("source")` reads ``metadata["source"]``. The selected documents are the same
    objects. With `explain` they are copies, whose metadata has `rank`, `was`, `gains` and `because` in ``"mascot"``.

    For the other parameters see `mascot.connect.frameworks.documents.Steering`.

    Parameters
    ----------
    score_keys
        Metadata keys of the relevance; the first one that a document has is read (default: `relevance_score`, which
        LangChain's rerankers write).
    distances
        Whether scores, including those of pairs, are distances: smaller is better (default: False).
    vector_key
        Metadata key of the vector, read only if a wish or the method compares vectors (default: None).
    embeddings
        Makes the vectors from the texts for each query, which is slow (default: None).
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, frozen=True, extra="forbid")

    _kind: ClassVar[DocumentKind] = DocumentKind(
        Document,
        lambda pair: pair[0].metadata,
        _id_of,
        _noted,
        "set vector_key= to their metadata key, or embeddings= to make them from the texts",
    )
    score_keys: Names = ("relevance_score",)
    distances: bool = False
    vector_key: str | None = None
    embeddings: SkipJsonSchema[Embeddings | None] = Field(default=None, exclude=True)

    @classmethod
    def from_lambda_mult(
        cls, lambda_mult: float, wishes: Wishes = (), k: int = 20, method: MethodClass = mc.Mascot, **options: Any
    ) -> SteeredCompressor:
        """Return a compressor for LangChain's `lambda_mult`, 1 - strength: 1 is relevance only, 0 is diversity only."""
        return cls(wishes=wishes, k=k, method=method_from_lambda(lambda_mult, method, "lambda_mult"), **options)

    @property
    def lambda_mult(self) -> float | None:
        """1 - strength; None if the method finds its strength for each query."""
        return self._steering.mmr_lambda

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str = "",
        callbacks: Callbacks | None = None,
        *,
        k: int | None = None,
        wishes: Any = None,
        already: Any = None,
    ) -> list[Document]:
        """Return the selected documents, best first; `query` and `callbacks` are not read.

        `k` and `wishes` replace those of the compressor (default: None). For `already` see `Steering.select`; the text
        of a document without an id is its id.
        """
        pairs = [(document, self._score(document.metadata)) for document in documents]
        return [document for document, _ in self._select(pairs, wishes, k, already)]

    def choose(
        self,
        hits: Any,
        config: RunnableConfig | None = None,
        *,
        k: int | None = None,
        wishes: Any = None,
        already: Any = None,
    ) -> list[Any]:
        """Return the selected documents, or (document, score) pairs if `hits` are pairs.

        For `k`, `wishes` and `already` see `compress_documents`. A chain passes them under ``"mascot"`` in the
        `configurable` of the config.
        """
        call = _of_config(config)
        k, wishes = call.get("k") if k is None else k, call.get("wishes") if wishes is None else wishes
        already = call.get("already") if already is None else already
        is_list = isinstance(hits, Iterable) and not isinstance(hits, (str, Mapping, Document))
        entries = list(hits) if is_list else [hits]
        if is_list and all(isinstance(entry, Document) for entry in entries):
            return self.compress_documents(entries, k=k, wishes=wishes, already=already)
        pairs = [entry for entry in entries if isinstance(entry, (tuple, list)) and len(entry) == 2]
        if len(pairs) < len(entries) or not all(isinstance(document, Document) for document, _ in pairs):
            kinds = ", ".join(dict.fromkeys(type(entry).__name__ for entry in entries))
            raise mc.InputError(f"steer takes a list of documents, or of (document, score) pairs, got {kinds}")
        return self._select([(document, score) for document, score in pairs], wishes, k, already)

    def _select(self, pairs: list[_Pair], *call: Any) -> list[_Pair]:
        scores = [score for _, score in pairs]
        return self._steering.select(pairs, scores, lambda: self._vectors(pairs), *call)

    def _score(self, metadata: dict[str, Any]) -> float | None:
        values = (value_of(metadata, key) for key in self.score_keys)
        return next((value for value in values if value is not None), None)

    def _vectors(self, pairs: list[_Pair]) -> list[Any]:
        if self.vector_key is not None:
            return [value_of(document.metadata, self.vector_key) for document, _ in pairs]
        if self.embeddings is not None:
            return self.embeddings.embed_documents([document.page_content for document, _ in pairs])
        return [None] * len(pairs)


def _of_config(config: RunnableConfig | None) -> dict[str, Any]:
    """Return the options of one call from a config."""
    call = ((config or {}).get("configurable") or {}).get("mascot") or {}
    unknown = ", ".join(sorted(set(call) - {"k", "wishes", "already"}))
    if unknown:
        raise mc.OptionError(f"configurable['mascot'] takes k, wishes and already, got {unknown}")
    return dict(call)


def steer(wishes: Wishes = (), k: int | None = None, **options: Any) -> Runnable[Any, list[Any]]:
    """Return a runnable that selects k of its documents, or of its (document, score) pairs.

    ``retriever | steer([spread(Category("source"))], k=5)``, or ``retriever | steer(profile="home.toml")``. The options
    are those of `SteeredCompressor`. One call may have its own `k`, `wishes` and `already`:
    ``steer(...).invoke(documents, k=3)``, or, within a chain,
    ``chain.invoke(question, {"configurable": {"mascot": {"k": 3}}})``.
    """
    options |= {} if k is None else {"k": k}
    options |= {"wishes": wishes} if wishes or "profile" not in options else {}
    return RunnableLambda(SteeredCompressor(**options).choose, name="steer")
