"""Turn the response of a search engine into candidates: `from mascot.connect.converters import from_elasticsearch`."""

from mascot.connect.converters.convert import each_query as each_query
from mascot.connect.converters.convert import from_algolia as from_algolia
from mascot.connect.converters.convert import from_azure_search as from_azure_search
from mascot.connect.converters.convert import from_elasticsearch as from_elasticsearch
from mascot.connect.converters.convert import from_meilisearch as from_meilisearch
from mascot.connect.converters.convert import from_milvus as from_milvus
from mascot.connect.converters.convert import from_mongodb as from_mongodb
from mascot.connect.converters.convert import from_pinecone as from_pinecone
from mascot.connect.converters.convert import from_qdrant as from_qdrant
from mascot.connect.converters.convert import from_redis as from_redis
from mascot.connect.converters.convert import from_solr as from_solr
from mascot.connect.converters.convert import from_typesense as from_typesense
from mascot.connect.converters.convert import from_vertex_search as from_vertex_search
from mascot.connect.converters.convert import from_vespa as from_vespa
from mascot.connect.converters.convert import from_weaviate as from_weaviate
from mascot.connect.converters.merging import merge as merge
from mascot.connect.converters.table_converters import from_chroma as from_chroma
from mascot.connect.converters.table_converters import from_faiss as from_faiss
from mascot.connect.converters.table_converters import from_lance as from_lance
from mascot.connect.converters.table_converters import from_rows as from_rows
