"""Settings -> embedding model, chat model. The only rooms that name providers."""
