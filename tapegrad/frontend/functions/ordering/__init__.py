"""Order and choice: sorting, quantiles, search, selection, sets.

In reading order; each imports only those above it:

    selection                      select elements by index and by condition
    choices                        arrays built from several, by numbers or conditions
    placement                      write elements in place
    search                         positions of numbers in sorted arrays
    sets                           different elements
    array_api_sets                 different elements, by the functions of the array API
    sorting                        sorting, positions of extremes
    sorted_lines                   order statistics of lines
    quantiles                      medians and quantiles
    nan_order                      extremes, their positions, medians and quantiles that leave out each nan
"""
