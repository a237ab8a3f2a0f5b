"""What a user would pick instead, run in the same process conditions: the only room of `evals` that names it."""
