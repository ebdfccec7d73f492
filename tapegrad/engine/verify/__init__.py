"""The checker of legal tapes: an executable specification of what a sweep may rely on."""

from tapegrad.engine.verify.check import check as check
from tapegrad.engine.verify.check import check_if_enabled as check_if_enabled
from tapegrad.engine.verify.check import switch as switch
