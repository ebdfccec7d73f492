"""A user's own ops: functions on NumPy arrays as instructions on the tape."""
