"""Comparison of derivatives with numerical ones.

In reading order:

    check_grads                    the public function
    subject                        a function of the float leaves of its arguments
    checks                         all checks of one function at one point
    directions                     in which directions derivatives are checked
    numerical, step_sizes          numerical derivatives with an estimate of their error
    symmetry                       second derivatives do not depend on the order
    verdict, report                right, wrong or inconclusive; the message

It imports the rooms up to `transforms`.
"""

from tapegrad.testing.check_grads import check_grads as check_grads
