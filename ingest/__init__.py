"""Raw list -> new generation of the index. `ingest.job` is the only writer."""
