"""What a recorded function sees beside its arguments: which places those are, and whether they still hold the same."""
