"""Raw memory and calls by address, as Numba intrinsics.

Everything that the engine compiles works on addresses held in 64-bit integers: columns of the tape, frames of
instructions, elements of buffers. An address is turned into a pointer as a whole and indexed from there, never
computed by integer arithmetic on one side of the conversion only.
"""

from llvmlite import binding, ir

from tapegrad.engine.kernels.language import types
from tapegrad.engine.kernels.language.inlining import always_inline, external_function, intrinsic
from tapegrad.engine.kernels.language.llvm_types import (
    called_at,
    converted,
    element_pointer,
    f32,
    f64,
    i8,
    i32,
    i64,
    pointer_to,
    unpacked,
)


def _loader(name, llvm_type):
    """Make an intrinsic ``load(address, index)`` for one element type."""

    @intrinsic
    def load(typingctx, address, index):
        def codegen(context, builder, signature, args):
            return builder.load(element_pointer(builder, args[0], llvm_type, args[1]))

        return getattr(types, name)(types.int64, types.int64), codegen

    return load


def _storer(name, llvm_type):
    """Make an intrinsic ``store(address, index, value)`` for one element type."""

    @intrinsic
    def store(typingctx, address, index, value):
        def codegen(context, builder, signature, args):
            builder.store(args[2], element_pointer(builder, args[0], llvm_type, args[1]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, getattr(types, name)), codegen

    return store


load_i64 = _loader("int64", i64)
load_i32 = _loader("int32", i32)
load_u8 = _loader("uint8", i8)
load_f64 = _loader("float64", f64)
load_f32 = _loader("float32", f32)
store_i64 = _storer("int64", i64)
store_i32 = _storer("int32", i32)
store_u8 = _storer("uint8", i8)
store_f64 = _storer("float64", f64)
store_f32 = _storer("float32", f32)


@intrinsic
def load_record(typingctx, address, record):
    """Load the 64-bit integers at an address as a `record`, a NamedTuple class of fields of one integer each.

    Fields that are not used cost nothing: the optimizer drops their loads.
    """
    fields = record.instance_class._fields
    named = types.NamedUniTuple(types.int64, len(fields), record.instance_class)

    def codegen(context, builder, signature, args):
        loaded = [builder.load(element_pointer(builder, args[0], i64, i64(k))) for k in range(len(fields))]
        return context.make_tuple(builder, signature.return_type, loaded)

    return named(types.int64, record), codegen


@intrinsic
def add_multiples(typingctx, width, target, index, factors, sources):
    """Add to `width` (a literal) adjacent float64 of a target, from `index` on, multiples of those of sources."""
    if not isinstance(width, types.IntegerLiteral):
        return None
    vector = ir.VectorType(f64, width.literal_value)

    def codegen(context, builder, signature, args):
        def place(address):
            return builder.bitcast(element_pointer(builder, address, f64, args[2]), vector.as_pointer())

        total = None
        for factor, source in zip(unpacked(builder, args[3]), unpacked(builder, args[4]), strict=True):
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), factor, ir.Constant(i32, 0))
            lanes = ir.Constant(ir.VectorType(i32, vector.count), [0] * vector.count)
            each = builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), lanes)
            product = builder.fmul(each, builder.load(place(source), align=8))
            total = product if total is None else builder.fadd(total, product)
        into = place(args[1])
        builder.store(builder.fadd(builder.load(into, align=8), total), into, align=8)
        return context.get_dummy_value()

    return types.void(width, types.int64, types.int64, factors, sources), codegen


@intrinsic
def call_kernel(typingctx, kernel, frame, loops):
    """Call the kernel at address `kernel`: ``int64 kernel(int64 frame, int64 loops)``."""

    def codegen(context, builder, signature, args):
        return called_at(builder, args[0], args[1:])

    return types.int64(types.int64, types.int64, types.int64), codegen


@intrinsic
def stack_i64(typingctx, count):
    """Return the address of `count` (a literal) 64-bit integers on the stack of the caller."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    size = count.literal_value

    def codegen(context, builder, signature, args):
        with builder.goto_entry_block():
            block = builder.alloca(ir.ArrayType(i64, size))
            block.align = 64
        return builder.ptrtoint(block, i64)

    return types.int64(count), codegen


# The allocator under names of this package: the C library's, unless `engine.guard_pages` replaces it
ALLOCATOR = ("malloc", "calloc", "realloc", "free")


def bind_allocator(addresses):
    """Bind the allocator's names to functions at these addresses, in all code that is loaded afterwards."""
    for name, address in zip(ALLOCATOR, addresses, strict=True):
        binding.add_symbol(f"tapegrad_{name}", address)


