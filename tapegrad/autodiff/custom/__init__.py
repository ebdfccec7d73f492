"""Custom ops: functions of NumPy arrays that are one instruction on the tape.

In reading order:

    custom_op                      the public function
    op                             a custom op: a call becomes an instruction
    functions                      calls of the functions it is made of, and checks of what they return
    operands, packing              arguments as operands; several arrays as one
    call                           an op at given shapes, dtypes and static arguments
    callbacks, njit_calls          how compiled code calls Python, and functions compiled by Numba
    tensor_rules                   derivatives of derivatives

It imports `ops`, `engine`, `frontend`, and `autodiff` for the rules on Tensors.
"""
