"""The same engine, many questions: sets, metrics, runs, comparisons."""
