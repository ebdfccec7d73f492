"""Words that the sweeps share with Python beside the tape's columns and the kernels' frames."""

# The control block of the parallel driver.
DRIVER = 0  # address of the driver, or one of the two below
LOCK = 1  # 1 while a launch is under way
THREADS = 2  # threads that a launch can use
LAUNCH = 3  # address of the threading layer's `parallel_for`
CHUNKS = 4  # address of the function that each of its threads runs
CONTROL_WORDS = 5
DRIVER_UNKNOWN = 0  # not loaded yet
DRIVER_REFUSED = 1  # not to be used in this process

# A frame's STORE word holds the bytes of a summed cotangent's element above the store bits.
ITEM_SHIFT = 8
# In its STORE word a frame of tangents has this bit: BAR words of operands are read, that of the result is written.
TANGENT = 1 << 4