binding.initialize_native_target()
binding.initialize_native_asmprinter()
# The first engine makes the symbols of the process known to LLVM.
binding.create_mcjit_compiler(
    binding.parse_assembly(""), binding.Target.from_default_triple().create_target_machine()
)
bind_allocator(map(binding.address_of_symbol, ALLOCATOR))
malloc = external_function("tapegrad_malloc", "int64", "int64")
calloc = external_function("tapegrad_calloc", "int64", "int64", "int64")
realloc = external_function("tapegrad_realloc", "int64", "int64", "int64")
free = external_function("tapegrad_free", "void", "int64")

# Block copies of the C library; Numba resolves the names in the running process
memcpy = external_function("memcpy", "int64", "int64", "int64", "int64")
memmove = external_function("memmove", "int64", "int64", "int64", "int64")
memset = external_function("memset", "int64", "int64", "int32", "int64")
memcmp = external_function("memcmp", "int32", "int64", "int64", "int64")


# Access by byte offset, for any element type: `zero` is a value of that type


@intrinsic
def load_at(typingctx, address, offset, zero):
    """Load the element of the type of `zero` at `offset` bytes after `address`."""

    def codegen(context, builder, signature, args):
        return builder.load(pointer_to(builder, args[0], args[1], context.get_value_type(zero)))

    return zero(types.int64, types.int64, zero), codegen


@intrinsic
def store_at(typingctx, address, offset, value, zero):
    """Store `value`, converted to the type of `zero`, at `offset` bytes after `address`.

    Of a complex number a float is the real part.
    """

    def codegen(context, builder, signature, args):
        given = args[2]
        if isinstance(value, types.Complex) and isinstance(zero, types.Float):
            given = builder.extract_value(given, 0)
        element = converted(builder, given, context.get_value_type(zero))
        builder.store(element, pointer_to(builder, args[0], args[1], element.type))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, value, zero), codegen


@always_inline
def add_at(address, offset, value, store, zero):
    """Add `value` to an element of a cotangent, or write it (`store`): 0.0 then, where it is -0.0."""
    before = zero if store else load_at(address, offset, zero)
    store_at(address, offset, before + value, zero)


@intrinsic
def size_of(typingctx, zero):
    """Return the bytes of an element of the type of `zero`, a constant in compiled code."""

    def codegen(context, builder, signature, args):
        return i64(zero.bitwidth // 8)

    return types.int64(zero), codegen


@intrinsic
def call_loop(typingctx, loops, entry, n, lines):
    """Run a loop of the emitter, entry `entry` of the table `loops`, over `n` elements of lines, each an address."""

    def codegen(context, builder, signature, args):
        table, number, count, packed = args
        pointer = element_pointer(builder, table, i64, builder.shl(number, i64(1)))
        called_at(builder, builder.load(pointer), [count, *unpacked(builder, packed)], ir.VoidType())
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, lines), codegen


@intrinsic
def call_elementwise(typingctx, function, lines, counts, strides):
    """Call NumPy's inner loop at address `function`, which has no data: all arguments are addresses."""

    def codegen(context, builder, signature, args):
        called_at(builder, args[0], [*args[1:], i64(0)], ir.VoidType())
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), codegen


@intrinsic
def call_with_data(typingctx, loops, entry, lines, counts, strides):
    """Call NumPy's inner loop at entry `entry` of the table `loops` with its data; the rest are addresses."""

    def codegen(context, builder, signature, args):
        table, number, *addresses = args
        pointer = element_pointer(builder, table, i64, builder.shl(number, i64(1)))
        data = builder.load(element_pointer(builder, pointer, i64, i64(1)))
        called_at(builder, builder.load(pointer), [*addresses, data], ir.VoidType())
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64, types.int64), codegen


@intrinsic
def call_by_reference(typingctx, loops, entry, arguments):
    """Call entry `entry` of the table `loops` as Fortran does: every argument is a pointer.

    Of the tuple `arguments`, a 64-bit integer is passed on as an address; any other value is put on the stack
    and its address passed.
    """

    def codegen(context, builder, signature, args):
        function = builder.load(element_pointer(builder, args[0], i64, builder.shl(args[1], i64(1))))
        passed = []
        for value, kind in zip(unpacked(builder, args[2]), arguments, strict=True):
            if kind == types.int64:
                passed.append(value)
            else:
                with builder.goto_entry_block():
                    pointer = builder.alloca(value.type)
                builder.store(value, pointer)
                passed.append(builder.ptrtoint(pointer, i64))
        called_at(builder, function, passed, ir.VoidType())
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, arguments), codegen
