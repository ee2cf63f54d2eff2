"""The engine at work: one inbox, one writer, one dispatcher."""
