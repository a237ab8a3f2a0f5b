"""Where people, programs and bots come in: HTTP today; each way in is one room over the same engine."""
