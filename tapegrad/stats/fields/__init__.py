"""Gaussian Markov random fields: normal distributions of vectors with sparse precisions.

They are the priors of random effects along time, on maps and on graphs. No density makes a dense matrix, and the
Hessian of each by its field is sparse.

In reading order; each imports only those above it:

    arguments                      vectors along the last axis, parameters of fields, random numbers
    precisions                     sparse precisions as users give them
    gmrf                           fields with a given precision
    chains                         `ar1`: autoregression along a line
    walks                          `rw1` and `rw2`: random walks
    graphs                         graphs of neighbours: components and scaling
    neighbours                     `besag` and `bym2`: effects of regions with neighbours
    matern                         what Matérn fields on grids and meshes have in common
    grids                          `matern_grid`: Matérn fields on regular grids
    triangles                      linear finite elements on triangles
    meshes                         `matern_mesh`: Matérn fields on meshes of triangles
"""
