"""Pool of sets of inputs. A set is known by its number, equal sets have the same one.

The entries of a set are the numbers of inputs, in any order. The members of the current set are marked by their stamps:
``stamps[i] == generation``. Unions stop before the pool is full, and say how far they
got; the caller makes room and goes on.

Sets are found in a table. Neighbouring elements mostly depend on neighbouring inputs, so a set is entered near the
place of its mean input, where the table is still in the cache; where all is taken there, at the place of its hash.
"""

from tapegrad.engine.codegen.translator.compiler import SPARSITY, entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64

# Fields of a pool.
(
    SETS,  # number of sets
    USED,  # entries in use
    STARTS,  # address of the first entry of each set, and the end of the last
    ENTRIES,  # address of the entries
    HASHES,  # address of a hash of each set, a sum over its entries
    SEEN,  # address of the last group that each set was united into
    MAX_SETS,
    MAX_ENTRIES,
    TABLE,  # address of the numbers of sets, by their hash; -1 for none
    MASK,  # entries of the table less one
    INPUTS,  # number of inputs
    STAMPS,  # address of the stamp of each input
    GENERATION,
    STAMPED,  # the set whose entries carry the present generation, -1 if it is none
    MEMO,  # address of triples: two sets, and their union
    MEMO_MASK,
    SUMS,  # address of the sum of the entries of each set
) = range(17)
POOL_FIELDS = 17

_NEAR = 8  # entries of the table near the place of a mean


@inline_njit
def _mixed(number):
    """Return a hash of a number."""
    found = (number + 1) * 0x2545F4914F6CDD1D
    found = (found ^ (found >> 29)) * 0x1B03738712FAD5C9
    return found ^ (found >> 32)


@inline_njit
def _size(pool, number):
    starts = load_i64(pool, STARTS)
    return load_i64(starts, number + 1) - load_i64(starts, number)


@inline_njit
def _next_generation(pool):
    generation = load_i64(pool, GENERATION) + 1
    store_i64(pool, GENERATION, generation)
    store_i64(pool, STAMPED, -1)
    return generation


@inline_njit
def _stamp(pool, number):
    """Let the entries of a set, and no others, carry the present generation."""
    if load_i64(pool, STAMPED) == number:
        return
    generation = _next_generation(pool)
    entries, stamps = load_i64(pool, ENTRIES), load_i64(pool, STAMPS)
    first = load_i64(load_i64(pool, STARTS), number)
    for k in range(first, first + _size(pool, number)):
        store_i64(stamps, load_i64(entries, k), generation)
    store_i64(pool, STAMPED, number)


