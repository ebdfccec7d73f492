"""Check derivatives against numerical ones."""

from tapegrad.testing.check_grads import check_grads as check_grads
