"""Level space: counts of level pairs and running sums over the sorted levels of each dimension.

Levels are numbered by sorted position here, and the codes of a row ascend.
"""

import numpy as np

from core._jit.compile import (
    BLOCK,
    INDEX,
    INDICES,
    MATRIX,
    NARROW,
    NUMBER,
    OUTSIDE,
    VECTOR,
    WIDE,
    check_codes,
    check_index,
    check_order,
    check_slice,
    check_starts,
    helper,
    kernel,
)
from core._types import Codes, Floats, Indices


@kernel(*((codes, INDICES, VECTOR) for codes in (NARROW, WIDE)))
def count_work(codes: Codes, starts: Indices, work: Floats) -> None:
    """Work of `count_pairs` for each first code: pairs to count, and a dozen more for going to the row."""
    check_starts(starts, 0, starts.size - 1, codes.size)
    check_codes(codes, starts[0], starts[-1], work.size)
    for i in range(starts.size - 1):
        for k in range(starts[i], starts[i + 1]):
            work[codes[k]] += starts[i + 1] - k + 12


@helper
def postings(
    codes: Codes, starts: Indices, size: int, first: int, last: int, lo: int, hi: int
) -> tuple[Indices, Indices, Indices]:
    """Where the codes in [lo, hi) stand in rows first to last: the beginnings by code, the entries and their rows.

    All codes of these rows are seen to be below `size`, so that nobody needs to look again.
    """
    check_starts(starts, first, last, codes.size)
    check_slice(lo, hi, size)
    check_codes(codes, starts[first], starts[last], size)
    heads = np.zeros(hi - lo + 1, np.int64)
    for k in range(starts[first], starts[last]):
        c = codes[k]
        if lo <= c < hi:
            heads[c - lo + 1] += 1
    for a in range(hi - lo):
        heads[a + 1] += heads[a]
    entry = np.empty(heads[hi - lo], np.int64)
    owner = np.empty(heads[hi - lo], np.int64)
    free = heads.copy()
    for i in range(first, last):
        for k in range(starts[i], starts[i + 1]):
            c = codes[k]
            if lo <= c < hi:
                entry[free[c - lo]] = k
                owner[free[c - lo]] = i
                free[c - lo] += 1
    return heads, entry, owner


@kernel(*((codes, INDICES, VECTOR, MATRIX, INDEX, INDEX, INDEX, INDEX) for codes in (NARROW, WIDE)))
def count_pairs(
    codes: Codes, starts: Indices, weights: Floats, out: Floats, first: int, last: int, lo: int, hi: int
) -> None:
    """out[b, a] += weight of the row, for rows first to last holding codes a <= b, a in [lo, hi).

    A thread owns the columns lo to hi. The rows are visited code by code, so that the column that is written stays in
    the innermost cache; row by row every increment would miss it.
    """
    check_slice(first, last, weights.size)
    heads, entry, owner = postings(codes, starts, min(out.shape), first, last, lo, hi)
    for a in range(lo, hi):
        column = out[:, a]
        for j in range(heads[a - lo], heads[a - lo + 1]):
            weight = weights[owner[j]]
            for k in range(entry[j], starts[owner[j] + 1]):
                column[codes[k]] += weight


@kernel((MATRIX, INDICES, INDEX, INDEX))
def add_columns_above(counts: Floats, start: Indices, lo: int, hi: int) -> None:
    """Suffix sums over the columns of each dimension lo to hi, lower triangle only."""
    check_starts(start, lo, hi, counts.shape[1])
    for d in range(lo, hi):
        for a in range(start[d + 1] - 2, start[d] - 1, -1):
            for b in range(a + 1, counts.shape[0]):
                counts[b, a] += counts[b, a + 1]


@kernel((MATRIX, INDICES, INDICES, INDEX, INDEX))
def add_rows_above(counts: Floats, start: Indices, dims: Indices, lo: int, hi: int) -> None:
    """Suffix sums over the rows of each dimension, within columns lo to hi, lower triangle only."""
    check_starts(start, 0, start.size - 1, counts.shape[0])
    check_slice(lo, hi, min(dims.size, counts.shape[1]))
    for a in range(lo, hi):
        check_index(dims[a], start.size - 1)
        for d in range(dims[a], start.size - 1):
            for b in range(start[d + 1] - 2, max(start[d], a) - 1, -1):
                counts[b, a] += counts[b + 1, a]


