"""The checker of legal tapes: an executable specification of what a sweep may rely on."""

from tapegrad.checker.check import check as check
from tapegrad.checker.check import demand as demand
from tapegrad.checker.check import switch as switch
