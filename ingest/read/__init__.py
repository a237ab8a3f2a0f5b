"""One small pure reader per input format: bytes -> Records and, for what is broken, Rejected."""
