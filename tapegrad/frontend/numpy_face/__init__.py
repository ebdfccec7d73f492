"""NumPy's protocols: ``np.sin(t)``, the array API, and the table of coverage.

In reading order; each imports only those above it:

    after_import                   actions on modules of other libraries, behind their import
    array_api                      functions of the array API standard without a namesake in NumPy
    numpy_reexports                names of NumPy itself: types, settings, indices, files
    fourier_doors                  ``np.fft.fft(t)`` and ``scipy.fft.fft(t)``
    numpy_protocols                ``np.sin(t)``
    coverage                       kinds of NumPy's public functions, by their results for Tensors
"""
