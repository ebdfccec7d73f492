"""LATENT: random effects, integrated out by Laplace's approximation. Read `marginal` first.

In reading order; each imports only those above it:

    tied                           parameters that are fixed, or share a value
    effects                        random effects among arguments, as one vector
    joint                          the joint density with its derivatives by the effects
    mode                           Newton's method for the mode
    marginal                       the marginal density as an instruction, with its derivatives
    laplace                        `laplace`

It imports the rooms up to `implicit`.
"""
