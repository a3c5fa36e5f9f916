"""Server processes, connections and worker threads."""
