"""Record and replay: a function's trace, the passes over it, its memory plan and its bound program."""
