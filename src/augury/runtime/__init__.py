"""Where queries run. Each runtime does the same three things: order the events, step the engine, emit rows."""
