"""The checker of legal tapes: an executable specification of what a sweep may rely on.

In reading order; each imports only those above it:

    switch                         whether every tape is checked
    directions                     random directions for checks of derivatives
    pass_rules                     what a pass may change
    rules                          the rules of slots, instructions and buffers
    check                          check a tape, and raise if it breaks a rule

The tests run it over every tape, and ``TAPEGRAD_CHECK=1`` in the environment over those of a program.
"""

from tapegrad.engine.inspection.verify.check import Rule as Rule
from tapegrad.engine.inspection.verify.check import check as check
from tapegrad.engine.inspection.verify.check import check_entries as check_entries
from tapegrad.engine.inspection.verify.check import check_if_enabled as check_if_enabled
from tapegrad.engine.inspection.verify.check import check_pass as check_pass
from tapegrad.engine.inspection.verify.switch import switch as switch
