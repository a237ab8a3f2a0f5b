"""The library: knows papers, the index, the models, and how to answer. Import its rooms by name."""
