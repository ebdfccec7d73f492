"""Passes: from the tape of a recording to a program that is replayed."""
