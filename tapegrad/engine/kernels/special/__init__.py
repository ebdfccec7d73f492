"""Special functions that SciPy lacks: derivatives of incomplete gamma and beta functions and of Student's t, and tails.

Each is divided by the density to which it is proportional, so that it neither overflows nor underflows: rows multiply
the two, and derivatives of inverse functions need the quotient. First derivatives have 12 digits.

In reading order; each imports only those above it:

    gauss_legendre                 the rule by which integrals are taken
    digamma                        digamma and trigamma functions, and their differences
    factors                        the densities by which the derivatives are divided
    incomplete_gamma               derivatives of the incomplete gamma function by its parameter
    incomplete_beta                derivatives of the incomplete beta function by its parameters
    students_t                     derivatives of Student's distribution by the degrees of freedom
    confluent                      derivatives of Kummer's function by its parameters
    elliptic                       derivatives of elliptic integrals by the parameter m
    loops                          loops over elements
"""
