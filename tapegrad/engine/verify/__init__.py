"""The checker of legal tapes: an executable specification of what a sweep may rely on."""

from tapegrad.engine.verify.check import check as check
from tapegrad.engine.verify.check import demand as demand
from tapegrad.engine.verify.check import switch as switch
