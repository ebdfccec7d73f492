"""Comparison of derivatives with numerical ones.

In reading order; each imports only those above it:

    numerical                      numerical directional derivatives
    subject                        a function of the float leaves of its arguments
    directions                     in which directions derivatives are checked
    verdict                        right, wrong or inconclusive
    report                         the message
    step_sizes                     choose the step sizes
    checks                         all checks of one function at one point
    check_grads                    the public function
    timer                          contenders that take turns
    namespaces                     copies of functions with another library in the place of NumPy

It imports the rooms up to `transforms`.
"""

from tapegrad.testing.check_grads import check_grads as check_grads
