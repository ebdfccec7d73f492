"""Random compositions: programs of NumPy's and the library's words, in all modes, against differences of plain NumPy.

`draw` writes a program as text, `modes` computes values and derivatives of it in many ways, `oracle` by NumPy alone;
`check` holds them against each other, `shrink` makes a program that fails smaller, `fuzz` runs many.
"""
