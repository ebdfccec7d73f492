"""Comparison of derivatives with numerical ones, and their times beside other libraries.

In reading order; each imports only those above it:

    numerical                      numerical directional derivatives
    subject                        a function of the float leaves of its arguments
    directions                     in which directions derivatives are checked
    verdict                        right, wrong or inconclusive
    report                         the message
    step_sizes                     choose the step sizes
    checks                         all checks of one function at one point
    check_grads                    the public function that checks
    timer                          contenders that take turns
    namespaces                     copies of functions with another library in the place of NumPy
    peers                          a function and its derivatives by each library
    timings                        times as a table, a picture, and JSON
    benchmark                      the public function that measures

It imports the rooms up to `transforms`.
"""

from tapegrad.testing.benchmark import benchmark as benchmark
from tapegrad.testing.check_grads import check_grads as check_grads
from tapegrad.testing.timer import Timing as Timing
from tapegrad.testing.timer import WrongAnswer as WrongAnswer
from tapegrad.testing.timings import Benchmark as Benchmark
