"""One small pure reader per input format: bytes -> Records."""
