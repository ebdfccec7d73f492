"""Benchmarks: the targets of tapegrad, measured beside its peers: ``python -m perf``.

============ ==================================================================================
workloads    the functions that are differentiated, as data, each with an independent answer
second_order second derivatives of one of them, by hand
small        models of small pieces, gathers and loops in time, with gradients by hand, a file a model
regression   NIST's Gauss1 as a workload, with its Jacobian by hand
nist_fits    the 54 fits of NIST's regressions, and every point at which they evaluate a function
function_calls how each function of the namespace is called to be measured
peers        adapters: how each library gives a derivative of a workload, a file a derivative
environment  settings of the process that all of them share: how memory is kept, how threads wait
figures      what is measured and what it must reach
processes    runs a measurement that needs a process of its own (start-up, memory)
programs     those measurements
machine      what all this was measured on
report       the results as a table, as JSON and as Markdown
============ ==================================================================================
"""
