"""The checker of legal tapes: an executable specification of what a sweep may rely on.

    check                          check a tape, and raise if it breaks a rule
    rules                          the rules of slots, instructions and buffers
    pass_rules                     what a pass may change

The tests run it over every tape, and ``TAPEGRAD_CHECK=1`` in the environment over those of a program.
"""

from tapegrad.engine.verify.check import Rule as Rule
from tapegrad.engine.verify.check import check as check
from tapegrad.engine.verify.check import check_entries as check_entries
from tapegrad.engine.verify.check import check_if_enabled as check_if_enabled
from tapegrad.engine.verify.check import check_pass as check_pass
from tapegrad.engine.verify.check import switch as switch
