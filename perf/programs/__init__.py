"""Programs that run in a process of their own and print what they found as one line of JSON."""