@kernel((MATRIX, VECTOR, NUMBER, MATRIX, INDEX, INDEX))
def scale_counts(counts: Floats, root_gap: Floats, ridge: float, out: Floats, lo: int, hi: int) -> None:
    """out = ridge I + diag(root_gap) counts diag(root_gap), lower triangle, columns lo to hi."""
    check_slice(lo, hi, root_gap.size)
    check_slice(0, root_gap.size, min(counts.shape[0], counts.shape[1], out.shape[0], out.shape[1]))
    for a in range(lo, hi):
        for b in range(a, root_gap.size):
            out[b, a] = counts[b, a] * (root_gap[a] * root_gap[b])
        out[a, a] += ridge


@kernel((MATRIX, INDICES, NUMBER))
def add_to_pairs(counts: Floats, members: Indices, weight: float) -> None:
    """counts[b, a] += weight for all members b >= a (ascending)."""
    for j in range(members.size):
        check_index(members[j], min(counts.shape))
    for j in range(members.size):
        for i in range(j, members.size):
            counts[members[i], members[j]] += weight


@kernel((INDICES, INDICES, BLOCK))
def suffix_sums(order: Indices, start: Indices, block: Floats) -> None:
    """block[s] becomes the sum over s and the levels above it in its dimension."""
    check_order(order, start, block.shape[0])
    for d in range(start.size - 1):
        for p in range(start[d + 1] - 2, start[d] - 1, -1):
            for m in range(block.shape[1]):
                block[order[p], m] += block[order[p + 1], m]


@kernel((INDICES, INDICES, BLOCK))
def prefix_sums(order: Indices, start: Indices, block: Floats) -> None:
    """block[s] becomes the sum over s and the levels below it in its dimension."""
    check_order(order, start, block.shape[0])
    for d in range(start.size - 1):
        for p in range(start[d] + 1, start[d + 1]):
            for m in range(block.shape[1]):
                block[order[p], m] += block[order[p - 1], m]


@kernel(*((codes, INDICES, MATRIX, VECTOR, INDEX, INDEX, INDEX, INDEX) for codes in (NARROW, WIDE)))
def sum_pairs(
    codes: Codes, starts: Indices, table: Floats, out: Floats, first: int, last: int, lo: int, hi: int
) -> None:
    """out[row] += sum of table[b, a] over pairs of codes of the row with min(a, b) in [lo, hi); symmetric table.

    The opposite of `count_pairs`, and visited like that.
    """
    check_slice(first, last, out.size)
    heads, entry, owner = postings(codes, starts, min(table.shape), first, last, lo, hi)
    for a in range(lo, hi):
        column = table[:, a]
        for j in range(heads[a - lo], heads[a - lo + 1]):
            total = 0.0
            for k in range(entry[j] + 1, starts[owner[j] + 1]):
                total += column[codes[k]]
            out[owner[j]] += column[a] + 2.0 * total


@kernel((MATRIX, INDICES, INDEX, INDEX))
def prefix_columns(table: Floats, start: Indices, lo: int, hi: int) -> None:
    """Prefix sums over the rows of each dimension, within columns lo to hi."""
    check_slice(lo, hi, table.shape[1])
    check_starts(start, 0, start.size - 1, table.shape[0])
    for a in range(lo, hi):
        for d in range(start.size - 1):
            for b in range(start[d] + 1, start[d + 1]):
                table[b, a] += table[b - 1, a]


@kernel((INDICES, INDICES, INDICES, MATRIX, VECTOR, INDEX, INDEX))
def level_quadratics(
    heads: Indices, rows: Indices, start: Indices, matrix: Floats, out: Floats, lo: int, hi: int
) -> None:
    """out[k] = z_k^T H z_k for the levels of dimensions lo to hi, z_k the rows at or above level k.

    `rows[heads[k]:heads[k + 1]]` are the rows at level k; H is symmetric.
    """
    check_starts(start, lo, hi, min(out.size, heads.size - 1))
    check_starts(heads, 0, heads.size - 1, rows.size)
    for j in range(rows.size):
        check_index(rows[j], min(matrix.shape))
    members = np.empty(matrix.shape[0], np.int64)
    for d in range(lo, hi):
        if heads[start[d + 1]] - heads[start[d]] > members.size:
            raise IndexError(OUTSIDE)  # a row has one level of a dimension
        size = 0
        total = 0.0
        for k in range(start[d + 1] - 1, start[d] - 1, -1):
            for j in range(heads[k], heads[k + 1]):
                column = matrix[:, rows[j]]
                cross = 0.0
                for m in range(size):
                    cross += column[members[m]]
                total += 2.0 * cross + column[rows[j]]
                members[size] = rows[j]
                size += 1
            out[k] = total
