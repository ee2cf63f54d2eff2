"""Values to words and cells; pure."""
