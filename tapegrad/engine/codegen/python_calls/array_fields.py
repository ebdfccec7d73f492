"""Fields that describe a NumPy array on the engine's memory, known before anything is compiled."""

(
    BLOCK,  # counted block of memory, of which the array takes over a reference
    DATA,  # address of the first element
    DTYPE,  # number of the dtype
    WRITEABLE,  # 1 if the array can be written to
    NDIM,
    GEOMETRY,  # address of extents and strides
) = range(6)
FIELDS = 6
