"""Examples that are installed with the library and run by its command."""
