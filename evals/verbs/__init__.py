"""The verbs of `confab eval`, each ``(args, settings) -> Outcome``."""
