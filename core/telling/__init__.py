"""What agents' outputs tell, in one set of events for every kind of agent."""
