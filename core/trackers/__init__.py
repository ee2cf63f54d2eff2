"""What other places say of the tasks' issues, read and never written."""