@inline_njit
def _near(pool, size, total):
    """Return the place of the mean of so many inputs in the table."""
    return total * (load_i64(pool, MASK) // (load_i64(pool, INPUTS) + 1)) // max(size, 1)


@inline_njit
def _enter(pool, number):
    """Enter the number of a set into the table, where no equal one is."""
    table, mask = load_i64(pool, TABLE), load_i64(pool, MASK)
    at, probe = _near(pool, _size(pool, number), load_i64(load_i64(pool, SUMS), number)), 0
    while load_i64(table, at & mask) >= 0:
        at, probe = at + 1, probe + 1
        if probe == _NEAR:
            at = load_i64(load_i64(pool, HASHES), number)
    store_i64(table, at & mask, number)


@entry_point(group=SPARSITY)
def begin(pool):
    """Make the empty set, number 0, and one for each input."""
    starts, inputs = load_i64(pool, STARTS), load_i64(pool, INPUTS)
    store_i64(starts, 0, 0)
    store_i64(starts, 1, 0)
    store_i64(load_i64(pool, HASHES), 0, 0)
    store_i64(load_i64(pool, SUMS), 0, 0)
    _enter(pool, 0)
    for k in range(inputs):
        store_i64(load_i64(pool, ENTRIES), k, k)
        store_i64(starts, k + 2, k + 1)
        store_i64(load_i64(pool, HASHES), k + 1, _mixed(k))
        store_i64(load_i64(pool, SUMS), k + 1, k)
        _enter(pool, k + 1)
    store_i64(pool, SETS, inputs + 1)
    store_i64(pool, USED, inputs)


@entry_point(group=SPARSITY)
def fill_table(pool):
    """Enter the numbers of all sets into an empty table."""
    for number in range(load_i64(pool, SETS)):
        _enter(pool, number)


@inline_njit
def _is_stamped(pool, number):
    """Return whether all entries of a set carry the present generation."""
    entries, stamps, generation = load_i64(pool, ENTRIES), load_i64(pool, STAMPS), load_i64(pool, GENERATION)
    first = load_i64(load_i64(pool, STARTS), number)
    for k in range(first, first + _size(pool, number)):
        if load_i64(stamps, load_i64(entries, k)) != generation:
            return False
    return True


@inline_njit
def _numbered(pool, size, hash_, total):
    """Return the number of the set of so many entries behind those in use, which carry the present generation."""
    table, mask = load_i64(pool, TABLE), load_i64(pool, MASK)
    at, probe = _near(pool, size, total), 0
    while True:
        at &= mask
        found = load_i64(table, at)
        if found < 0:
            break
        same = load_i64(load_i64(pool, HASHES), found) == hash_ and _size(pool, found) == size
        if same and _is_stamped(pool, found):
            store_i64(pool, STAMPED, found)
            return found
        at, probe = at + 1, probe + 1
        if probe == _NEAR:
            at = hash_
    found = load_i64(pool, SETS)
    end = load_i64(pool, USED) + size
    store_i64(load_i64(pool, STARTS), found + 1, end)
    store_i64(load_i64(pool, HASHES), found, hash_)
    store_i64(load_i64(pool, SUMS), found, total)
    store_i64(load_i64(pool, SEEN), found, 0)
    store_i64(table, at, found)
    store_i64(pool, SETS, found + 1)
    store_i64(pool, USED, end)
    store_i64(pool, STAMPED, found)
    return found


@inline_njit
def _has_room(pool, entries):
    """Return whether there is room for one more set of so many entries."""
    sets = load_i64(pool, SETS) + 1
    if sets >= load_i64(pool, MAX_SETS) or 2 * sets > load_i64(pool, MASK):
        return False
    return load_i64(pool, USED) + entries <= load_i64(pool, MAX_ENTRIES)


@inline_njit
def _united(pool, large, small):
    """Return the union of two sets, the second of which has no more entries."""
    _stamp(pool, large)
    entries, stamps, generation = load_i64(pool, ENTRIES), load_i64(pool, STAMPS), load_i64(pool, GENERATION)
    starts = load_i64(pool, STARTS)
    begin, count = load_i64(pool, USED), _size(pool, large)
    end, hash_ = begin + count, load_i64(load_i64(pool, HASHES), large)
    total = load_i64(load_i64(pool, SUMS), large)
    first = load_i64(starts, small)
    for k in range(first, first + _size(pool, small)):
        entry = load_i64(entries, k)
        if load_i64(stamps, entry) != generation:
            store_i64(pool, STAMPED, -1)
            store_i64(stamps, entry, generation)
            store_i64(entries, end, entry)
            hash_ += _mixed(entry)
            total += entry
            end += 1
    if end == begin + count:
        return large
    first = load_i64(starts, large)
    for k in range(count):
        store_i64(entries, begin + k, load_i64(entries, first + k))
    return _numbered(pool, end - begin, hash_, total)


@inline_njit
def _union(pool, a, b):
    """Return the union of two sets, by the memory of earlier ones where they are there; -1 without room."""
    if a == b:
        return a
    size_a, size_b = _size(pool, a), _size(pool, b)
    if size_b == 0:
        return a
    if size_a == 0:
        return b
    if size_a < size_b:
        a, b = b, a
    memo = load_i64(pool, MEMO) + 24 * (_mixed(a ^ _mixed(b)) & load_i64(pool, MEMO_MASK))
    if load_i64(memo, 0) == a and load_i64(memo, 1) == b:
        return load_i64(memo, 2)
    if not _has_room(pool, size_a + size_b):
        return -1
    found = _united(pool, a, b)
    store_i64(memo, 0, a)
    store_i64(memo, 1, b)
    store_i64(memo, 2, found)
    return found


@entry_point(group=SPARSITY)
def unite_pairs(pool, a, b, results, first, count):
    """Write the unions of pairs of sets, from pair `first` on; return how many pairs are done."""
    for k in range(first, count):
        found = _union(pool, load_i64(a, k), load_i64(b, k))
        if found < 0:
            return k
        store_i64(results, k, found)
    return count


@inline_njit
def _add_set(pool, number, size, hash_, total, generation):
    """Add the entries of a set that are not stamped behind `size` others."""
    entries, stamps = load_i64(pool, ENTRIES), load_i64(pool, STAMPS)
    begin, first = load_i64(pool, USED), load_i64(load_i64(pool, STARTS), number)
    for k in range(first, first + _size(pool, number)):
        entry = load_i64(entries, k)
        if load_i64(stamps, entry) != generation:
            store_i64(stamps, entry, generation)
            store_i64(entries, begin + size, entry)
            hash_ += _mixed(entry)
            total += entry
            size += 1
    return size, hash_, total


@inline_njit
def _united_group(pool, members, first, end):
    """Return the union of the sets that are listed from one place to another."""
    generation, seen = _next_generation(pool), load_i64(pool, SEEN)
    size, hash_, total = 0, 0, 0
    for k in range(first, end):
        number = load_i64(members, k)
        if load_i64(seen, number) != generation:
            store_i64(seen, number, generation)
            size, hash_, total = _add_set(pool, number, size, hash_, total, generation)
    return _numbered(pool, size, hash_, total)


@inline_njit
def _are_equal(members, first, end):
    for k in range(first + 1, end):
        if load_i64(members, k) != load_i64(members, first):
            return False
    return True


@entry_point(group=SPARSITY)
def unite_groups(pool, starts, members, results, first, count):
    """Write the union of each group of sets, from group `first` on; return how many are done.

    `members` lists the sets, and `starts` the place where each group begins, and the end. A group may be empty.
    """
    for g in range(first, count):
        begin, end = load_i64(starts, g), load_i64(starts, g + 1)
        if end > begin and _are_equal(members, begin, end):
            store_i64(results, g, load_i64(members, begin))
        else:
            if not _has_room(pool, load_i64(pool, INPUTS)):
                return g
            store_i64(results, g, _united_group(pool, members, begin, end))
    return count


@entry_point(group=SPARSITY)
def unite_bits(pool, given, results, words):
    """Write the bits of all inputs of each set, given those of each input, in so many 64-bit integers each."""
    starts, entries = load_i64(pool, STARTS), load_i64(pool, ENTRIES)
    for number in range(load_i64(pool, SETS)):
        for word in range(words):
            found = 0
            for k in range(load_i64(starts, number), load_i64(starts, number + 1)):
                found |= load_i64(given, load_i64(entries, k) * words + word)
            store_i64(results, number * words + word, found)
