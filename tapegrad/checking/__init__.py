"""Derivatives held against numerical ones."""

from tapegrad.checking.check import check_grads as check_grads
