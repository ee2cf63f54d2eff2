"""What agents tell, in one set of events."""
