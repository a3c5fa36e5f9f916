"""Components for LangChain, LlamaIndex and Haystack."""
