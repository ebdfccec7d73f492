"""Fields that the sweeps share with Python, beside the tape's columns and the kernels' frames."""

# The control block of the parallel driver.
DRIVER = 0  # address of the driver, 0 until it is loaded
LOCK = 1  # 1 while a launch is under way
THREADS = 2  # threads that a launch can use, the caller's among them
POOL = 3  # address of the pool's block
THREAD_LIMIT = 4  # address of Numba's `get_num_threads`, 0 while its threading layer has not been started
ALONE_UNTIL = 5  # clock time in ns until which launches run on the caller's thread alone
BALANCE = 6  # ns that helpers have gained, less the ns that callers waited for them
BLAS_LIMIT = (
    7  # address of the function that returns the threads of SciPy's BLAS; parts of its calls need two
)
CONTROL_FIELDS = 8

# A frame's STORE field holds the bytes of a summed cotangent's element above the store bits, of complex numbers those
# of a part. Above these there is a bit for each operand that is complex.
ITEM_SHIFT, PAIRS_SHIFT = 8, 12
# In its STORE field a frame of tangents has this bit: BAR fields of operands are read, that of the result is written.
TANGENT = 1 << 4
# And where this bit is set the kernel goes through the innermost of the outer loops itself.
LINES_SHIFT = 5
