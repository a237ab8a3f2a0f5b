"""What the terminal says: one room a verb, each with `add_arguments(parser)` and `run(args, settings)`."""
