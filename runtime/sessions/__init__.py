"""Sessions, events, turns, playthroughs, timelines, selections, leases and forks: the host contract."""
