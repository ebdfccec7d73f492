"""LOOPS: `scan`, `fori_loop`, `while_loop`, `cond` and `switch`, one instruction each. Read `run` first.

In reading order; each imports only those above it:

    programs                       programs of a loop's function
    body                           functions of a loop, recorded
    argument_addresses             addresses of the arguments of programs
    single_segment                 bodies that one kernel runs to the end
    table                          what compiled code reads of a loop
    loop_op                        a loop as an instruction
    pulled                         pullback of a loop as an instruction
    run                            loops over flat leaves, and their derivatives, which are loops
    carry                          structure of a carry
    scan                           `scan`
    while_loop                     `while_loop` and `fori_loop`
    cond                           `cond` and `switch`
    stored                         loops in files
    rolled                         recordings with loops in place of what repeats

It imports the rooms up to `transforms`.
"""
